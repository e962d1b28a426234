"""`python -m tools.compare_runs BEFORE AFTER`: do two output folders hold the same results?

For refactorings: `turnwise demo -o BEFORE` with the old tree, `-o AFTER` with the new one. Every `results.json` is
compared without `origin` (versions, commit, paths); every other JSON and JSON Lines file value by value. Prints each
path that differs, numbers first, and exits with 1 if a number, an id or a structure differs; texts that differ are
listed and counted.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

IGNORED = ("origin", "sha256", "path", "signature")  # a signature may name a version of the code
SHOWN = 20  # differences of each kind that are printed


def differences(before: Any, after: Any, place: str) -> Iterator[tuple[str, str, Any, Any]]:
    """The kind ("number" or "text"), place and both values of every difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key in IGNORED:
                continue
            if key not in before or key not in after:
                yield "number", f"{place}.{key}", before.get(key, "absent"), after.get(key, "absent")
            else:
                yield from differences(before[key], after[key], f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield "number", f"{place} (length)", len(before), len(after)
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, other, f"{place}[{index}]")
    elif before != after:
        yield "text" if isinstance(before, str) and isinstance(after, str) else "number", place, before, after


def values(path: Path) -> Any:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return json.loads(path.read_text())


def main() -> int:
    before, after = map(Path, sys.argv[1:3])
    names = {
        str(path.relative_to(folder))
        for folder in (before, after)
        for path in folder.rglob("*")
        if path.suffix in (".json", ".jsonl")
    }
    found: list[tuple[str, str, Any, Any]] = []
    equal = 0
    for name in sorted(names):
        if not (before / name).exists() or not (after / name).exists():
            print(f"only in {'after' if (after / name).exists() else 'before'}: {name}")
            continue
        here = list(differences(values(before / name), values(after / name), name))
        equal += not here
        found += here
    for kind in ("number", "text"):
        several = [one for one in found if one[0] == kind]
        print(f"{len(several)} differences of {kind}s")
        for _, place, one, other in several[:SHOWN]:
            print(f"  {place}: {str(one)[:90]!r} -> {str(other)[:90]!r}")
    print(f"{equal} of {len(names)} files equal")
    return 1 if any(kind == "number" for kind, *_ in found) else 0


if __name__ == "__main__":
    sys.exit(main())
