"""`make bench [ONLY=name]`: run all bench modules, print one table and write benchmarks/results/bench.json.

`python -m tools.make_speed` makes docs/speed.md from the same lines.
"""

import argparse
import importlib
import json
import pkgutil
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import benchmarks
from benchmarks.harness import Line, table

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
    measured: list[tuple[str, Line]] = []
    for name in chosen:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        lines: list[Line] = []
        for line in module.bench():
            lines.append(line)
            print(f"{name}: {line.name}: {'met' if line.met else 'MISSED'}", file=sys.stderr, flush=True)
        measured += [(name, line) for line in lines]
        # Read the file only now, because another bench may have written to it meanwhile.
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[name] = {
            "python": platform.python_version(),
            "command": f"python -m benchmarks {name}",
            "lines": [{**asdict(line), "ratio": line.ratio, "met": line.met} for line in lines],
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    print("\n".join(" | ".join(row) for row in table(measured)))


if __name__ == "__main__":
    main()
