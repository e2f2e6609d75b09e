"""tilewright.onnxruntime beside onnxruntime: the same program on both, switched by its import."""

import threading

import numpy as np
import onnx
import onnxruntime
import pytest
import tilewright.onnxruntime
import torch
from onnx_calls import compare, floats, parsed

MODEL = parsed("g (float[A, B] x, float[B] b) => (y, s) { y = Add(x, b)  s = ReduceSum<keepdims = 0>(y) }")
MODEL.producer_name, MODEL.model_version, MODEL.doc_string = "a test", 7, "adds"
MODEL.metadata_props.add(key="author", value="nobody")
BOTH = pytest.mark.parametrize("ort", [onnxruntime, tilewright.onnxruntime], ids=["onnxruntime", "tilewright"])


def make(ort, model: onnx.ModelProto = MODEL):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@BOTH
def test_a_session_describes_itself(ort) -> None:
    session = make(ort)
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [
        ("x", "tensor(float)", ["A", "B"]),
        ("b", "tensor(float)", ["B"]),
    ]
    assert [o.name for o in session.get_outputs()] == ["y", "s"]
    assert session.get_providers() == ["CPUExecutionProvider"]
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.version, meta.description, meta.graph_name) == ("a test", 7, "adds", "g")
    assert meta.custom_metadata_map == {"author": "nobody"}
    assert "CPUExecutionProvider" in ort.get_available_providers() and ort.get_device() == "CPU"


@BOTH
def test_outputs_are_chosen_by_name(ort) -> None:
    session, x, b = make(ort), floats(2, 3), floats(3)
    for names in (None, ["y", "s"], ["s"], ["s", "y"]):
        got = session.run(names, {"x": x, "b": b}, ort.RunOptions())
        wanted = {"y": x + b, "s": np.asarray((x + b).sum())}
        for name, result in zip(names or ["y", "s"], got, strict=True):
            np.testing.assert_allclose(result, wanted[name], rtol=1e-5, atol=1e-5)


@BOTH
def test_bound_inputs_and_outputs(ort) -> None:
    session = make(ort)
    for size in (1, 4, 2):
        x, b, y = floats(size, 3), floats(3), np.zeros((size, 3), np.float32)
        binding = session.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_ortvalue_input("b", ort.OrtValue.ortvalue_from_numpy(b))
        binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
        binding.bind_output("s")
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(y, x + b, rtol=1e-6)
        results = binding.copy_outputs_to_cpu()
        np.testing.assert_allclose(results[1], (x + b).sum(), rtol=1e-5, atol=1e-5)
        assert [value.shape() for value in binding.get_outputs()] == [[size, 3], []]
        assert binding.get_outputs()[0].data_type() == "tensor(float)"


def test_tensors_of_torch_are_bound_by_dlpack() -> None:
    session = make(tilewright.onnxruntime)
    x, b, y = torch.randn(2, 3), torch.randn(3), torch.zeros(2, 3)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_input("b", tilewright.onnxruntime.OrtValue.from_dlpack(b))
    binding.bind_ortvalue_output("y", y)
    session.run_with_iobinding(binding)
    torch.testing.assert_close(y, x + b)


@BOTH
def test_values_hold_arrays(ort) -> None:
    array = floats(2, 3)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert value.is_tensor() and value.has_value() and not value.is_tensor_sequence()
    assert (value.shape(), value.data_type(), value.device_name()) == ([2, 3], "tensor(float)", "cpu")
    compare(value.numpy(), array)
    empty = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    empty.update_inplace(array)
    compare(empty.numpy(), array)
    results = make(ort).run_with_ort_values(["s"], {"x": value, "b": ort.OrtValue.ortvalue_from_numpy(floats(3))})
    assert results[0].shape() == []


@BOTH
@pytest.mark.parametrize(
    "feeds",
    [
        {"x": floats(2, 3)},
        {"x": floats(2, 3), "b": floats(3), "z": floats(1)},
        {"x": floats(2, 3).astype(np.float64), "b": floats(3)},
        {"x": floats(2), "b": floats(3)},
        {"x": floats(2, 3), "b": floats(4)},
    ],
    ids=["missing", "unknown", "of another type", "of another rank", "of another size"],
)
def test_wrong_feeds_are_refused(ort, feeds) -> None:
    with pytest.raises(Exception, match=r".") as caught:  # onnxruntime has three kinds for these
        make(ort).run(None, feeds)
    if ort is tilewright.onnxruntime:
        assert isinstance(caught.value, ort.InvalidArgument)
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)
        assert any(f"'{name}'" in str(caught.value) for name in ("x", "b", "z"))


@BOTH
def test_wrong_names_and_files_are_refused(ort, tmp_path) -> None:
    with pytest.raises(Exception, match=r"."):
        make(ort).run(["q"], {"x": floats(1, 1), "b": floats(1)})
    with pytest.raises(Exception, match=r"."):
        ort.InferenceSession(str(tmp_path / "nothing.onnx"))
    with pytest.raises(Exception, match=r"."):
        ort.InferenceSession(b"no model at all")


@BOTH
def test_a_call_in_the_background(ort) -> None:
    session, x, b, done, told = make(ort), floats(2, 3), floats(3), threading.Event(), []

    def finished(results, data, error) -> None:
        told.append((results, data, error))
        done.set()

    session.run_async(["y"], {"x": x, "b": b}, finished, "mine")
    assert done.wait(30)
    np.testing.assert_allclose(told[0][0][0], x + b, rtol=1e-6)
    assert told[0][1:] == ("mine", "")
