"""Every operator of the graph, exported to ONNX with free sizes at several opsets, run by onnxruntime at random sizes
and compared with graph/eval. An operator without a row here fails the test that counts them."""

import re
import zlib

import numpy as np
import pytest
from export_runs import OPSETS, export_graph, load_graph, refused, run_exported

from tilewright import _core

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
}
SIZES = ({"A": 3, "B": 4, "C": 2}, {"A": 1, "B": 7, "C": 5})

UNARY = "neg abs sign ceil floor round trunc exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh erf sigmoid relu"
POSITIVE = "sqrt rsqrt reciprocal log log2 log10 log1p"
BOUNDED = "asin acos atanh"
BINARY = "add sub mul div floor_div trunc_div mod rem max min fmax fmin atan2 hypot copysign eq ne lt le gt ge"
INTEGER_UNARY = "neg abs sign ceil trunc relu bit_not logical_not is_nan is_finite"
INTEGER_BINARY = (
    "add sub mul floor_div trunc_div mod rem max min bit_and bit_or bit_xor shift_left shift_right eq lt ge pow"
)


def elementwise() -> dict[str, str]:
    found = {}
    x, xy = "x: {0}[A, B]\n", "x: {0}[A, B]\nz: {0}[B]\n"
    for op in UNARY.split():
        for dtype in ("f32", "f64", "f16"):
            found[f"{op} {dtype}"] = f"{x.format(dtype)}y = {op}(x)\nreturn y"
    for op in POSITIVE.split():
        found[op] = f"{x.format('f32')}p = abs(x)\nq = add(p, p)\ny = {op}(q)\nreturn y"
    for op in BOUNDED.split():
        found[op] = f"{x.format('f32')}t = sigmoid(x)\ny = {op}(t)\nreturn y"
    found["acosh"] = "x: f32[A, B]\nc = cosh(x)\ny = acosh(c)\nreturn y"
    for op in BINARY.split():
        found[op] = f"{xy.format('f32')}y = {op}(x, z)\nreturn y"
    for op in INTEGER_UNARY.split():
        for dtype in ("i8", "u8", "i16", "i32", "i64"):
            found[f"{op} {dtype}"] = f"{x.format(dtype)}y = {op}(x)\nreturn y"
    for op in INTEGER_BINARY.split():
        for dtype in ("i8", "u8", "i16", "i32", "i64"):
            found[f"{op} {dtype}"] = f"{xy.format(dtype)}y = {op}(x, z)\nreturn y"
    for op in "add sub mul bit_and bit_or bit_xor eq ne lt".split():
        found[f"{op} bool"] = f"{xy.format('bool')}y = {op}(x, z)\nreturn y"
    for op in "bit_not logical_not".split():
        found[f"{op} bool"] = f"{x.format('bool')}y = {op}(x)\nreturn y"
    for op in "is_nan is_inf is_finite logical_not".split():
        found[f"{op} f32"] = f"{x.format('f32')}l = log(x)\ny = {op}(l)\nreturn y"
    found["pow"] = "x: f32[A, B]\nz: f32[B]\np = abs(x)\ny = pow(p, z)\nreturn y"
    for dtype in ("f32", "i8", "bool", "i64", "f16"):
        found[f"select {dtype}"] = f"x: {dtype}[A, B]\nz: {dtype}[B]\nc: bool[A, 1]\ny = select(c, x, z)\nreturn y"
    for source, target in (("f32", "i32"), ("i64", "i8"), ("f32", "bool"), ("bool", "f16"), ("u8", "f64")):
        found[f"cast {source} {target}"] = f"x: {source}[A, B]\ny = cast(x) dtype={target}\nreturn y"
    found["bitcast"] = "x: f32[A, B]\ny = bitcast(x) dtype=i32\nreturn y"
    return found


