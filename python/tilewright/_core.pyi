"""Bindings of the Tilewright library."""

from collections.abc import Mapping, Sequence
import enum
from typing import Any

from numpy.typing import NDArray


class DType(enum.Enum):
    """Element type of a tensor."""

    f32 = 0

    f64 = 1

    f16 = 2

    bf16 = 3

    i8 = 4

    u8 = 5

    i16 = 6

    i32 = 7

    i64 = 8

    bool = 9

def byte_size(dtype: DType) -> int:
    """Bytes of one element."""

class Dim:
    """
    A size or host scalar: a number, or an expression over symbols that a call binds.
    """

    def __init__(self, value: object) -> None: ...

    @staticmethod
    def symbol(name: str) -> Dim: ...

    @staticmethod
    def float_symbol(name: str) -> Dim: ...

    @staticmethod
    def make(operation: str, *operands) -> Dim:
        """`operation` (a name of dim_ops.def) of the operands."""

    @staticmethod
    def parse(text: str) -> Dim: ...

    @property
    def constant(self) -> Any:
        """The number, or None if it depends on symbols."""

    @property
    def is_float(self) -> bool: ...

    @property
    def is_symbol(self) -> bool: ...

    @property
    def name(self) -> str: ...

    @property
    def symbols(self) -> list[Dim]: ...

    def __add__(self, arg: object, /) -> Dim: ...

    def __radd__(self, arg: object, /) -> Dim: ...

    def __sub__(self, arg: object, /) -> Dim: ...

    def __rsub__(self, arg: object, /) -> Dim: ...

    def __mul__(self, arg: object, /) -> Dim: ...

    def __rmul__(self, arg: object, /) -> Dim: ...

    def __floordiv__(self, arg: object, /) -> Dim: ...

    def __mod__(self, arg: object, /) -> Dim: ...

    def __neg__(self) -> Dim: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class Tensor:
    """A strided view of memory with an owner."""

    def __init__(self, array: object) -> None:
        """A view of a numpy array or of anything with DLPack; it is kept alive."""

    @staticmethod
    def from_pointer(dtype: object, sizes: Sequence[int], address: int, strides: object | None = None, owner: object | None = None) -> Tensor:
        """
        A view of memory at an address. Strides in elements; owner is kept alive.
        """

    def copy(self) -> Tensor:
        """The same values in contiguous memory of its own."""

    def numpy(self) -> NDArray:
        """A numpy array over the same memory."""

    def __dlpack__(self, **kwargs) -> object: ...

    def __dlpack_device__(self) -> tuple: ...

    @property
    def dtype(self) -> DType: ...

    @property
    def address(self) -> int: ...

    @property
    def shape(self) -> tuple: ...

    @property
    def strides(self) -> tuple: ...

def ops() -> list:
    """The names of all graph operators."""

class Graph:
    """A program over tensors with symbolic dims."""

    def __init__(self, name: str = '') -> None: ...

    @staticmethod
    def parse(text: str) -> Graph:
        """The graph that `str(graph)` printed."""

    def add_input(self, dtype: object, shape: object, name: str, weight: bool = False) -> int: ...

    def add_scalar_input(self, symbol: Dim) -> None: ...

    def add_capture(self, outer: int, dtype: object, shape: object, name: str) -> int: ...

    def op(self, op: str, inputs: Sequence[int], attrs: dict = {}, regions: list = [], name: str = '') -> list[int]:
        """Appends a node and returns the ids of its results. Regions are copied."""

    def host_call(self, target: int, inputs: Sequence[int], results: list, name: str = '') -> list[int]:
        """
        Appends a call of the host's function `target` with results of the given (dtype, shape).
        """

    def set_outputs(self, outputs: Sequence[int], names: Sequence[str] = []) -> None: ...

    def type(self, value: int) -> tuple:
        """(dtype, shape) of a value."""

    def set_range(self, symbol: Dim, low: int, high: int) -> None: ...

    def set_divisor(self, symbol: Dim, divisor: int) -> None: ...

    def set_equal(self, a: Dim, b: Dim) -> None: ...

    def verify(self) -> None:
        """Raises if the graph is not well formed."""

    def nodes(self) -> list[tuple[str, dict]]:
        """(op, attributes) of each node in order."""

    @property
    def inputs(self) -> list[int]: ...

    @property
    def outputs(self) -> list[int]: ...

    def __str__(self) -> str: ...

