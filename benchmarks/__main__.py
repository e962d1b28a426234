"""`make bench [ONLY=name]`: run all bench modules, print a table and write benchmarks/results/bench.json."""

import argparse
import importlib
import json
import pkgutil
import platform
from dataclasses import asdict
from pathlib import Path

import benchmarks
from benchmarks.harness import Line

RESULTS = Path(__file__).parent / "results" / "bench.json"


def main() -> None:
    names = [
        m.name.removeprefix("bench_")
        for m in pkgutil.iter_modules(benchmarks.__path__)
        if m.name.startswith("bench_")
    ]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[[], *names], help="run these alone")
    chosen = parser.parse_args().only or names
    for name in chosen:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        lines: list[Line] = []
        for line in module.bench():
            lines.append(line)
            sign = "<=" if line.at_most else ">="
            verdict = "met" if line.met else "MISSED"
            measured = f"ours {line.ours:.4g} {line.unit}, {line.peer_name} {line.peer:.4g} {line.unit}"
            print(
                f"{name}: {line.name}: {measured}: ratio {line.ratio:.3g} (goal {sign} {line.goal:g}: {verdict})"
            )
        # Read the file only now, because another bench may have written to it meanwhile.
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[name] = {
            "python": platform.python_version(),
            "command": f"python -m benchmarks {name}",
            "lines": [{**asdict(line), "ratio": line.ratio, "met": line.met} for line in lines],
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
