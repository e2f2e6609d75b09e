"""What users of other engines report, one test for each symptom."""

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_calls import check, compare, floats, ints, parsed, reference

import tilewright

SYMPTOMS = {
    "a merged decoder with and without cache": (
        """
g (int64[B,S] ids, float[B,2,P,4] past, bool use_cache) => (logits, present) {
  table = Constant<value = float[8,8] {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2,1.3,1.4,1.5,1.6,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2,1.3,1.4,1.5,1.6,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2,1.3,1.4,1.5,1.6,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2,1.3,1.4,1.5,1.6}>()
  logits, present = If(use_cache) <
   then_branch = t () => (l1, p1) {
     e = Gather(table, ids)
     sh = Constant<value_ints=[0,-1,2,4]>()
     r = Reshape(e, sh)
     k = Transpose<perm=[0,2,1,3]>(r)
     p1 = Concat<axis=2>(past, k)
     kt = Transpose<perm=[0,1,3,2]>(p1)
     sc = MatMul(k, kt)
     sm = Softmax(sc)
     o = MatMul(sm, p1)
     ot = Transpose<perm=[0,2,1,3]>(o)
     sh2 = Constant<value_ints=[0,0,8]>()
     l1 = Reshape(ot, sh2)
   },
   else_branch = f () => (l2, p2) {
     e = Gather(table, ids)
     sh = Constant<value_ints=[0,-1,2,4]>()
     r = Reshape(e, sh)
     p2 = Transpose<perm=[0,2,1,3]>(r)
     kt = Transpose<perm=[0,1,3,2]>(p2)
     sc = MatMul(p2, kt)
     sm = Softmax(sc)
     o = MatMul(sm, p2)
     ot = Transpose<perm=[0,2,1,3]>(o)
     sh2 = Constant<value_ints=[0,0,8]>()
     l2 = Reshape(ot, sh2)
   }>
}""",
        [
            {"ids": np.array([[1]]), "past": floats(1, 2, 0, 4), "use_cache": np.array(False)},
            {"ids": np.array([[3]]), "past": floats(1, 2, 1, 4), "use_cache": np.array(True)},
            {"ids": np.array([[1, 2, 3], [4, 5, 6]]), "past": floats(2, 2, 0, 4), "use_cache": np.array(False)},
            {"ids": np.array([[1], [2]]), "past": floats(2, 2, 7, 4), "use_cache": np.array(True)},
            {"ids": np.array([[1, 2, 3]]), "past": floats(1, 2, 5, 4), "use_cache": np.array(True)},
        ],
    ),
    "an If with branches of different rank": (
        """
g (float[A,B] x, bool c) => (y, n) {
  y = If(c) <then_branch = t () => (a) { ax = Constant<value_ints=[0]>() a = Unsqueeze(x, ax) }, else_branch = f () => (b) { b = ReduceSum<keepdims=0>(x) }>
  n = Shape(y)
}""",
        [
            {"x": floats(1, 1), "c": np.array(True)},
            {"x": floats(1, 1), "c": np.array(False)},
            {"x": floats(3, 4), "c": np.array(True)},
            {"x": floats(2, 5), "c": np.array(False)},
        ],
    ),
    "a condition of shape [1]": (
        """
g (float[A] x, bool[1] c) => (y) {
  y = If(c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = f () => (q) { q = Add(x, x) }>
}""",
        [{"x": floats(1), "c": np.array([True])}, {"x": floats(3), "c": np.array([False])}],
    ),
    "empty detections and then a normal image": (
        """
g (float[N,M,4] boxes, float[N,K,M] scores, float thr) => (sel, out, cnt) {
  mx = Constant<value_int=3>()
  iou = Constant<value_float=0.5>()
  sel = NonMaxSuppression(boxes, scores, mx, iou, thr)
  two = Constant<value_int=2>()
  i = Gather<axis=1>(sel, two)
  z = Constant<value_int=0>()
  b0 = Gather<axis=0>(boxes, z)
  out = Gather<axis=0>(b0, i)
  cnt = Shape(out)
}""",
        [
            {
                "boxes": np.sort(np.random.rand(1, 1, 4).astype("f"), axis=-1),
                "scores": np.random.rand(1, 1, 1).astype("f"),
                "thr": np.array(2, "f"),
            },
            {
                "boxes": np.random.rand(1, 5, 4).astype("f"),
                "scores": np.random.rand(1, 2, 5).astype("f"),
                "thr": np.array(2, "f"),
            },
            {
                "boxes": np.random.rand(1, 6, 4).astype("f"),
                "scores": np.random.rand(1, 2, 6).astype("f"),
                "thr": np.array(0.2, "f"),
            },
        ],
    ),
    "a pair of reshapes after certain orders of sizes": (
        """
g (float[N,M] x) => (y) {
  s = Shape(x)
  m = Constant<value_ints=[-1]>()
  f = Reshape(x, m)
  g0 = Neg(f)
  y = Reshape(g0, s)
}""",
        [{"x": floats(1, 1)}, {"x": floats(2, 3)}, {"x": floats(1, 5)}, {"x": floats(3, 1)}, {"x": floats(3, 2)}],
    ),
    "a broadcast of an unknown size that is 1 once and 2 later": (
        """
g (float[A,B] x, float[C,D] y) => (z) { z = Add(x, y) }""",
        [
            {"x": floats(1, 1), "y": floats(1, 1)},
            {"x": floats(1, 3), "y": floats(2, 1)},
            {"x": floats(2, 3), "y": floats(1, 3)},
            {"x": floats(2, 3), "y": floats(2, 3)},
        ],
    ),
}