MOVEMENT = {
    "constant": "y = constant() value=f32[2]{1, 2}\nreturn y",
    "scalar": "x: f32[A, B]\ny = scalar() dtype=f32 value=(truediv(A, B + 1))\nz = scalar() dtype=i64 value=(A*B - 2)\nreturn y, z",
    "scalar float": "scalar %f\nscalar n\ny = scalar() dtype=f64 value=(%f*2.0 + n)\nreturn y",
    "iota": "x: f32[A, B]\ny = iota() dtype=i32 shape=[A, B] axis=0 start=A step=3\nz = iota() dtype=f32 shape=[B] axis=0\n"
    "w = iota() dtype=i64 shape=[A, 5] axis=1\nreturn y, z, w",
    "reshape": "x: f32[A, B, 6]\ny = reshape(x) shape=[A*B, 6]\nz = reshape(x) shape=[A, B, 2, 3]\nw = reshape(x) shape=[B, A, 3, 2]\n"
    "v = reshape(x) shape=[A, 1, B, 6]\nu = reshape(v) shape=[A, B, 6]\nreturn y, z, w, v, u",
    "transpose": "x: f32[A, B, C]\ny = transpose(x) perm=[2,0,1]\nreturn y",
    "expand": "x: f32[A, 1]\nz: f32[B]\nc: f32[C]\ny = expand(x) shape=[C, A, B]\nw = expand(z) shape=[A, B]\nreturn y, w",
    "expand i8": "x: i8[1]\nz: f32[A, B]\ny = expand(x) shape=[A, B]\nreturn y",
    "slice": "fact B in [3, 100]\nx: f32[A, B, 9]\ny = slice(x) start=[0, 1, 2] stop=[A, B - 1, 8] step=[1,1,2]\nreturn y",
    "pad": "x: f32[A, B]\nv: f32[]\ny = pad(x, v) low=[0, A] high=[2, 0]\nz = pad(x) low=[1, 0] high=[0, 3]\n"
    "w = pad(x) low=[0, -1] high=[1, 0]\nreturn y, z, w",
    "pad modes": "fact B in [3, 100]\nx: f32[A, B]\ny = pad(x) low=[0, 2] high=[0, 1] mode=reflect\n"
    "z = pad(x) low=[1, 2] high=[1, 1] mode=replicate\nw = pad(x) low=[0, 2] high=[0, 1] mode=circular\nreturn y, z, w",
    "pad i16": "x: i16[A, B]\nv: i16[]\ny = pad(x, v) low=[0, 1] high=[2, 0]\nreturn y",
    "concat": "x: f32[A, B]\nz: f32[A, C]\ny = concat(x, z, x) axis=1\nreturn y",
    "flip": "x: f32[A, B, C]\ny = flip(x) axes=[0,2]\nreturn y",
    "roll": "x: f32[A, B]\ny = roll(x) axes=[1,0] shift=[2, A]\nreturn y",
    "gather": "x: f32[A, 5]\ni: i64[B, C]\ny = gather(x, i) axis=1\nreturn y",
    "gather_elements": "x: f32[A, 5]\ni: i32[A, B]\ny = gather_elements(x, i) axis=1\nreturn y",
    "index": "x: f32[6, A, 7, 8]\ni: i64[B, 1]\nj: i64[C]\ny = index(x, i, j) axes=[2,3]\nz = index(x, i, j) axes=[0,2]\n"
    "w = index(x, i) axes=[2]\nreturn y, z, w",
    "index_put": "x: f32[6, A, 7]\ni: i64[3]\nj: i64[3]\nv: f32[3, A]\nu: f32[1]\n"
    "y = index_put(x, v, i, j) axes=[0,2]\nz = index_put(x, u, i) axes=[2]\nreturn y, z",
    "index_put accumulate": "x: f32[6, A]\ni: i64[B]\nv: f32[B, A]\ny = index_put(x, v, i) axes=[0] accumulate=true\nreturn y",
    "scatter_elements": "x: f32[A, 5]\ni: i64[A, 1]\nu: f32[A, 1]\ny = scatter_elements(x, i, u) axis=1\nreturn y",
    **{
        f"scatter_elements {reduce}": "x: f32[A, 5]\ni: i64[A, B]\nu: f32[A, B]\n"
        f"y = scatter_elements(x, i, u) axis=1 reduce={reduce}\nreturn y"
        for reduce in ("add", "mul", "min", "max", "mean")
    },
    "update_slice": "fact B in [4, 100]\nx: f32[A, B, 9]\nu: f32[A, 2, 3]\ny = update_slice(x, u) start=[0, 1, 2] step=[1,1,2]\nreturn y",
    "update_slice whole rows": "fact B in [4, 100]\nx: f32[A, B]\nu: f32[A, 2]\ny = update_slice(x, u) start=[0, B - 2] step=[1,1]\nreturn y",
}