def eval(graph: Graph, inputs: Sequence[Tensor], scalars: dict = {}, host_call: object | None = None) -> list[Tensor]:
    """
    Runs a graph by the oracle: naive and slow. Assign writes into the given inputs.
    """

class Border:
    """Calls of torch into one compiled graph: arguments in, results out."""

    def __init__(self, graph: Graph, empty_strided: object, as_strided: object, from_dlpack: object) -> None: ...

    def add_input(self, argument: int, dtype: object, is_weight: bool = False) -> None: ...

    def add_view_input(self, argument: int, dtype: object, sizes: object, strides: object, offset: object, is_absolute: bool) -> None: ...

    def add_scalar(self, argument: int, symbol: Dim) -> None: ...

    def add_late(self, output: int, symbol: Dim) -> None: ...

    def add_value(self, output: int, dtype: object, sizes: object, strides: object) -> int: ...

    def add_result(self, is_argument: bool, source: int) -> None: ...

    def add_view(self, of_argument: bool, source: int, sizes: object, strides: object, offset: object) -> None: ...

    def add_number(self, value: Dim, type: str) -> None: ...

    def add_constant(self, value: object | None) -> None: ...

    def set_host_call(self, host_call: object) -> None: ...

    def finish(self, use_oracle: bool = False) -> None: ...

    def explain(self) -> dict:
        """
        Kernels, refused merges, passes; bytes moved at the sizes of the last call.
        """

    def refresh(self) -> None:
        """Counts every parameter as changed at the next call."""

    def weights(self) -> dict:
        """The parameters of the last call, by the name of their graph input."""

    @property
    def weight_addresses(self) -> list[int]: ...

    def trim(self) -> None: ...

    @property
    def plan(self) -> str:
        """The optimised graph, as text."""

    def __call__(self, arguments: list) -> list: ...

class Segment:
    """A compiled piece of a stream of eager operations."""

    def __init__(self, graph: Graph, output_strides: list) -> None:
        """Compiles a graph whose outputs have these strides, in elements."""

    def explain(self) -> dict:
        """
        Kernels, refused merges, passes; bytes moved at the sizes of the last run.
        """

    def trim(self) -> None: ...

    @property
    def plan(self) -> str:
        """The optimised graph, as text."""

def setup_streams(objects: dict, dtypes: list, itemsizes: Sequence[int], is_float: Sequence[int], constants: list) -> None: ...

def set_stream_op(func: object, kind: int, names_floats: bool, written: Sequence[int], out_names: list) -> None: ...

class StreamSegment:
    """Recorded ops, and what storages hold in terms of their values."""

    def __init__(self) -> None: ...

    def read(self, tensor: object) -> int:
        """
        The value that a tensor holds; -1: the segment must run first, -2: it cannot be recorded.
        """

    def add_op(self, template: int, refs: Sequence[int], ints: Sequence[int], floats: Sequence[float], results: list) -> int:
        """Returns the first of its results."""

    def add_own(self, tensor: object, value: int) -> None: ...

    def can_write(self, tensor: object) -> bool: ...

    def write(self, tensor: object, value: int) -> None: ...

    def add_view(self, storage: int, template: int, ints: Sequence[int], results: list, index: int, view: object, parent: object) -> None: ...

    def is_involved(self, storage: int) -> bool: ...

    def is_pending(self, storage: int) -> bool: ...

    @property
    def is_empty(self) -> bool: ...

    def __len__(self) -> int: ...

    def close(self) -> None:
        """Ends recording: finds what is live."""

    def key(self, names_sizes: bool, names_floats: bool, default_dtype: int) -> bytes: ...

    @property
    def names(self) -> list[int]: ...

    @property
    def named_floats(self) -> list[float]: ...

    @property
    def num_own(self) -> int: ...

    @property
    def num_outputs(self) -> int: ...

    @property
    def writes(self) -> list[tuple[int, int]]:
        """(input number, value) of what goes to memory from outside."""

    @property
    def outputs(self) -> list: ...

    @property
    def inputs(self) -> list: ...

    @property
    def ops(self) -> list:
        """(template, refs, ints, floats, first result, results, which are None)"""

    @property
    def values(self) -> list: ...

    def run(self, compiled: Segment, scalar_names: Sequence[int]) -> None: ...

