"""The peers: each turns a callable on tensors into the callable that is timed."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from workloads import Workload

PEERS = (
    "eager",
    "inductor-dynamic",
    "inductor-recompile",
    "ort",
    "openvino",
    "floor",
    "tilewright",
    "tilewright-session",
)


def one_or_all(results: list):
    return results[0] if len(results) == 1 else tuple(results)


class Wrapped(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def compile_floor(function):
    """torch.compile with a backend that computes each shape once and then returns what it stored: the time that Dynamo
    and AOTAutograd take by themselves."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def compiler(module, _example):
        stored = {}

        def call(*inputs):
            sizes = tuple(tuple(x.shape) if torch.is_tensor(x) else x for x in inputs)
            if sizes not in stored:
                stored[sizes] = module(*inputs)
            return stored[sizes]

        return make_boxed_func(call)

    return torch.compile(function, backend=aot_autograd(fw_compiler=compiler), dynamic=True)


def export_onnx(workload: Workload, function, shape, folder: Path) -> Path:
    path = folder / f"{workload.name}-{workload.key(shape)}.onnx"
    if workload.onnx is not None and not path.exists():
        path.write_bytes(workload.onnx().SerializeToString())
    if not path.exists():
        module = function if isinstance(function, nn.Module) else Wrapped(function)
        inputs = workload.inputs((*workload.traced, *(workload.key(shape) or ())))
        dynamic = workload.dynamic if isinstance(function, nn.Module) else (workload.dynamic,)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            made = Path(temporary) / "model.onnx"
            torch.onnx.export(
                module,
                inputs,
                made,
                dynamo=True,
                dynamic_shapes=dynamic,
                verbose=False,
                external_data=False,
                optimize=True,
            )
            made.rename(path)
    return path


def run_ort(path: Path, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def run(*inputs):
        results = session.run(None, {name: x.numpy() for name, x in zip(names, inputs, strict=True)})
        return one_or_all([torch.from_numpy(result) for result in results])

    return run


def run_openvino(path: Path, threads: int):
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = core.compile_model(core.read_model(str(path)), "CPU", settings)

    def run(*inputs):
        results = model([x.numpy() for x in inputs])
        return one_or_all([torch.from_numpy(results[output].copy()) for output in model.outputs])

    return run


def run_session(path: Path, threads: int):
    """The same file that ONNX Runtime and OpenVINO get, by Session.run."""
    import tilewright

    tilewright.set_num_threads(threads)
    session = tilewright.load(path)
    names = [name for name, _, _ in session.inputs]

    def run(*inputs):
        results = session.run({name: x.numpy() for name, x in zip(names, inputs, strict=True)})
        return one_or_all([torch.from_numpy(result) for result in results.values()])

    return run


def make_runner(peer: str, workload: Workload, function, shape, threads: int, folder: Path):
    if peer == "eager":
        return function
    if peer == "floor":
        return compile_floor(function)
    if peer == "tilewright":
        return torch.compile(function, backend="tilewright", dynamic=True)
    if peer.startswith("inductor"):
        if peer == "inductor-freezing":
            torch._inductor.config.freezing = True
        return torch.compile(function, dynamic=peer != "inductor-recompile")
    path = export_onnx(workload, function, shape, folder)
    return {"ort": run_ort, "openvino": run_openvino, "tilewright-session": run_session}[peer](path, threads)
