"""Realistic inputs of the real models: speech-like, text-like, normalised as their packages do. Noise makes several of
the models chaotic or constant. One function makes the inputs of one shape; the same shape gives the same inputs.
"""

import numpy

Feeds = dict[str, numpy.ndarray]


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


def windows(sound: numpy.ndarray, width: int, hop: int, frames: int) -> numpy.ndarray:
    """Pieces of [rows, samples] under a Hann window, [rows, frames, width]."""
    pieces = numpy.stack([sound[:, i * hop : i * hop + width] for i in range(frames)], 1)
    return pieces * numpy.hanning(width)


def log_mel(sound: numpy.ndarray, bins: int, frames: int) -> numpy.ndarray:
    """log10 of the power in triangular bands that widen with the pitch, at 16 kHz, [rows, bins, frames]."""
    padded = numpy.pad(sound, ((0, 0), (200, 200)), mode="reflect")
    power = numpy.abs(numpy.fft.rfft(windows(padded, 400, 160, frames))) ** 2
    edges = 700 * (numpy.exp(numpy.linspace(0, 2840, bins + 2) / 1127) - 1)
    frequency = numpy.arange(power.shape[-1]) * 40.0
    rising = (frequency - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequency) / (edges[2:] - edges[1:-1])[:, None]
    bands = numpy.maximum(0, numpy.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]
    return numpy.log10(numpy.maximum(power @ bands.T, 1e-10)).transpose(0, 2, 1)


def smart_turn(batch: int) -> Feeds:
    """Eight seconds that end in a steady tone: a clear answer, as an undecided one hangs on single roundings."""
    sound = speech(batch, 8 * 16000)
    sound[:, -24000:] = 0.3 * numpy.sin(2 * numpy.pi * 440 * numpy.arange(24000) / 16000)
    sound = (sound - sound.mean(1, keepdims=True)) / sound.std(1, keepdims=True)
    mel = log_mel(sound, 80, 800)
    mel = numpy.maximum(mel, mel.max(axis=(1, 2), keepdims=True) - 8)
    return {"input_features": ((mel + 4) / 4).astype(numpy.float32)}


def captcha(width: int) -> Feeds:
    return {"input1": (image(1, 64, width)[:, :1] - 0.5) / 0.5}


def tokens(batch: int, length: int, types: bool = False) -> Feeds:
    """Token ids of texts; in a batch the second is only two thirds as long as the first, and so on."""
    ids = numpy.random.default_rng(batch * 1000 + length).integers(1000, 20000, (batch, length))
    mask = numpy.ones((batch, length), numpy.int64)
    for row in range(1, batch):
        mask[row, max(1, length * 2 // (2 + row)) :] = 0
    ids = ids * mask
    return {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": ids * 0} if types else {})


def letters(name: str, low: int, high: int, batch: int, length: int, dtype=numpy.int64) -> Feeds:
    """Ids of letters in words of about six; the space is 1."""
    random = numpy.random.default_rng(batch * 1000 + length)
    ids = random.integers(low, high, (batch, length))
    ids[random.random((batch, length)) < 0.15] = 1
    return {name: ids.astype(dtype)}


def voicefilter(batch: int, frames: int) -> Feeds:
    mel = numpy.log(10.0) * log_power(batch, frames, 512)
    speaker = numpy.random.default_rng(batch).standard_normal((batch, 256))
    zero = numpy.zeros((3, batch, 512), numpy.float32)
    return {
        "stacked_logmel": mel.astype(numpy.float32),
        "dvec": (speaker / numpy.linalg.norm(speaker, axis=1, keepdims=True)).astype(numpy.float32),
        "h0": zero,
        "c0": zero,
    }


def echo(batch: int, frames: int, state: int) -> Feeds:
    """Log power of three signals, as of a call with an echo."""
    planes = numpy.stack([log_power(batch, frames + i, 160)[:, :frames] for i in range(3)], 1)
    return {"input": planes / 12 + 0.5, "h0": numpy.zeros((4, 1, state), numpy.float32)}