ROWS = {
    **{
        f"{op} {dtype}": f"x: {dtype}[A, B, C]\ny = {op}(x) axes=[0,2] keepdim=true\nz = {op}(x) axes=[1]\nreturn y, z"
        for op in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")
        for dtype in ("f32", "i8", "i64", "f64")
    },
    **{f"{op}": f"x: f32[A, B]\ny = {op}(x) axes=[1]\nreturn y" for op in ("reduce_mean", "logsumexp")},
    "variance": "fact B in [2, 9]\nx: f32[A, B]\ny = variance(x) axes=[1] keepdim=true\nreturn y",
    **{f"{op}": f"x: bool[A, B]\ny = {op}(x) axes=[1]\nreturn y" for op in ("reduce_any", "reduce_all")},
    **{
        f"{op} {dtype}": f"x: {dtype}[A, B]\ny = {op}(x) axis=1\nz = {op}(x) axis=0 keepdim=true last=true\nreturn y, z"
        for op in ("argmax", "argmin")
        for dtype in ("f32", "i64", "i16")
    },
    **{
        f"cumsum {dtype}": f"x: {dtype}[A, B]\ny = cumsum(x) axis=1\nz = cumsum(x) axis=0 reverse=true exclusive=true\nreturn y, z"
        for dtype in ("f32", "i8", "f16")
    },
    "cumprod": "x: f32[A, B]\ny = cumprod(x) axis=1\nz = cumprod(x) axis=0 reverse=true exclusive=true\nreturn y, z",
    "cumprod i32": "x: i32[A, B]\ny = cumprod(x) axis=1\nreturn y",
    **{f"{op}": f"x: f32[A, B]\ny, i = {op}(x) axis=1\nreturn y, i" for op in ("cummax", "cummin")},
    "cummax i8": "x: i8[A, B, C]\ny, i = cummax(x) axis=1\nreturn y, i",
    "sort": "x: f32[A, B]\ny, i = sort(x) axis=1\nz, j = sort(x) axis=0 descending=true\nreturn y, i, z, j",
    "sort i8": "x: i8[A, B]\ny, i = sort(x) axis=1\nreturn y, i",
    "topk": "x: f32[A, B]\ny, i = topk(x) axis=1 k=(min(B, 3))\nz, j = topk(x) axis=1 k=1 largest=false\nreturn y, i, z, j",
    "nonzero": "x: bool[A, B]\ny = nonzero(x) count=n\nz = reshape(y) shape=[2*n]\nreturn y, z",
    "nonzero f64": "x: f64[A, B]\ny = nonzero(x) count=n\nreturn y",
    "item": "fact n in [0, 9]\nx: i64[]\nitem(x) symbol=n\nm = iota() dtype=f32 shape=[n*n] axis=0\nreturn m",
    "unique": "x: i64[B]\ny, i, c = unique(x) count=n\nreturn y, i, c",
    "unique f32": "x: f32[B]\ny, i, c = unique(x) count=n\nreturn y, i, c",
}

PRODUCTS = {
    **{
        f"matmul {d}": f"x: {d}[C, A, B]\nw: {d}[B, 5]\ny = matmul(x, w)\nreturn y"
        for d in ("f32", "f64", "f16", "i8", "i64")
    },
    "matmul wide": "x: f16[A, B]\nw: f16[B, 5]\ny = matmul(x, w) wide=true\nreturn y",
    "conv": "x: f32[A, 4, 9, 8]\nw: f32[6, 2, 3, 2]\nb: f32[6]\n"
    "y = conv(x, w, b) stride=[2,1] low=[1, 0] high=[0, 2] dilation=[1,2] groups=2\nreturn y",
    "conv pads": "x: f32[A, 2, 9]\nz: f32[C]\nw: f32[3, 2, 3]\ny = conv(x, w) stride=[1] low=[C] high=[-1] dilation=[1]\nreturn y",
    "conv_transpose": "x: f32[A, 4, 5, 4]\nw: f32[4, 2, 3, 2]\nb: f32[4]\n"
    "y = conv_transpose(x, w, b) stride=[2,1] low=[1, 0] high=[0, 1] dilation=[1,2] output_pad=[1,0] groups=2\nreturn y",
    "conv_transpose pads": "x: f32[A, 2, 6]\nz: f32[C]\nw: f32[2, 3, 3]\n"
    "y = conv_transpose(x, w) stride=[2] low=[C] high=[-1] dilation=[1] output_pad=[0]\nreturn y",
    "max_pool": "x: f32[A, 3, 9, 8]\ny, i = max_pool(x) window=[3,2] stride=[2,1] low=[1, 0] high=[1, 1] dilation=[1,2]\nreturn y, i",
    "max_pool i32": "x: i32[A, 3, 9]\ny, i = max_pool(x) window=[3] stride=[2] low=[1] high=[1] dilation=[1]\nreturn y, i",
    "avg_pool": "x: f32[A, 3, 9, 8]\ny = avg_pool(x) window=[3,2] stride=[2,1] low=[1, 0] high=[1, 1] count_pads=false\n"
    "z = avg_pool(x) window=[3,2] stride=[2,1] low=[1, 0] high=[1, 1] divisor=5\nreturn y, z",
    "avg_pool pads": "x: f32[A, 3, 9]\ny = avg_pool(x) window=[2] stride=[2] low=[0] high=[3] count_pads=false\nreturn y",
}

