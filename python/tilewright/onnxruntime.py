"""The calls of onnxruntime, so that a program switches by one import:

    import tilewright.onnxruntime as ort
    session = ort.InferenceSession("model.onnx")

Options that choose among things that Tilewright does not have (execution providers, memory patterns, profiling, log
levels) are taken and have no effect; `intra_op_num_threads` sets the threads of the process. Errors are those of
onnxruntime by name, and ValueError, TypeError, FileNotFoundError or NotImplementedError at the same time.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _core
from .session import Session, TensorArgument, _load_model, _to_numpy

__version__ = "1.23.2"
NodeArg = TensorArgument


class Fail(RuntimeError):
    """A model or a call that cannot run."""


class InvalidArgument(ValueError, TypeError):
    """Feeds, names or options that do not fit the model."""


class InvalidGraph(Fail, ValueError):
    """A model that is wrong."""


class NoSuchFile(FileNotFoundError):
    """A path that leads nowhere."""


class Unsupported(NotImplementedError):
    """A model that needs what is not there."""


NotImplemented = Unsupported  # onnxruntime's name


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Options:
    """Options that are kept as they are given."""

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""


class SessionOptions(_Options):
    """intra_op_num_threads, if it is not 0, sets the threads of the process. Nothing else has an effect."""

    def __init__(self) -> None:
        super().__init__()
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_profiling = False
        self.optimized_model_filepath = ""
        self.profile_file_prefix = ""
        self.use_deterministic_compute = False

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Every size stays free: a call of another size runs too."""

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Every size stays free: a call of another size runs too."""


class RunOptions(_Options):
    def __init__(self) -> None:
        super().__init__()
        self.only_execute_path_to_fetches = False
        self.terminate = False
        self.training_mode = False

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return self._entries[key]


class ModelMetadata:
    """What a model says about itself."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        def own(key: str) -> str:
            return metadata.get(f"tilewright.onnx.{key}", "")

        self.producer_name = own("producer_name")
        self.graph_name = own("graph_name")
        self.domain = own("domain")
        self.description = own("description")
        self.graph_description = own("graph_description")
        self.version = int(own("version") or 0)
        self.custom_metadata_map = {key: text for key, text in metadata.items() if not key.startswith("tilewright.")}


class OrtValue:
    """An array, a list of arrays, or nothing, in the memory of the CPU."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(array: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """The array itself, not a copy."""
        _check_device(device_type)
        return OrtValue(array)

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any = None, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        import numpy

        _check_device(device_type)
        return OrtValue(numpy.zeros(tuple(shape), _numpy_type(numpy.float32 if element_type is None else element_type)))

    @staticmethod
    def from_dlpack(value: Any, is_bool_tensor: bool = False) -> OrtValue:
        array = _to_numpy(_core.Tensor(value))
        return OrtValue(array.view("?") if is_bool_tensor else array)

    def numpy(self) -> Any:
        if isinstance(self._value, list) or self._value is None:
            raise RuntimeError("only a tensor has a numpy array")
        return self._value

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()

    def shape(self) -> list[int]:
        return list(self.numpy().shape)

    def data_type(self) -> str:
        if isinstance(self._value, list):
            return f"seq({OrtValue(self._value[0]).data_type()})" if self._value else "seq()"
        name = str(self.numpy().dtype)
        return f"tensor({ {'float32': 'float', 'float64': 'double', 'object': 'string'}.get(name, name) })"

    def data_ptr(self) -> int:
        return self.numpy().ctypes.data

    def device_name(self) -> str:
        return "cpu"

    def is_tensor(self) -> bool:
        return self._value is not None and not isinstance(self._value, list)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        return False

    def has_value(self) -> bool:
        return self._value is not None

    def update_inplace(self, array: Any) -> None:
        self.numpy()[...] = array


class IOBinding:
    """The inputs and outputs of calls that follow. Inputs are used where they lie. A bound output is written into its
    array; one that is bound by name alone is a new array after each call."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._results: list[Any] = []

    def bind_cpu_input(self, name: str, array: Any) -> None:
        self._inputs[name] = array

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        """An OrtValue, or anything with DLPack."""
        self._inputs[name] = _unwrapped(value)

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        _check_device(device_type)
        self._inputs[name] = _array_at(buffer_ptr, element_type, shape)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        _check_device(device_type)
        self._check_output(name)
        bound = buffer_ptr is not None and shape is not None
        self._outputs[name] = _array_at(buffer_ptr, element_type, shape) if bound else None

    def bind_ortvalue_output(self, name: str, value: Any) -> None:
        """An OrtValue, or a writable array with DLPack, which gets the result."""
        self._check_output(name)
        value = _unwrapped(value)
        if value is not None and type(value).__module__ != "numpy":
            import numpy

            value = numpy.from_dlpack(value)
        self._outputs[name] = value

    def _check_output(self, name: str) -> None:
        names = [output.name for output in self._session.get_outputs()]
        if name not in names:
            raise InvalidArgument(f"unknown output: {name!r}; the model gives {names}")

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()

    def synchronize_inputs(self) -> None:
        """Nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for."""

    def get_outputs(self) -> list[OrtValue]:
        return [OrtValue(result) for result in self._results]

    get_outputs_as_ortvaluevector = get_outputs

    def copy_outputs_to_cpu(self) -> list[Any]:
        return list(self._results)

    def run(self) -> None:
        names = list(self._outputs) or None
        results = self._session.run(names, self._inputs)
        self._results = []
        for name, result in zip(names or [output.name for output in self._session.get_outputs()], results, strict=True):
            target = self._outputs.get(name)
            if target is not None:
                _write(name, target, result)
            self._results.append(result if target is None else target)


