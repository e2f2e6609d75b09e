"""Branches and loops of ONNX in odd forms, each at several shapes."""

import numpy as np
import pytest
from onnx_calls import check, floats, ints, parsed

CONTROL = {
    # The inner condition is over a size that exists only inside of the branch taken.
    "a nested branch asks for a size of its own branch": (
        """
        g (float[A, B] x, bool c) => (y) {
          y = If(c) <
            then_branch = t () => (t_y) {
              places = NonZero(x)
              shape = Shape(places)
              one = Constant<value_int = 1>()
              count = Gather(shape, one)
              four = Constant<value_int = 4>()
              many = Greater(count, four)
              row = Transpose<perm = [1, 0]>(places)
              t_y = If(many) <
                then_branch = tt () => (tt_y) { tt_y = Cast<to = 1>(row) },
                else_branch = te () => (te_y) { rf = Cast<to = 1>(row)  te_y = ReduceSum<keepdims = 0>(rf) }
              >
            },
            else_branch = e () => (e_y) { e_y = ReduceMax<keepdims = 0>(x) }
          >
        }""",
        [
            {"x": floats(1, 1), "c": np.array(True)},
            {"x": floats(1, 1), "c": np.array(False)},
            {"x": floats(3, 4), "c": np.array(True)},
            {"x": floats(2, 2), "c": np.array(True)},
            {"x": floats(5, 7), "c": np.array(False)},
        ],
    ),
    "squeeze after If of different rank, cond computed": (
        """
g (float[A,B] x) => (y) {
  s = Shape(x)
  one = Constant<value_int=1>()
  z = Constant<value_int=0>()
  a = Gather(s, z)
  c = Equal(a, one)
  y0 = If(c) <then_branch = t () => (p) { ax = Constant<value_ints=[0]>() p = Squeeze(x, ax) }, else_branch = f () => (q) { q = Identity(x) }>
  y = Relu(y0)
}""",
        [{"x": floats(1, 1)}, {"x": floats(1, 4)}, {"x": floats(2, 4)}, {"x": floats(3, 1)}],
    ),
    "loop with while cond and growing state": (
        """
g (float[A] x, float lim) => (s, n) {
  c = Constant<value = bool {1}>()
  m = Constant<value_int=9223372036854775807>()
  z = Constant<value_int=0>()
  s, n = Loop(m, c, x, z) <body = b (int64 i, bool ci, float[M] si, int64 ni) => (co, so, no) { so = Concat<axis=0>(si, x) t = Size(so) tf = Cast<to=1>(t) co = Less(tf, lim) one = Constant<value_int=1>() no = Add(ni, one) }>
}""",
        [
            {"x": floats(1), "lim": np.array(1, "f")},
            {"x": floats(2), "lim": np.array(7, "f")},
            {"x": floats(3), "lim": np.array(20, "f")},
        ],
    ),
    "loop whose state changes rank": (
        """
g (float[A] x, int64 n) => (s) {
  c = Constant<value = bool {1}>()
  s = Loop(n, c, x) <body = b (int64 i, bool ci, float si) => (co, so) { co = Identity(ci) ax = Constant<value_ints=[0]>() so = Unsqueeze(si, ax) }>
}""",
        [{"x": floats(1), "n": np.array(1)}, {"x": floats(3), "n": np.array(2)}, {"x": floats(2), "n": np.array(0)}],
    ),
    "If inside Loop with differing sizes": (
        """
g (float[A] x, int64 n) => (s) {
  c = Constant<value = bool {1}>()
  s = Loop(n, c, x) <body = b (int64 i, bool ci, float[M] si) => (co, so) {
    co = Identity(ci)
    two = Constant<value_int=2>()
    r = Mod(i, two)
    z = Constant<value_int=0>()
    e = Equal(r, z)
    so = If(e) <then_branch = t () => (p) { p = Concat<axis=0>(si, x) }, else_branch = f () => (q) { q = Neg(si) }>
  }>
}""",
        [{"x": floats(1), "n": np.array(1)}, {"x": floats(3), "n": np.array(5)}, {"x": floats(2), "n": np.array(0)}],
    ),
    "If inside Loop with differing ranks": (
        """
g (float[A] x, int64 n) => (s) {
  c = Constant<value = bool {1}>()
  s = Loop(n, c, x) <body = b (int64 i, bool ci, float[M] si) => (co, so) {
    co = Identity(ci)
    two = Constant<value_int=2>()
    r = Mod(i, two)
    z = Constant<value_int=0>()
    e = Equal(r, z)
    h = If(e) <then_branch = t () => (p) { ax = Constant<value_ints=[0]>() p = Unsqueeze(si, ax) }, else_branch = f () => (q) { q = Neg(si) }>
    m = Constant<value_ints=[-1]>()
    so = Reshape(h, m)
  }>
}""",
        [{"x": floats(1), "n": np.array(1)}, {"x": floats(3), "n": np.array(4)}, {"x": floats(2), "n": np.array(0)}],
    ),
    "nested loops": (
        """
g (float[A] x, int64 n, int64 m) => (s, rows) {
  c = Constant<value = bool {1}>()
  s, rows = Loop(n, c, x) <body = b (int64 i, bool ci, float[A] si) => (co, so, r) {
    co = Identity(ci)
    so, rr = Loop(m, ci, si) <body = b2 (int64 j, bool cj, float[A] sj) => (c2, s2, r2) { c2 = Identity(cj) f = Cast<to=1>(j) g0 = Cast<to=1>(i) h = Add(f, g0) s2 = Add(sj, h) r2 = Mul(s2, x) }>
    r = ReduceSum<keepdims=0>(rr)
  }>
}""",
        [
            {"x": floats(1), "n": np.array(1), "m": np.array(1)},
            {"x": floats(3), "n": np.array(3), "m": np.array(2)},
            {"x": floats(2), "n": np.array(2), "m": np.array(5)},
        ],
    ),
    "scan with state, reverse, axis": (
        """
g (float[B,T,D] x, float[B,D] h) => (hn, ys) {
  hn, ys = Scan(h, x) <num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], scan_input_directions=[1], scan_output_directions=[1], body = b (float[B,D] hi, float[B,D] xi) => (ho, yo) { t = Add(hi, xi) ho = Tanh(t) yo = Identity(ho) }>
}""",
        [
            {"x": floats(1, 1, 2), "h": floats(1, 2)},
            {"x": floats(2, 5, 3), "h": floats(2, 3)},
            {"x": floats(1, 7, 4), "h": floats(1, 4)},
        ],
    ),
    "scan over two inputs with outer capture": (
        """
g (float[T,D] x, float[T,D] z, float[D] w) => (s, ys) {
  ze = Constant<value_float=0.0>()
  s, ys = Scan(ze, x, z) <num_scan_inputs=2, body = b (float si, float[D] xi, float[D] zi) => (so, yo) { p = Mul(xi, zi) q = Mul(p, w) r = ReduceSum<keepdims=0>(q) so = Add(si, r) yo = Add(q, so) }>
}""",
        [
            {"x": floats(1, 1), "z": floats(1, 1), "w": floats(1)},
            {"x": floats(4, 3), "z": floats(4, 3), "w": floats(3)},
            {"x": floats(2, 6), "z": floats(2, 6), "w": floats(6)},
        ],
    ),
    "topk with k min(size)": (
        """
g (float[N] x, int64 k) => (v, i) {
  s = Shape(x)
  ax = Constant<value_ints=[0]>()
  k1 = Unsqueeze(k, ax)
  m = Min(s, k1)
  v, i = TopK(x, m)
}""",
        [{"x": floats(1), "k": np.array(5)}, {"x": floats(8), "k": np.array(3)}, {"x": floats(2), "k": np.array(9)}],
    ),
    "nonzero where empty": (
        """
g (float[N,M] x) => (y, z) {
  ze = Constant<value_float=1.0>()
  m = Greater(x, ze)
  nz = NonZero(m)
  t = Transpose(nz)
  y = GatherND(x, t)
  z = ReduceSum<keepdims=0>(y)
}""",
        [{"x": np.zeros((1, 1), "f")}, {"x": np.zeros((3, 2), "f")}, {"x": floats(4, 4) * 3}],
    ),
    "expand with computed ones": (
        """
g (float[A,B] x, int64[2] s) => (z) { z = Expand(x, s) }""",
        [
            {"x": floats(1, 1), "s": ints(1, 1)},
            {"x": floats(1, 3), "s": ints(4, 1)},
            {"x": floats(2, 3), "s": ints(1, 3)},
            {"x": floats(2, 1), "s": ints(2, 3)},
        ],
    ),
    "where of rank differing and shape eq -1": (
        """
g (int64[K] s, float[A,B] x) => (z) {
  m1 = Constant<value_int=-1>() e = Equal(s, m1)
  sh = Shape(s) cs = ConstantOfShape<value = int64[1] {1}>(sh) w = Where(e, cs, s) z = Expand(x, w) }""",
        [
            {"x": floats(1, 1), "s": ints(-1, 1)},
            {"x": floats(2, 3), "s": ints(-1, -1)},
            {"x": floats(2, 3), "s": ints(4, -1, 3)},
        ],
    ),
    "loop carrying bool and int and unused": (
        """
g (float[A] x, int64 n) => (b, k, x2) {
  c = Constant<value = bool {1}>()
  z = Constant<value_int=0>()
  b, k, x2 = Loop(n, c, c, z, x) <body = bb (int64 i, bool ci, bool bi, int64 ki, float[A] xi) => (co, bo, ko, xo) { co = Identity(bi) t = Constant<value_int=3>() bo = Less(i, t) ko = Add(ki, i) xo = Identity(xi) }>
}""",
        [{"x": floats(1), "n": np.array(1)}, {"x": floats(3), "n": np.array(10)}, {"x": floats(2), "n": np.array(0)}],
    ),
    "loop trip count from shape with slice per trip": (
        """
g (float[T,D] x) => (y) {
  c = Constant<value = bool {1}>()
  s = Shape<start=0,end=1>(x)
  y = Loop(s, c) <body = b (int64 i, bool ci) => (co, r) { co = Identity(ci) r = Gather<axis=0>(x, i) }>
}""",
        [{"x": floats(1, 1)}, {"x": floats(4, 2)}, {"x": floats(2, 5)}],
    ),
    "loop with slice growing window": (
        """
g (float[T] x) => (y) {
  c = Constant<value = bool {1}>()
  s = Size(x)
  one = Constant<value_ints=[1]>()
  zero = Constant<value_ints=[0]>()
  y = Loop(s, c) <body = b (int64 i, bool ci) => (co, r) { co = Identity(ci) ax = Constant<value_ints=[0]>() iu = Unsqueeze(i, ax) e = Add(iu, one) w = Slice(x, zero, e) r = ReduceSum<keepdims=0>(w) }>
}""",
        [{"x": floats(1)}, {"x": floats(4)}, {"x": floats(7)}],
    ),
    "If: branch outputs constant vs computed": (
        """
g (float[A] x, bool c) => (y) {
  y = If(c) <then_branch = t () => (p) { p = Constant<value_floats=[1.0,2.0]>() }, else_branch = f () => (q) { q = Identity(x) }>
}""",
        [
            {"x": floats(1), "c": np.array(True)},
            {"x": floats(2), "c": np.array(False)},
            {"x": floats(0), "c": np.array(False)},
            {"x": floats(5), "c": np.array(True)},
        ],
    ),
    "If in If in If with captures": (
        """
g (float[A] x, bool c, bool d, bool e) => (y) {
  y = If(c) <then_branch = t () => (p) {
     u = Neg(x)
     p = If(d) <then_branch = t2 () => (p2) { v = Add(u, x) p2 = If(e) <then_branch = t3 () => (p3) { p3 = Sub(v, u) }, else_branch = f3 () => (q3) { q3 = Concat<axis=0>(u, v) }> }, else_branch = f2 () => (q2) { q2 = Identity(u) }>
  }, else_branch = f () => (q) { q = Identity(x) }>
}""",
        [
            {"x": floats(1), "c": np.array(a), "d": np.array(b), "e": np.array(d)}
            for a in (True, False)
            for b in (True, False)
            for d in (True, False)
        ],
    ),
    "vad state": (
        """
g (float[B,T] x, float[2,B,4] state, int64 sr) => (p, stateN) {
  k = Constant<value_int=16000>()
  e = Equal(sr, k)
  p, stateN = If(e) <then_branch = t () => (p1, s1) {
      ax = Constant<value_ints=[1]>()
      m = ReduceMean<keepdims=1>(x, ax)
      s1 = Add(state, m)
      z = Constant<value_int=0>()
      h = Gather<axis=0>(s1, z)
      p1 = Sigmoid(h)
    }, else_branch = f () => (p2, s2) {
      ax = Constant<value_ints=[1]>()
      m = ReduceMax<keepdims=1>(x, ax)
      s2 = Mul(state, m)
      z = Constant<value_int=1>()
      h = Gather<axis=0>(s2, z)
      p2 = Tanh(h)
  }>
}""",
        [
            {"x": floats(1, 1), "state": floats(2, 1, 4), "sr": np.array(16000)},
            {"x": floats(3, 5), "state": floats(2, 3, 4), "sr": np.array(8000)},
            {"x": floats(2, 3), "state": floats(2, 2, 4), "sr": np.array(16000)},
        ],
    ),
    "tts length regulator": (
        """
g (float[T,D] x, int64[T] d) => (y) {
  z = Constant<value_int=0>()
  ax = Constant<value_ints=[0]>()
  cs = CumSum(d, z)
  tot = ReduceMax<keepdims=0>(cs)
  one = Constant<value_int=1>()
  r = Range(z, tot, one)
  a1 = Constant<value_ints=[1]>()
  ru = Unsqueeze(r, a1)
  cu = Unsqueeze(cs, ax)
  ge = GreaterOrEqual(ru, cu)
  gi = Cast<to=7>(ge)
  idx = ReduceSum<keepdims=0>(gi, a1)
  y = Gather<axis=0>(x, idx)
}""",
        [
            {"x": floats(1, 2), "d": ints(1)},
            {"x": floats(3, 2), "d": ints(1, 0, 4)},
            {"x": floats(4, 3), "d": ints(2, 2, 2, 0)},
            {"x": floats(2, 3), "d": ints(0, 0)},
        ],
    ),
    "qdq dynamic": (
        """
g (float[A,B] x, float[B,3] w) => (y) {
  q, s, z = DynamicQuantizeLinear(x)
  qw, sw, zw = DynamicQuantizeLinear(w)
  p = MatMulInteger(q, qw, z, zw)
  f = Cast<to=1>(p)
  ss = Mul(s, sw)
  y = Mul(f, ss)
}""",
        [
            {"x": floats(1, 1), "w": floats(1, 3)},
            {"x": floats(4, 2), "w": floats(2, 3)},
            {"x": floats(2, 7), "w": floats(7, 3)},
        ],
    ),
    "loop in If in Loop": (
        """
g (float[A] x, int64 n, bool c) => (y) {
  t1 = Constant<value = bool {1}>()
  y = Loop(n, t1, x) <body = b (int64 i, bool ci, float[M] si) => (co, so) {
    co = Identity(ci)
    so = If(c) <then_branch = t () => (p) { p = Loop(i, ci, si) <body = b2 (int64 j, bool cj, float[K] sj) => (c2, s2) { c2 = Identity(cj) s2 = Concat<axis=0>(sj, x) }> }, else_branch = f () => (q) { q = Neg(si) }>
  }>
}""",
        [
            {"x": floats(1), "n": np.array(1), "c": np.array(True)},
            {"x": floats(2), "n": np.array(3), "c": np.array(True)},
            {"x": floats(2), "n": np.array(3), "c": np.array(False)},
            {"x": floats(2), "n": np.array(0), "c": np.array(False)},
        ],
    ),
    "squeeze without axes in a loop": (
        """
g (float[A,B] x, int64 n) => (y) {
  t1 = Constant<value = bool {1}>()
  y = Loop(n, t1) <body = b (int64 i, bool ci) => (co, so) {
    co = Identity(ci)
    g0 = Gather<axis=0>(x, i)
    s = Squeeze(g0)
    so = Neg(s)
  }>
}""",
        [
            {"x": floats(1, 1), "n": np.array(1)},
            {"x": floats(3, 1), "n": np.array(3)},
            {"x": floats(3, 4), "n": np.array(2)},
        ],
    ),
    "beam search with sequence in loop and If": (
        """
g (float[V] x, int64 n) => (y, k) {
  t1 = Constant<value = bool {1}>()
  e = SequenceEmpty<dtype=1>()
  z = Constant<value_int=0>()
  q = Loop(n, t1, e) <body = b (int64 i, bool ci, seq(float[V]) si) => (co, so) {
    m = ReduceMax<keepdims=0>(x)
    th = Constant<value_float=100.0>()
    co = Less(m, th)
    f = Cast<to=1>(i)
    r = Add(x, f)
    so = SequenceInsert(si, r)
  }>
  k = SequenceLength(q)
  y = SequenceAt(q, z)
}""",
        [
            {"x": floats(1), "n": np.array(1)},
            {"x": floats(2), "n": np.array(3)},
            {"x": floats(2) + 200, "n": np.array(3)},
        ],
    ),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str) -> None:
    text, calls = CONTROL[name]
    check(parsed(text), calls)