class Stream:
    """The recorder of one thread."""

    def __init__(self, slow: object | None, max_ops: int) -> None: ...

    def dispatch(self, mode: object, func: object, types: object, args: tuple, kwargs: object | None = None) -> object:
        """What torch calls for each op."""

    def learn(self, func: object, args: tuple, kwargs: object, template: int, ints: Sequence[int], results: list, single: bool, as_list: bool) -> None: ...

    def take(self) -> StreamSegment:
        """The recorded segment; a new one begins."""

    @property
    def segment(self) -> StreamSegment: ...

    @property
    def busy(self) -> bool:
        """Another call runs what was recorded."""

    @busy.setter
    def busy(self, arg: bool, /) -> None: ...

    def count_recorded(self) -> None: ...

    @property
    def num_recorded(self) -> int: ...

def counters() -> dict:
    """
    Counters of the process: calls, launches, programs, bytes, encode times in ns.
    """

def set_num_threads(count: int) -> None: ...

def num_threads() -> int: ...

def save_model(graph: Graph, weights: Mapping[str, Tensor], output_strides: list, metadata: Mapping[str, str], path: str) -> None: ...

class Model:
    """A compiled model with its weights."""

    @staticmethod
    def load(source: object) -> Model:
        """Reads a model file from a path or from bytes."""

    @property
    def inputs(self) -> list:
        """
        (name, dtype, shape) of what a call brings; None for what only a call decides. Of a sequence: of its items.
        """

    @property
    def outputs(self) -> list:
        """(name, dtype, shape); None for what only a call decides."""

    @property
    def input_kinds(self) -> list[str]: ...

    @property
    def output_kinds(self) -> list[str]: ...

    @property
    def scalars(self) -> list[Dim]: ...

    @property
    def metadata(self) -> dict[str, str]:
        """
        Texts by key: of whoever saved the model, and "tilewright.*" for the library.
        """

    def weight_names(self) -> list[str]: ...

    def set_weights(self, weights: Mapping[str, Tensor]) -> None: ...

    def save(self, path: str) -> None: ...

    def trim(self) -> None: ...

    def weight(self, name: str) -> Tensor: ...

    def run(self, inputs: list, scalars: list = [], texts: CallTexts | None = None) -> list:
        """An input or result is a Tensor, a list of them (a sequence), or None."""

class CallTexts:
    """The strings of one call of a model, which carries them as numbers."""

    def __init__(self, model: Model) -> None: ...

    def numbers(self, texts: Sequence[str]) -> list[int]: ...

    def texts(self, numbers: Sequence[int]) -> list[str]: ...

DEFAULT_EXPORT_OPSET: int = 20

OLDEST_EXPORT_OPSET: int = 13

NEWEST_EXPORT_OPSET: int = 28

def export_rules() -> list:
    """(op, what it becomes in ONNX, oldest opset, why it is not exported)."""

def export_graph(graph: Graph, weights: Mapping[str, Tensor], metadata: Mapping[str, str], path: str, opset: int, standard_only: bool, simplify: bool, external_from: int) -> dict: ...

def export_file(source: str, path: str, opset: int, standard_only: bool, simplify: bool, external_from: int) -> dict: ...

def export_model(model: Model, path: str, opset: int, standard_only: bool, simplify: bool, external_from: int) -> dict: ...
