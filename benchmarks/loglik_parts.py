"""`python -m benchmarks.loglik_parts`: where the processor time of `score -m loglik` of 100 replies goes.

Imports and loading are measured in a process of their own, the rest with one thread: the tokens that are computed, the
time of the matrix products of these tokens by themselves, and the rate of a product. The result is in
results/loglik_parts.json, from which `python -m tools.make_speed` takes its sentence.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench_commands import DATA

RESULT = Path(__file__).parent / "results" / "loglik_parts.json"
REPLIES = 100
AT_ONCE = 512  # tokens in a product, about as many as in a batch
IMPORTED = """
import resource
import torch
torch_done = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
from turnwise.metrics import models
model = models.language_model("smollm2")
model.prompt, model.config
classes_done = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
model.model
print(torch_done, classes_done - torch_done, sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - classes_done)
"""


def tokens(model: Any) -> tuple[int, int]:
    """Tokens of contexts and of replies that the model computes, with their padding."""
    from turnwise.encode.encoder import TextInContext
    from turnwise.encode.neural import causal
    from turnwise.logs import native
    from turnwise.logs.items.items import Selection, items

    chosen = items(native.read(str(DATA / "grade.jsonl.gz")), Selection(limit=REPLIES))
    pairs = [
        model._fit(*model.prompt.encode(TextInContext(item.reply, item.context, item.role)))[0]
        for item in chosen
    ]
    contexts = {pair.context for pair in pairs}
    padded = (causal._padded(model._beyond(one), causal._CONTEXT_GRID) for one in contexts)
    return sum(padded), sum(causal._padded(len(pair.text), causal._TEXT_GRID) for pair in pairs)


def products(shapes: Sequence[tuple[int, int]], count: int, dtype: Any) -> float:
    """Processor seconds of the matrix products of `count` tokens through layers of these shapes."""
    import torch

    pairs = [(torch.randn(out, into).to(dtype), torch.randn(AT_ONCE, into).to(dtype)) for out, into in shapes]
    with torch.inference_mode():
        for weights, states in pairs:
            torch.nn.functional.linear(states, weights)
        start = time.process_time()
        for weights, states in pairs:
            torch.nn.functional.linear(states, weights)
        return (time.process_time() - start) * count / AT_ONCE


def main() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    imported = [float(part) for part in done.stdout.split()]
    import torch

    from turnwise.metrics import models

    torch.set_num_threads(1)
    model: Any = models.language_model("smollm2")
    body = model.model.base_model
    layers = [layer for layer in body.modules() if isinstance(layer, torch.nn.Linear)]
    shapes = [(layer.out_features, layer.in_features) for layer in layers]
    of_contexts, of_replies = tokens(model)
    dtype = next(body.parameters()).dtype
    seconds = products(shapes, of_contexts + of_replies, dtype)
    operations = 2 * sum(out * into for out, into in shapes) * (of_contexts + of_replies)
    found = {
        "command": "python -m benchmarks.loglik_parts",
        "import_torch": imported[0],
        "import_classes": imported[1],
        "load": imported[2],
        "tokens_of_contexts": of_contexts,
        "tokens_of_replies": of_replies,
        "precision": str(dtype).removeprefix("torch."),
        "products": seconds,
        "operations_per_second": operations / seconds,
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
