"""Writes tilewright/vm/cpu/level/math_tables.h: least-maximum fits of the relative error, coefficients rounded to f32.

Run when a table changes: `python tools/fit_vector_math.py`; needs mpmath and numpy. `fit` also made the polynomials of math_f32.h.
"""

from pathlib import Path

import mpmath as mp
import numpy as np

HEADER = Path(__file__).resolve().parent.parent / "tilewright/vm/cpu/level/math_tables.h"
mp.mp.prec = 120


def f32(value) -> float:
    return float(np.float32(float(value)))


def fit(f, low, high, powers, weight, nodes=60, rounds=15):
    """Coefficients c[p] of sum c[p] x^p near f on [low, high], error over weight; each is rounded before the next is fitted."""
    low, high = mp.mpf(low), mp.mpf(high)
    xs = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes)) for i in range(nodes)]
    values, weights = [f(x) for x in xs], [1 / abs(weight(x)) for x in xs]
    fixed = {}
    for done in range(len(powers)):
        free = powers[done:]
        matrix = np.array([[float(x**p * w) for p in free] for x, w in zip(xs, weights, strict=True)])
        left = [v - sum(mp.mpf(c) * x**p for p, c in fixed.items()) for x, v in zip(xs, values, strict=True)]
        target = np.array([float(v * w) for v, w in zip(left, weights, strict=True)])
        scale, emphasis, best = np.abs(matrix).max(axis=0), np.ones(nodes), (np.inf, None)
        for _ in range(rounds):  # Lawson: least squares, weighted towards the largest errors
            root = np.sqrt(emphasis)
            c, *_ = np.linalg.lstsq(matrix / scale * root[:, None], target * root, rcond=None)
            error = np.abs(matrix / scale @ c - target)
            best = min(best, (error.max(), tuple(c / scale)))
            emphasis *= error + 1e-18
            emphasis /= emphasis.mean()
        fixed[free[0]] = f32(best[1][0])
    return [fixed[p] for p in powers]


def interval(f, number, zero, limit):
    """Centre and c0 .. c5 of one interval. zero: "odd" or "through" where f(0) = 0, which [0, 1/8) then keeps."""
    if number == 0 and zero == "odd":
        c = fit(
            lambda s: f(mp.sqrt(s)) / mp.sqrt(s), 1e-14, mp.mpf(1) / 64, [0, 1, 2], lambda s: f(mp.sqrt(s)) / mp.sqrt(s)
        )
        return [0.0, 0.0, c[0], 0.0, c[1], 0.0, c[2]]
    if number == 0:
        return [0.0, 0.0, *fit(lambda t: f(t) / t, 1e-14, mp.mpf(1) / 8, [0, 1, 2, 3, 4], lambda t: f(t) / t)]
    octave, quarter = divmod(number - 1, 4)
    low = mp.mpf(2) ** (octave - 3) * (1 + mp.mpf(quarter) / 4)
    high = low + mp.mpf(2) ** (octave - 3) / 4
    # A centre where f is nearly an f32, so that rounding c0 costs nothing.
    around = [mp.mpf(f32((low + high) / 2 + j * (high - low) / 4096)) for j in range(-100, 101)]
    center = min(around, key=lambda c: abs(f32(f(c)) - f(c)) / abs(f(c)))
    if limit and low >= limit:
        return [float(center), f32(f(low + 1)), 0.0, 0.0, 0.0, 0.0, 0.0]
    return [
        float(center),
        *fit(lambda t: f(center + t), low - center, high - center, list(range(6)), lambda t: f(center + t)),
    ]


def array(name, values) -> str:
    texts = [float(f32(v)).hex().replace("0000000p", "p") + "f" for v in values]
    lines = ["    " + ", ".join(texts[i : i + 6]) + ",\n" for i in range(0, len(texts), 6)]
    return f"alignas(64) static const float {name}[{len(texts)}] = {{\n{''.join(lines)}}};\n"


def table(name, f, zero, limit=None) -> str:
    rows = [interval(f, (place - 495) % 32, zero, limit) for place in range(32)]
    columns = ["Center", "0", "1", "2", "3", "4", "5"]
    return "".join(array(f"k{name}{column}", [row[i] for row in rows]) for i, column in enumerate(columns))


HEADER.write_text(
    """// Tables of the in-register look-ups of math_f32.h on AVX-512, written by tools/fit_vector_math.py. 32 intervals of |x|:
// number 0 is [0, 1/8), then four per octave; the low five bits of (bits of |x|) >> 21 are the place in the tables.
// A function is c0 + t * (c1 + t * (.. c5)), t = |x| - center; fits of least maximal relative error, rounded to f32.
#pragma once

namespace tilewright::vm::cpu::TW_LEVEL {

// 2 ** (i / 16)
"""
    + array("kExp2Sixteenths", [mp.power(2, mp.mpf(i) / 16) for i in range(16)])
    + "\n// tanh; 1 from about 9\n"
    + table("Tanh", mp.tanh, "odd", 9.2)
    + "\n// erf; 1 from about 4\n"
    + table("Erf", mp.erf, "odd", 3.99)
    + "\n// a * erfc(a / sqrt(2)) * exp(a * a / 2) / 2: the part of gelu that falls slowly\n"
    + table("GeluTail", lambda a: a * mp.erfc(a / mp.sqrt(2)) * mp.exp(a * a / 2) / 2, "through")
    + "\n}  // namespace tilewright::vm::cpu::TW_LEVEL\n"
)
