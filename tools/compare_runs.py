"""`python -m tools.compare_runs BEFORE AFTER`: do two output folders hold the same results?

For refactorings: `turnwise demo -o BEFORE` with the old tree, `-o AFTER` with the new one. Every JSON and JSON Lines
file is compared value by value, without `origin` (versions, commit), checksums and paths. The command prints what
differs by kind: numbers and structure, signatures, texts, and files that only one folder has. It exits with 1 if
anything differs. `--allow-texts`, `--allow-signatures` and `--allow-absent` list a kind and do not fail for it. Two
folders without any file to compare fail too.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

IGNORED = ("origin", "sha256", "path")
SHOWN = 20  # differences of each kind that are printed

Kind = Literal["number", "signature", "text", "file"]
# What each kind of difference is called in the output, and the option that allows it.
KINDS: dict[Kind, tuple[str, str | None]] = {
    "number": ("numbers, ids or structure", None),
    "signature": ("signatures", "signatures"),
    "text": ("texts", "texts"),
    "file": ("files that one folder lacks", "absent"),
}


class Difference(NamedTuple):
    """A place whose values differ."""

    kind: Kind
    place: str
    before: Any
    after: Any


def differences(before: Any, after: Any, place: str) -> Iterator[Difference]:
    """Every difference of two decoded JSON values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key in IGNORED:
                continue
            if key not in before or key not in after:
                yield Difference(
                    "number", f"{place}.{key}", before.get(key, "absent"), after.get(key, "absent")
                )
            else:
                yield from differences(before[key], after[key], f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield Difference("number", f"{place} (length)", len(before), len(after))
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, other, f"{place}[{index}]")
    elif before != after:
        yield Difference(_kind(before, after, place), place, before, after)


def _kind(before: Any, after: Any, place: str) -> Kind:
    if not isinstance(before, str) or not isinstance(after, str):
        return "number"
    return "signature" if place.endswith(".signature") else "text"


def values(path: Path) -> Any:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return json.loads(path.read_text(encoding="utf-8"))


def compare(before: Path, after: Path) -> dict[str, list[Difference]]:
    """The differences of every JSON file that is in one of the folders, by its name in the folder."""
    names = sorted(
        {
            str(path.relative_to(folder))
            for folder in (before, after)
            for path in folder.rglob("*")
            if path.suffix in (".json", ".jsonl")
        }
    )
    found = {}
    for name in names:
        there = [(folder / name).exists() for folder in (before, after)]
        if all(there):
            found[name] = list(differences(values(before / name), values(after / name), name))
        else:
            found[name] = [Difference("file", name, *("present" if one else "absent" for one in there))]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the two folders, print the differences, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.compare_runs", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = [option for _, option in KINDS.values() if option]
    for option in options:
        parser.add_argument(f"--allow-{option}", action="store_true")
    given = parser.parse_args(arguments)
    by_file = compare(given.before, given.after)
    found = [one for several in by_file.values() for one in several]
    for kind, (called, _) in KINDS.items():
        several = [one for one in found if one.kind == kind]
        print(f"{len(several)} differences of {called}")
        for one in several[:SHOWN]:
            print(f"  {one.place}: {str(one.before)[:90]!r} -> {str(one.after)[:90]!r}")
    print(f"{sum(not several for several in by_file.values())} of {len(by_file)} files equal")
    if not by_file:
        print("there is nothing to compare", file=sys.stderr)
        return 1
    refused = {
        kind for kind, (_, option) in KINDS.items() if option is None or not getattr(given, f"allow_{option}")
    }
    return 1 if any(one.kind in refused for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
