"""Branches and loops of ONNX in odd forms, each at several shapes."""

import numpy as np
import pytest
from onnx_calls import check, floats, parsed

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
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name: str) -> None:
    text, calls = CONTROL[name]
    check(parsed(text), calls)