COMPOSITES = {
    **{f"{op}": f"x: f32[A, B, C]\ny = {op}(x) axis=1\nreturn y" for op in ("softmax", "log_softmax")},
    "layer_norm": "x: f32[A, 8]\nw: f32[8]\nb: f32[8]\ny = layer_norm(x, w, b) num_axes=1 eps=1e-5\nz = layer_norm(x) num_axes=1 eps=1e-5\nreturn y, z",
    "layer_norm free": "x: f32[A, B]\ny = layer_norm(x) num_axes=1 eps=1e-3\nreturn y",
    "rms_norm": "x: f32[A, 8]\nw: f32[8]\ny = rms_norm(x, w) num_axes=1 eps=1e-5\nreturn y",
    "group_norm": "x: f32[A, 6, B]\nw: f32[6]\nb: f32[6]\ny = group_norm(x, w, b) groups=3 eps=1e-3\nreturn y",
    "batch_norm": "x: f32[A, 6, B]\nw: f32[6]\nb: f32[6]\nm: f32[6]\nt: f32[6]\nv = abs(t)\ny = batch_norm(x, w, b, m, v) eps=1e-3\nreturn y",
    "gelu": "x: f32[A, B]\ny = gelu(x)\nz = gelu(x) tanh=true\nreturn y, z",
    "gelu f16": "x: f16[A, B]\ny = gelu(x)\nreturn y",
    **{
        f"{op}": f"x: f32[A, B]\ny = {op}(x)\nreturn y"
        for op in ("silu", "softplus", "hard_sigmoid", "hard_swish", "mish", "elu")
    },
    "softplus steep": "x: f32[A, B]\ny = softplus(x) beta=2 threshold=3\nreturn y",
    "elu forms": "x: f32[A, B]\ny = elu(x) alpha=1.5 scale=1.25\nz = elu(x) alpha=2 input_scale=0.5\nw = elu(x) alpha=2 scale=3 input_scale=0.25\nreturn y, z, w",
    "leaky_relu": "x: f32[A, B]\ny = leaky_relu(x) slope=0.1\nreturn y",
    "attention": "q: f32[A, 4, B, 8]\nk: f32[A, 2, C, 8]\nv: f32[A, 2, C, 5]\ny = attention(q, k, v) scale=0.5\nreturn y",
    "attention causal": "fact C in [1, 99]\nq: f32[A, 4, B, 8]\nk: f32[A, 4, C, 8]\nv: f32[A, 4, C, 5]\n"
    "y = attention(q, k, v) scale=0.5 causal=true\nreturn y",
    "attention mask": "q: f32[A, 4, B, 8]\nk: f32[A, 2, C, 8]\nv: f32[A, 2, C, 5]\nm: bool[A, 1, B, C]\n"
    "y = attention(q, k, v, m) scale=0.5\nreturn y",
    "attention bias": "q: f16[A, 4, B, 8]\nk: f16[A, 4, C, 8]\nv: f16[A, 4, C, 5]\nm: f16[B, C]\n"
    "y = attention(q, k, v, m) scale=0.5 causal=true\nreturn y",
}

