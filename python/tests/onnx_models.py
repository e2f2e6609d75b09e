"""Models of one node, run against onnxruntime: what the tests of ONNX's operators share."""

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper

import tilewright

MICROSOFT = "com.microsoft"
ELEMENT = {
    np.dtype(ml_dtypes.bfloat16): onnx.TensorProto.BFLOAT16,
}


def element_type(array: np.ndarray) -> int:
    return ELEMENT.get(array.dtype) or helper.np_dtype_to_tensor_dtype(array.dtype)


def one_node(op_type, inputs, outputs, *, domain="", model_opset=21, symbolic=True, constants=(), **attributes):
    """A model of one node. inputs: a list of (name, array), an array of None is left out; with `symbolic` every size of
    an input that is not in `constants` is a symbol of its own."""
    names = [name if array is not None else "" for name, array in inputs]
    node = helper.make_node(op_type, names, outputs, domain=domain, **attributes)
    graph_inputs, initializers = [], []
    for name, array in inputs:
        if array is None:
            continue
        if name in constants:
            initializers.append(onnx.numpy_helper.from_array(array, name))
            continue
        shape = [f"{name}_{axis}" if symbolic else size for axis, size in enumerate(array.shape)]
        graph_inputs.append(helper.make_tensor_value_info(name, element_type(array), shape))
    graph_outputs = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    graph = helper.make_graph([node], "g", graph_inputs, graph_outputs, initializers)
    opsets = [helper.make_opsetid("", model_opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def reference(built: onnx.ModelProto, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(built.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def check_node(op_type, *calls, outputs=("y",), tolerance=1e-5, steps=0, **settings):
    """Every call, a list of (name, array), on one session of ours, against onnxruntime. The model knows no sizes but
    those of `constants`; integer results may differ by `steps`."""
    built = one_node(op_type, calls[0], list(outputs), **settings)
    session = tilewright.load(built)
    constants = settings.get("constants", ())
    for call in calls:
        feeds = {name: array for name, array in call if array is not None and name not in constants}
        expected = reference(built, feeds)
        got = session.run(None, feeds)
        for name, mine, wanted in zip(filter(None, outputs), got, expected, strict=True):
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape, (name, mine.shape, wanted.shape)
            if wanted.dtype.kind in "iub":
                assert np.abs(mine.astype(np.int64) - wanted.astype(np.int64)).max(initial=0) <= steps, name
            else:
                np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
