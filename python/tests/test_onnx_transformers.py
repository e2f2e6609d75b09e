"""Operators of transformer optimisers and attention in both domains against onnxruntime, at sizes the model does not
know."""

import numpy as np
import pytest
from onnx_models import MICROSOFT, check_node, one_node, reference

import tilewright

RNG = np.random.default_rng(11)
LENGTHS = [(2, 5), (1, 1), (3, 17), (2, 2)]  # batch and length of each call


def f32(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("attributes", [{}, {"transA": 1, "alpha": 0.5}, {"transB": 1}, {"transBatchB": 1}])
def test_fused_matmul(attributes):
    a = (4, 3) if attributes.get("transA") else (3, 4)
    b = (5, 4) if attributes.get("transB") else (4, 5)
    calls = []
    for batch in (2, 1, 7):
        right = (b[0], batch, b[1]) if attributes.get("transBatchB") else (batch, *b)
        calls.append([("a", f32(batch, *a)), ("b", f32(*right))])
    check_node("FusedMatMul", *calls, domain=MICROSOFT, **attributes)


@pytest.mark.parametrize("bias", [False, True])
def test_skip_layer_normalization(bias):
    weights = [("g", f32(8)), ("b", f32(8)), ("c", f32(8) if bias else None)]
    calls = [[("x", f32(*s, 8)), ("y0", f32(*s, 8)), *weights] for s in LENGTHS]
    constants = ("g", "b", "c")
    check_node("SkipLayerNormalization", *calls, outputs=("y", "", "", "s"), domain=MICROSOFT, constants=constants)


def test_skip_simplified_layer_normalization():
    calls = [[("x", f32(*s, 8)), ("y0", f32(*s, 8)), ("g", f32(8)), ("c", f32(8))] for s in LENGTHS]
    check_node("SkipSimplifiedLayerNormalization", *calls, outputs=("y", "", "", "s"), domain=MICROSOFT)


def test_simplified_layer_normalization():
    calls = [[("x", f32(*s, 8)), ("g", f32(8))] for s in LENGTHS]
    check_node("SimplifiedLayerNormalization", *calls, outputs=("y", "i"), axis=-1, epsilon=1e-6)


@pytest.mark.parametrize("op", ["Gelu", "QuickGelu", "FastGelu", "BiasGelu"])
def test_gelus(op):
    bias = [("b", f32(8))] if op in ("FastGelu", "BiasGelu") else []
    check_node(op, *([("x", f32(*s, 8)), *bias] for s in LENGTHS), domain=MICROSOFT, tolerance=1e-4)


def test_embed_layer_normalization():
    tables = [("w", f32(20, 8)), ("p", f32(32, 8)), ("t", f32(2, 8)), ("g", f32(8)), ("b", f32(8))]
    calls = []
    for s in LENGTHS:
        ids, kinds = (RNG.integers(0, top, s, dtype=np.int32) for top in (20, 2))
        mask = np.ones(s, np.int32)
        mask[:, s[1] // 2 + 1 :] = 0
        calls.append([("i", ids), ("k", kinds), *tables, ("m", mask)])
    constants = ("w", "p", "t", "g", "b")
    check_node("EmbedLayerNormalization", *calls, outputs=("y", "n"), domain=MICROSOFT, constants=constants)


@pytest.mark.parametrize("mask", [None, "rows", "lengths"])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("causal", [0, 1])
def test_microsoft_attention(mask, past, causal):
    weights = [("w", f32(8, 24)), ("c", f32(24))]
    calls = []
    for batch, length in LENGTHS:
        before = 3 if past else 0
        total = before + length
        masks = {
            None: None,
            "rows": (np.arange(total) < total - batch // 2).astype(np.int32)[None].repeat(batch, 0),
            "lengths": np.full(batch, total - total // 3, np.int32),
        }
        cache = f32(2, batch, 2, before, 4) if past else None
        calls.append([("x", f32(batch, length, 8)), *weights, ("m", masks[mask]), ("p", cache)])
    outputs = ("y", "present") if past else ("y",)
    settings = {"domain": MICROSOFT, "num_heads": 2, "unidirectional": causal, "tolerance": 1e-4}
    if mask == "lengths":  # whether they are lengths or ends and starts depends on the batch
        settings["symbolic"] = False
        for call in calls:
            check_node("Attention", call, outputs=outputs, **settings)
    else:
        check_node("Attention", *calls, outputs=outputs, constants=("w", "c"), **settings)


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention(past, bias):
    calls = []
    c = f32(24) if bias else None
    for batch, length in LENGTHS:
        keys = length + 2
        total = keys + (3 if past else 0)
        cached = [("pk", f32(batch, 2, 3, 4)), ("pv", f32(batch, 2, 3, 4))] if past else []
        mask = (np.arange(total) % 4 != 1).astype(np.int32)[None].repeat(batch, 0)
        rows = [("q", f32(batch, length, 8)), ("k", f32(batch, keys, 8)), ("v", f32(batch, keys, 8))]
        calls.append([*rows, ("b", c), ("m", mask), ("e", f32(1, 2, length, total)), *cached])
    outputs = ("y", "pk1", "pv1") if past else ("y",)
    check_node("MultiHeadAttention", *calls, outputs=outputs, domain=MICROSOFT, num_heads=2, tolerance=1e-4)


@pytest.mark.parametrize("packed", ["key", "all"])
def test_multi_head_attention_of_packed_heads_is_that_of_rows(packed):
    """onnxruntime has packed heads on GPUs only."""
    q, k, v = (f32(3, 5, 8) for _ in range(3))
    heads = [x.reshape(3, 5, 2, 4) for x in (q, k, v)]
    inputs = [("q", np.stack(heads, 3)), ("k", None), ("v", None)]
    if packed == "key":
        inputs = [("q", q), ("k", np.stack(heads[1:], 3)), ("v", None)]
    settings = {"domain": MICROSOFT, "num_heads": 2}
    session = tilewright.load(one_node("MultiHeadAttention", inputs, ["y"], **settings))
    rows = one_node("MultiHeadAttention", [("q", q), ("k", k), ("v", v)], ["y"], **settings)
    expected = reference(rows, {"q": q, "k": k, "v": v})[0]
    feeds = {name: array for name, array in inputs if array is not None}
    np.testing.assert_allclose(session.run(None, feeds)[0], expected, rtol=1e-4, atol=1e-4)


def group_query_call(batch, length, past, room, rotary, packed):
    """Head size 16, four heads in two groups. The cache has `past` rows filled of `room`."""
    tables = [("cos", np.cos(f32(64, 8))), ("sin", np.sin(f32(64, 8)))] if rotary else []
    q, k, v = f32(batch, length, 64), f32(batch, length, 32), f32(batch, length, 32)
    rows = (
        [("q", np.concatenate([q, k, v], -1)), ("k", None), ("v", None)] if packed else [("q", q), ("k", k), ("v", v)]
    )
    cache = [("pk", f32(batch, 2, room, 16)), ("pv", f32(batch, 2, room, 16))]
    lengths = [("l", np.full(batch, past + length - 1, np.int32)), ("n", np.array(past + length, np.int32))]
    return [*rows, *cache, *lengths, *tables]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("attributes", [{}, {"local_window_size": 3}, {"softcap": 5.0}, {"smooth_softmax": 1}])
def test_group_query_attention(packed, attributes):
    calls = [
        group_query_call(batch, length, past, past, True, packed)
        for batch, length, past in [(2, 1, 4), (1, 1, 9), (3, 1, 2)]
    ]
    settings = {"domain": MICROSOFT, "num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "tolerance": 1e-4}
    check_node("GroupQueryAttention", *calls, outputs=("y", "k1", "v1"), **settings, **attributes)


def test_group_query_attention_of_a_prompt():
    calls = [group_query_call(batch, length, 0, 0, True, False) for batch, length in LENGTHS]
    settings = {"domain": MICROSOFT, "num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "tolerance": 1e-4}
    check_node("GroupQueryAttention", *calls, outputs=("y", "k1", "v1"), **settings)


def test_group_query_attention_of_sequences_of_different_lengths():
    """What the cache holds behind the last key of a sequence is nobody's business."""
    call = group_query_call(3, 1, 6, 6, True, False)
    lengths = np.array([6, 3, 1], np.int32)
    call[5] = ("l", lengths)
    settings = {"domain": MICROSOFT, "num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    built = one_node("GroupQueryAttention", call, ["y", "k1", "v1"], **settings)
    expected, got = reference(built, dict(call)), tilewright.load(built).run(None, dict(call))
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-4, atol=1e-4)
    for batch, last in enumerate(lengths):
        np.testing.assert_allclose(got[1][batch, :, : last + 1], expected[1][batch, :, : last + 1], atol=1e-5)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("first", [True, False])
def test_microsoft_rotary_embedding(interleaved, first):
    tables = [("cos", f32(64, 4)), ("sin", f32(64, 4))]
    calls = []
    for batch, length in LENGTHS:
        at = np.array([3], np.int64) if first else RNG.integers(0, 64, (batch, length))
        calls.append([("x", f32(batch, 3, length, 8)), ("i", at), *tables])
    check_node("RotaryEmbedding", *calls, domain=MICROSOFT, interleaved=interleaved)
    rows = [[("x", x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], 24)), *rest] for (_, x), *rest in calls]
    constants = ("cos", "sin")
    check_node("RotaryEmbedding", *rows, domain=MICROSOFT, interleaved=interleaved, constants=constants)


def test_qattention():
    calls = []
    w, c = RNG.integers(-128, 127, (8, 24), dtype=np.int8), f32(24)
    for batch, length in LENGTHS:
        x = RNG.integers(0, 255, (batch, length, 8), dtype=np.uint8)
        mask = np.ones((batch, length), np.int32)
        zeros = [("xz", np.array(120, np.uint8)), ("wz", np.array(0, np.int8))]
        scales = [("xs", np.array(0.02, np.float32)), ("ws", np.array(0.01, np.float32))]
        calls.append([("x", x), ("w", w), ("c", c), *scales, ("m", mask), *zeros])
    check_node("QAttention", *calls, domain=MICROSOFT, num_heads=2, tolerance=1e-4, constants=("w", "c"))