QUANTISED = {
    "quantize_linear": "x: f32[A, B]\ns = constant() value=f32[]{0.05}\nz = constant() value=u8[]{3}\n"
    "y = quantize_linear(x, s, z) dtype=u8\nw = quantize_linear(x, s) dtype=i8\nreturn y, w",
    "quantize_linear axis": "x: f32[A, 3]\ns = constant() value=f32[3]{0.05, 0.1, 0.02}\ny = quantize_linear(x, s) dtype=i8 axis=1\n"
    "w = quantize_linear(x, s) dtype=i16 axis=1\nv = quantize_linear(x, s) dtype=i8 axis=1 low=-7 high=7\nreturn y, w, v",
    "dequantize_linear": "x: i8[A, 3]\ns = constant() value=f32[3]{0.05, 0.1, 0.02}\nz = constant() value=i8[3]{1, -2, 3}\n"
    "y = dequantize_linear(x, s, z) axis=1\nw = dequantize_linear(x, s) axis=1\nreturn y, w",
    "dequantize_linear block": "x: i8[A, 4]\ns: f32[A, 2]\ny = dequantize_linear(x, s) axis=1 block=2\nreturn y",
    "integer_matmul": "x: u8[A, B]\nw: i8[B, 3]\nz: u8[]\nv: i8[3]\nu: u8[A, 1]\ny = integer_matmul(x, w, z, v)\n"
    "t = integer_matmul(x, w, u)\nreturn y, t",
    "integer_conv": "x: u8[A, 2, 7]\nw: i8[4, 2, 3]\nz: u8[]\nv: i8[4]\n"
    "y = integer_conv(x, w, z, v) stride=[2] low=[1] high=[1] dilation=[1]\n"
    "t = integer_conv(x, w, z) stride=[1] low=[1] high=[1] dilation=[1]\nreturn y, t",
    "integer_conv i8": "x: i8[A, 2, 7]\nw: i8[4, 2, 3]\nz: i8[]\nv: i8[]\n"
    "y = integer_conv(x, w, z, v) stride=[2] low=[1] high=[1] dilation=[1]\nreturn y",
    "block_matmul": "x: f32[A, 40]\nq: u8[3, 3, 8]\ns: f32[3, 3]\nz: u8[3, 2]\ny = block_matmul(x, q, s, z) block=16\n"
    "t = block_matmul(x, q, s) block=16\nreturn y, t",
}

CONTROL = {
    "if": "c: bool[]\nx: f32[A, B]\ny = if(c) late=[n] {\n  capture a = x\n  b = neg(a)\n  return b\n} {\n  capture a = x\n"
    "  b = concat(a, a) axis=0\n  return b\n}\nz = reshape(y) shape=[n*B]\nreturn y, z",
    "while": "x: f32[A]\ni = constant() value=i64[]{0}\nj, y = while(i, x) {\n  k: i64[]\n  v: f32[A]\n"
    "  t = constant() value=i64[]{3}\n  c = lt(k, t)\n  return c\n} {\n  k: i64[]\n  v: f32[A]\n"
    "  o = constant() value=i64[]{1}\n  n = add(k, o)\n  w = add(v, v)\n  return n, w\n}\nreturn j, y",
    "while growing": "x: f32[A, 2]\ni = constant() value=i64[]{0}\nj, y = while(i, x) {\n  k: i64[]\n  v: f32[n, 2]\n"
    "  t = constant() value=i64[]{3}\n  c = lt(k, t)\n  return c\n} {\n  k: i64[]\n  v: f32[n, 2]\n"
    "  o = constant() value=i64[]{1}\n  m = add(k, o)\n  s = slice(v) start=[0, 0] stop=[1, 2] step=[1,1]\n"
    "  w = concat(v, s) axis=0\n  return m, w\n}\nr = reshape(y) shape=[2*n]\nreturn j, r",
    "scan": "x: f32[A, B]\nz: f32[B]\ny, e = scan(z, x) carried=1 trips=A {\n  i: i64[]\n  s: f32[B]\n  r: f32[B]\n"
    "  t = add(s, r)\n  f = cast(i) dtype=f32\n  u = mul(t, f)\n  return t, u\n}\nreturn y, e",
    "scan conditional": "x: f32[B]\ng = constant() value=bool[]{true}\ny, e = scan(g, x) carried=1 trips=A conditional=true count=[n] {\n"
    "  i: i64[]\n  s: f32[B]\n  t = add(s, s)\n  l = constant() value=i64[]{1}\n  c = lt(i, l)\n  return c, t, s\n}\n"
    "w: f32[A]\nreturn y, e",
    "call": "x: f32[A, B]\ny = call(x) {\n  v: f32[m, k]\n  w = transpose(v) perm=[1,0]\n  r = reshape(w) shape=[m*k]\n  return r\n}\nreturn y",
    "fused": 'x: f32[A, B]\ny = fused(x) kind="map" {\n  v: f32[A, B]\n  w = neg(v)\n  return w\n}\nreturn y',
    "assign": "x: f32[A]\nbuffer: f32[A]\ny = add(buffer, x)\nassign(buffer, y)\nreturn y",
    "assert": 'x: f32[A]\nassert() condition=(lt(0, A)) message="not empty"\ny = neg(x)\nreturn y',
}
CONTROL["scan conditional"] = "w: f32[A]\n" + CONTROL["scan conditional"].replace("w: f32[A]\n", "")

