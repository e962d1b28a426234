"""`python -m benchmarks.encoder_parts`: where the processor time of `score -m turnwise` of 1,000 replies goes, cold.

The command runs in this process with one thread and an empty cache; the time and the tokens of its two networks are
counted, the encoder of single texts and the reader of replies in their contexts. Beside them: the import of torch in a
process of its own, and the matrix products of the same tokens by themselves. The result is in
results/encoder_parts.json, from which `python -m tools.make_speed` takes its sentence.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.bench_commands import DATA
from benchmarks.loglik_parts import products

RESULT = Path(__file__).parent / "results" / "encoder_parts.json"
REPLIES = 1000
IMPORTED = "import resource, torch; print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))"


def main() -> None:
    imported = float(
        subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True).stdout
    )
    models = Path(os.environ.get("TURNWISE_CACHE", Path.home() / ".cache" / "turnwise")) / "models"
    import torch

    from turnwise.cli.common.group import run
    from turnwise.encode.neural.bert import Bert

    torch.set_num_threads(1)
    counted, multiplied, spent, used = Counter[str](), 0.0, 0.0, {}
    plain = Bert.states

    def states(self: Bert, ids: Any, kinds: Any, *, last: int | None = None) -> Any:
        """The states, with their tokens and time counted."""
        nonlocal multiplied, spent
        start = time.process_time()
        found = plain(self, ids, kinds, last=last)
        spent += time.process_time() - start
        counted["encoder" if last is None else "reader"] += ids.numel()
        # Of the last layer only keys and values, a sixth of its products, are those of all tokens.
        multiplied += ids.numel() - 5 / 6 * (ids.numel() - found.shape[0] * found.shape[1]) / self.layers
        used.update(self.weights)
        return found

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to(models.absolute())
        os.environ["TURNWISE_CACHE"] = folder
        Bert.states = states  # type: ignore[method-assign]
        start = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            code = run(
                ["score", str(DATA / "grade.jsonl.gz"), "-m", "turnwise", "--limit", str(REPLIES), "-q"]
            )
        whole = time.process_time() - start
    if code:
        raise SystemExit(f"the command ended with {code}")
    shapes = [
        (int(matrix.shape[0]), int(matrix.shape[1]))
        for name, matrix in used.items()
        if matrix.ndim == 2 and "embeddings" not in name
    ]
    seconds = products(shapes, round(multiplied), torch.float32)
    found = {
        "command": "python -m benchmarks.encoder_parts",
        "import_torch": imported,
        "whole_without_import_of_torch": whole,
        "networks": spent,
        "tokens_of_encoder": counted["encoder"],
        "tokens_of_reader": counted["reader"],
        "products": seconds,
        "operations_per_second": 2 * sum(out * into for out, into in shapes) * multiplied / seconds,
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