@pytest.mark.parametrize("name", SYMPTOMS)
def test_symptom(name: str) -> None:
    text, calls = SYMPTOMS[name]
    check(parsed(text), calls)


def test_a_loop_of_no_trips_has_empty_rows():
    """onnxruntime gives no elements either, but 0 for every size that it does not know."""
    model = parsed(
        """g (float[A] x, int64 n) => (s, rows) {
          c = Constant<value = bool {1}>()
          s, rows = Loop(n, c, x) <body = b (int64 i, bool ci, float[A] si) => (co, so, r) {
            co = Identity(ci) f = Cast<to=1>(i) so = Add(si, f) r = Mul(so, so) }>
        }"""
    )
    session, theirs = tilewright.load(model), reference(model)
    for size, trips in ((1, 0), (3, 0), (3, 4), (2, 1), (3, 0)):
        feeds = {"x": floats(size), "n": np.array(trips)}
        state, rows = session.run(None, feeds)
        expected = theirs.run(None, feeds)
        compare(state, expected[0])
        assert rows.shape == (trips, size) and rows.size == expected[1].size
        if trips:
            compare(rows, expected[1])


@pytest.mark.parametrize("allowzero", [0, 1])
def test_allowzero_with_zero_sizes(allowzero: int) -> None:
    """A 0 in the shape copies the size of the input, or is a size of 0."""
    model = parsed(f"g (float[N, M] x, int64[2] s) => (y) {{ y = Reshape<allowzero = {allowzero}>(x, s) }}")
    session = tilewright.load(model)
    for shape, wanted, expected in (
        ((1, 1), (0, 0), (1, 1)),
        ((2, 3), (0, 3), (2, 3)),
        ((0, 3), (0, 3), (0, 3)),
        ((3, 0), (0, 0), (3, 0)),
    ):
        if allowzero and 0 in wanted:
            if 0 not in shape:
                with pytest.raises(ValueError):
                    session.run({"x": floats(*shape), "s": ints(*wanted)})
                continue
            expected = wanted
        assert session.run({"x": floats(*shape), "s": ints(*wanted)})["y"].shape == expected


def test_offsets_of_more_than_32_bits():
    """Positions in a view of 4.9 thousand million elements, of which one column exists."""
    model = parsed(
        """g (float[N, 1] x, int64[2] s, int32[K, 2] i) => (y, f) {
          e = Expand(x, s)
          l = Cast<to = 7>(i)
          y = GatherND(e, l)
          m = Constant<value_ints = [-1]>()
          f0 = Shape(e)
          f = ReduceProd<keepdims = 0>(f0)
        }"""
    )
    session = tilewright.load(model)
    for size in (3, 70_000):
        x = np.arange(size, dtype=np.float32)[:, None]
        index = np.array([[size - 1, size - 1], [0, size - 2], [size - 2, 0]], np.int32)
        y, count = session.run(None, {"x": x, "s": ints(size, size), "i": index})
        assert y.tolist() == [size - 1, 0, size - 2] and count == size * size


def test_reshape_of_opset_6_copies_and_infers():
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    inputs = [
        helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["A", "B", "C"]),
        helper.make_tensor_value_info("s", onnx.TensorProto.INT64, [2]),
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    session = tilewright.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3))
    for shape in ((1, 1, 1), (2, 3, 4), (5, 1, 2)):
        x = floats(*shape)
        compare(session.run({"x": x, "s": ints(0, -1)})["y"], x.reshape(shape[0], -1))
    broadcast = helper.make_node("Add", ["x", "b"], ["y"], axis=1, broadcast=1)
    inputs[1] = helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, ["B"])
    graph = helper.make_graph([broadcast], "g", inputs, [onnx.ValueInfoProto(name="y")])
    session = tilewright.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3))
    for shape in ((1, 1, 1), (2, 3, 4)):
        x, b = floats(*shape), floats(shape[1])
        compare(session.run({"x": x, "b": b})["y"], x + b[:, None])