CASES = elementwise() | MOVEMENT | ROWS | PRODUCTS | COMPOSITES | QUANTISED | CONTROL


def draw(dtype: str, shape: list[int], name: str, rng: np.random.Generator) -> np.ndarray:
    kind = DTYPES[dtype]
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(kind).kind == "f":
        return np.asarray(rng.standard_normal(shape) * 2, kind)
    if dtype in ("i64", "i32") and name in ("i", "j"):
        return np.asarray(
            rng.permutation(5)[: int(np.prod(shape))] if np.prod(shape) <= 5 else rng.integers(0, 5, shape), kind
        ).reshape(shape)
    low = 0 if dtype == "u8" else -9
    return np.asarray(rng.integers(low, 9, shape), kind)


def feeds_of(text: str, sizes: dict[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
    feeds = {}
    for name, dtype, shape in re.findall(r"^(\w+): (\w+)\[(.*?)\]", text, re.MULTILINE):
        feeds[name] = draw(
            dtype, [sizes.get(dim.strip()) or int(dim) for dim in shape.split(",") if dim.strip()], name, rng
        )
    return feeds


def closeness(dtype: np.dtype) -> float:
    return {np.dtype(np.float16): 5e-3, np.dtype(np.float64): 1e-6}.get(dtype, 2e-5)


@pytest.mark.parametrize("name", CASES)
def test_export_runs_equal(name, tmp_path):
    text = CASES[name]
    graph = load_graph(text)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    scalars = {"f": 1.5, "n": 3} if "\nscalar" in f"\n{text}" else {}
    done = 0
    for opset in OPSETS:
        try:
            model = export_graph(graph, tmp_path / "model.onnx", opset)
        except NotImplementedError as error:
            assert refused(error, opset), error
            continue
        for sizes in SIZES:
            if any(sizes[s] < int(low) for s, low in re.findall(r"fact (\w) in \[(\d+)", text) if s in sizes):
                sizes = {"A": 2, "B": 6, "C": 3}
            feeds = feeds_of(text, sizes, rng)
            if name == "item":
                feeds["x"] = np.abs(feeds["x"])
            expected = _core.eval(graph, [_core.Tensor(array.copy()) for array in feeds.values()], scalars)
            numbers = {key: np.asarray(value) for key, value in scalars.items()}
            got = run_exported(model, feeds | numbers)
            for mine, wanted in zip(got, expected, strict=name != "assign"):
                wanted = wanted.numpy()
                assert mine.dtype == wanted.dtype and mine.shape == wanted.shape, (
                    opset,
                    mine.dtype,
                    mine.shape,
                    wanted.shape,
                )
                np.testing.assert_allclose(
                    mine, wanted, rtol=closeness(wanted.dtype), atol=closeness(wanted.dtype), err_msg=f"opset {opset}"
                )
            done += 1
    assert done


def test_every_operator_is_exported_or_says_why_not():
    tested = {name.split()[0] for name in CASES}
    for op, onnx_name, since, reason in _core.export_rules():
        assert bool(reason) != (bool(onnx_name) and since >= _core.OLDEST_EXPORT_OPSET), op
        assert reason or op in tested, f"{op} has no case"
    left_out = sorted(op for op, _, _, reason in _core.export_rules() if reason)
    # This list may only shrink.
    assert left_out == ["digamma", "erfc", "erfinv", "host_call", "lgamma", "nextafter", "random"]