class InferenceSession(Session):
    """A Session made and called as onnxruntime has it. Providers are taken and not looked at: there is the CPU."""

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        **_: Any,
    ) -> None:
        self._session_options = sess_options
        threads = getattr(sess_options, "intra_op_num_threads", 0)
        if threads:
            from . import set_num_threads

            set_num_threads(threads)
        with _onnxruntime_errors(InvalidGraph):
            super().__init__(_load_model(path_or_bytes))

    def run(self, inputs: Any, feeds: Mapping[str, Any] | None = None, run_options: Any = None) -> Any:
        with _onnxruntime_errors(InvalidArgument):
            if feeds is not None:
                feeds = {name: _unwrapped(value) for name, value in feeds.items()}
            return super().run(inputs, feeds, run_options)

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, feeds: Mapping[str, Any], run_options: Any = None
    ) -> list[OrtValue]:
        return [OrtValue(result) for result in self.run(output_names, feeds, run_options)]

    def run_with_iobinding(self, binding: IOBinding, run_options: Any = None) -> None:
        binding.run()

    def run_async(
        self,
        output_names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any = None,
        run_options: Any = None,
    ) -> None:
        """Calls `callback(results, user_data, error)` from another thread; the text of the error is empty without one."""
        import threading

        def call() -> None:
            try:
                results, error = self.run(output_names, feeds, run_options), ""
            except Exception as problem:  # it is told to the callback
                results, error = [], str(problem)
            callback(results, user_data, error)

        threading.Thread(target=call, daemon=True).start()

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._model.metadata)

    def get_session_options(self) -> SessionOptions:
        return self._session_options or SessionOptions()

    def get_overridable_initializers(self) -> list[TensorArgument]:
        return []

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {"CPUExecutionProvider": {}}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Any = None) -> None:
        """There is the CPU."""

    def enable_fallback(self) -> None:
        """There is one provider."""

    def disable_fallback(self) -> None:
        """There is one provider."""

    def end_profiling(self) -> str:
        """Profiles are not written: tilewright.stats() counts, `tilewright inspect` shows kernels."""
        return ""

    def get_profiling_start_time_ns(self) -> int:
        return 0


def get_available_providers() -> list[str]:
    return ["CPUExecutionProvider"]


get_all_providers = get_available_providers


def get_device() -> str:
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """TILEWRIGHT_DEBUG tells what happens."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """TILEWRIGHT_DEBUG tells what happens."""


def disable_telemetry_events() -> None:
    """There are none."""


def enable_telemetry_events() -> None:
    """There are none."""


@contextlib.contextmanager
def _onnxruntime_errors(of_values: type[Exception]) -> Iterator[None]:
    try:
        yield
    except (InvalidArgument, Fail, NoSuchFile, Unsupported):
        raise
    except FileNotFoundError as error:
        raise NoSuchFile(*error.args) from error
    except NotImplementedError as error:
        raise Unsupported(*error.args) from error
    except (ValueError, TypeError) as error:
        raise of_values(*error.args) from error


def _check_device(device_type: str) -> None:
    if device_type.partition(":")[0].lower() != "cpu":
        raise InvalidArgument(f"no device {device_type!r}: there is the CPU")


def _unwrapped(value: Any) -> Any:
    return value._value if isinstance(value, OrtValue) else value


def _numpy_type(element_type: Any) -> Any:
    """numpy's type of a numpy type, or of a number of onnx.TensorProto."""
    import numpy

    if isinstance(element_type, int) and not isinstance(element_type, numpy.generic):
        import onnx

        return onnx.helper.tensor_dtype_to_np_dtype(element_type)
    return numpy.dtype(element_type)


def _array_at(address: Any, element_type: Any, shape: Any) -> Any:
    """The array that lies at an address, which its owner keeps alive."""
    import ctypes

    import numpy

    dtype = _numpy_type(element_type)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return numpy.frombuffer(memory, dtype, count).reshape(tuple(shape))


def _write(name: str, target: Any, result: Any) -> None:
    if type(result).__module__ != "numpy" and hasattr(result, "__dlpack__"):
        result = _to_numpy(_core.Tensor(result))
    result_dtype = getattr(result, "dtype", None)
    if target.dtype != result_dtype or target.shape != result.shape:
        raise InvalidArgument(
            f"output '{name}' is bound to {target.dtype}{list(target.shape)}, the result is"
            f" {result_dtype}{list(result.shape)}"
        )
    target[...] = result
