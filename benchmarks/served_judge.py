"""A real server and a real model as a judge: `transformers serve` with an instruct model, on replies of USR.

    python -m benchmarks.served_judge DATA/usr_persona.jsonl FOLDER --label NAME

The server is started with the model in FOLDER, and asked for scores in the form `text`, for scores as a JSON object
(`form=schema`), for a checklist, for probabilities (`weighted`), and for the better of two replies. Verdicts are
counted, those that needed a reminder, and why the others have none. Results are written to
benchmarks/results/served_judge.json.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import turnwise as tw
from benchmarks.local_judges import AGENTS, SEED, paired

RESULT = Path(__file__).parent / "results" / "served_judge.json"
LONGEST, TIMEOUT = 80, 600  # tokens of an answer; seconds, as the processor may be shared
CHECKLIST = """
question = "What is right about the reply?"
[[criteria]]
name = "on-topic"
question = "Is it about what was said last?"
[[criteria]]
name = "polite"
question = "Is it polite?"
"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run `transformers serve` with a model; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    program = str(Path(sys.executable).with_name("transformers"))
    command = [program, "serve", str(folder), "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        try:
            while True:
                if process.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(log.read().decode(errors="replace"))
                try:
                    socket.create_connection(("127.0.0.1", port), 1.0).close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()
            process.wait()


def scored(records: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    """What became of each reply, and an example of a reason."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            tw.score(records, metrics=metric, items="rated", output=folder, reuse=False)
        except tw.TurnwiseError as error:
            return {"error": str(error)}
        lines = [json.loads(line) for line in (Path(folder) / "items.jsonl").read_text().splitlines()]
    said = [one for line in lines for one in line.get("explanations", {}).values()]
    known = [one for one in said if one.get("score") is not None]
    return {
        "replies": len(lines),
        "scored": len(known),
        "scored_after_a_reminder": sum(one["requests"] > 1 for one in known),
        "unscored": dict(Counter(one["why"] for one in said if one.get("why"))),
        "errors": dict(
            Counter(
                one["reason"]
                for line in lines
                for one in (line.get("unscored") or {}).values()
                if one["status"] == "error"
            )
        ),
        "scores": dict(sorted(Counter(f"{one['score']:g}" for one in known).items())),
        "criteria": [one["criteria"] for one in known if one.get("criteria")][:2],
        "example": next((one["reason"] for one in known if one.get("reason")), ""),
        "seconds_an_item": round(sum(one["seconds"] for one in said) / max(1, len(said)), 1),
    }


def chosen_pairs(records: list[dict[str, Any]], n: int, settings: str) -> dict[str, Any]:
    """The verdicts on pairs in both orders."""
    try:
        found = tw.compare(
            paired(records, n), metrics=f"judge-pair[{settings}]", agents=AGENTS, items="rated", reuse=False
        )
    except tw.TurnwiseError as error:
        return {"error": str(error)}
    (one,) = found.findings
    keys = ("win_rate", "position_bias", "consistent")
    return {
        "pairs": n, "with_verdicts": one.n_items, "unscored": one.unscored, "reason": one.reason,
        **{key: getattr(one, key) for key in keys},
    }  # fmt: skip


def main() -> None:
    """Start the server, ask it in each form, and write what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--label", required=True, help="the model's name in the results")
    parser.add_argument("--replies", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--forms", nargs="+", help="ask in these forms alone, and keep the others' results")
    given = parser.parse_args()
    records = [json.loads(line) for line in given.data.read_text().splitlines()]
    chosen = sorted(np.random.default_rng(SEED).permutation(len(records))[: given.replies])
    few = [records[index] for index in chosen]
    with tempfile.TemporaryDirectory() as folder, served(given.folder) as address:
        checklist = Path(folder) / "checklist.toml"
        checklist.write_text(CHECKLIST)
        common = f"address={address},model={given.folder},longest={LONGEST},timeout={TIMEOUT},concurrency=1"
        asked: dict[str, Callable[[], dict[str, Any]]] = {
            "text": lambda: scored(few, f"judge[{common}]"),
            "schema": lambda: scored(few, f"judge[{common},form=schema]"),
            "pairs": lambda: chosen_pairs(records, given.pairs, common),
            "weighted": lambda: scored(few[:1], f"judge[{common},weighted=true]"),
            "checklist": lambda: scored(few[:2], f"judge[{common},rubric={checklist}]"),
        }
        for form in given.forms or asked:
            found = asked[form]()
            print(json.dumps({form: found}, indent=1), flush=True)
            kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
            kept.setdefault(given.label, {})[form] = found
            RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
