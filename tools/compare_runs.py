"""`python -m tools.compare_runs BEFORE AFTER`: do two output folders hold the same results?

For refactorings. `--before REV` in place of the two folders runs `turnwise demo` twice, with the sources of that commit
and with those of this working tree, and compares what the two wrote. The two runs share the models that were fetched,
but no cached vectors.

Every JSON and JSON Lines file is compared value by value, without `origin` (versions, commit), checksums and paths.
Other files are compared line by line if they are text, else by their bytes; the commit in `origin` is masked. The
command prints what differs by kind: numbers and structure, signatures, texts, files that only one folder has, keys that
are missing, and keys that were added. It exits with 1 if anything differs, except for keys that were added.
`--allow-texts`, `--allow-signatures`, `--allow-absent` and `--allow-missing` list a kind and do not fail for it. Two
folders without any file to compare fail too.
"""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from tests import console

ROOT = Path(__file__).parents[1]
IGNORED = ("origin", "sha256", "path")
SHOWN = 20  # differences of each kind that are printed
VECTORS = "vectors.sqlite"  # the file of cached vectors, and the beginning of those beside it

NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")

Kind = Literal["number", "signature", "text", "file", "missing", "added"]
# What each kind of difference is called in the output, and the option that allows it; "" for what never fails.
KINDS: dict[Kind, tuple[str, str | None]] = {
    "number": ("numbers, ids, structure or bytes", None),
    "signature": ("signatures", "signatures"),
    "text": ("texts", "texts"),
    "file": ("files that one folder lacks", "absent"),
    "missing": ("missing keys", "missing"),
    "added": ("added keys", ""),
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
            if key not in before:
                yield Difference("added", f"{place}.{key}", "absent", after[key])
            elif key not in after:
                yield Difference("missing", f"{place}.{key}", before[key], "absent")
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
    """The value of a JSON file, or those of a JSON Lines file as a list."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return json.loads(path.read_text(encoding="utf-8"))


def of_bytes(before: bytes, after: bytes, place: str) -> Iterator[Difference]:
    """The lines that differ in two texts; one difference for the whole if either is not text."""
    try:
        texts = before.decode(), after.decode()
    except UnicodeDecodeError:
        if before != after:
            yield Difference("number", place, f"{len(before)} bytes", f"{len(after)} bytes")
        return
    for number, (one, other) in enumerate(zip_longest(*(text.splitlines() for text in texts)), 1):
        if one != other:
            yield Difference("text", f"{place}:{number}", *_around_difference(one or "", other or ""))


def _around_difference(one: str, other: str) -> tuple[str, str]:
    """The two lines from shortly before the first character that differs."""
    pairs = enumerate(zip(one, other, strict=False))
    first = next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, first - 20)
    return one[start:], other[start:]


def commits(folder: Path) -> set[str]:
    """The commits that the `origin` of any results.json in the folder names."""
    found = (values(path) for path in folder.rglob("results.json"))
    origins = (one.get("origin", {}) for one in found if isinstance(one, dict))
    return {str(origin["commit"]) for origin in origins if origin.get("commit")}


def compare(before: Path, after: Path) -> dict[str, list[Difference]]:
    """The differences of every file that is in one of the folders, by its name in the folder."""
    both = (before, after)
    names = sorted(
        {str(path.relative_to(folder)) for folder in both for path in folder.rglob("*") if path.is_file()}
    )
    hidden = [commits(folder) for folder in both]
    found = {}
    for name in names:
        there = [(folder / name).exists() for folder in both]
        if not all(there):
            found[name] = [Difference("file", name, *("present" if one else "absent" for one in there))]
        elif name.endswith((".json", ".jsonl")):
            found[name] = list(differences(values(before / name), values(after / name), name))
        else:
            contents = (
                _masked((folder / name).read_bytes(), mine) for folder, mine in zip(both, hidden, strict=True)
            )
            found[name] = list(of_bytes(*contents, name))
    return found


def _masked(content: bytes, commits: set[str]) -> bytes:
    """The content without these commits, also where only their first 12 digits are printed."""
    for one in commits:
        content = re.sub(rb"(, commit )?" + re.escape(one[:12]).encode() + rb"[0-9a-f]*", b"", content)
    return content


def demos(revision: str, folder: Path, options: Sequence[str]) -> tuple[Path, Path]:
    """Run the demo with the sources of a commit and with those of the working tree; the folders of their results."""
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", revision, "src"], check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder / "source", filter="data")
    return tuple(
        _demo(sources, folder / name, options)
        for name, sources in (("before", folder / "source" / "src"), ("after", ROOT / "src"))
    )


def _demo(sources: Path, folder: Path, options: Sequence[str]) -> Path:
    """Run the demo of these sources in an empty folder; the folder that it wrote. Raises `SystemExit` if it fails."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(sources), "TURNWISE_CACHE": str(_models(folder / "cache"))}
    command = [sys.executable, "-m", "turnwise", "demo", "-o", "demo", "--quiet", *options]
    with (folder / "log.txt").open("wb") as log:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise SystemExit(
            f"the demo of {sources} ended with {done.returncode}:\n{(folder / 'log.txt').read_text()}"
        )
    return folder / "demo"


def _models(folder: Path) -> Path:
    """A new cache folder with links to everything in the user's own but the vectors."""
    from turnwise.encode.models.catalogue import cache_home

    folder.mkdir()
    own = cache_home()
    for one in own.iterdir() if own.is_dir() else ():
        if not one.name.startswith(VECTORS):
            (folder / one.name).symlink_to(one)
    return folder


def of_docs(revision: str) -> dict[str, list[Difference]]:
    """The differences of what the commands on each page print, as a commit has the page and as the working tree has it.

    An output whose numbers are the same differs in its text alone. A command that only one of the two has is a file
    that the other lacks.
    """
    return {
        page.name: list(_of_page(page.name, _shown(_at(revision, page)), _shown(page.read_text())))
        for page in console.pages()
    }


def _at(revision: str, page: Path) -> str:
    """The text of a page at a commit; empty if it was not there."""
    place = f"{revision}:{page.relative_to(ROOT)}"
    return subprocess.run(
        ["git", "-C", str(ROOT), "show", place], capture_output=True, text=True, check=False
    ).stdout


def _shown(text: str) -> dict[str, list[str]]:
    """Command -> what it prints each time that the page runs it."""
    shown: dict[str, list[str]] = {}
    for kind, block in console.FENCE.findall(text):
        for example in console.examples(block) if kind == "console" else ():
            shown.setdefault(example.command, []).append(example.shown)
    return shown


def _of_page(name: str, before: dict[str, list[str]], after: dict[str, list[str]]) -> Iterator[Difference]:
    """The differences of one page."""
    for command in {**before, **after}:
        both = before.get(command), after.get(command)
        place = f"{name}: {command[:60]}"
        if both[0] is None or both[1] is None:
            yield Difference("file", place, *("present" if one else "absent" for one in both))
        elif both[0] != both[1]:
            numbers = [NUMBER.findall(" ".join(one or ())) for one in both]
            yield Difference("text" if numbers[0] == numbers[1] else "number", place, *both)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the two folders, print the differences, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.compare_runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", type=Path, nargs="*", metavar="BEFORE AFTER", help="two output folders")
    parser.add_argument("--before", metavar="REV", help="run the demo of this commit and of the working tree")
    parser.add_argument("--docs", action="store_true", help="with --before: compare the pages too")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="with --before: keep the two runs in this new folder"
    )
    options = [option for _, option in KINDS.values() if option]
    for option in options:
        parser.add_argument(f"--allow-{option}", action="store_true")
    given = parser.parse_args(arguments)
    if len(given.folders) != (0 if given.before else 2):
        parser.error("give two folders, or --before REV alone")
    with ExitStack() as stack:
        if given.before:
            folder = given.keep or Path(stack.enter_context(TemporaryDirectory()))
            folder.mkdir(parents=True, exist_ok=True)
            before, after = demos(given.before, folder.resolve(), [])
        else:
            before, after = given.folders
        by_file = compare(before, after) | (of_docs(given.before) if given.docs else {})
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
        kind
        for kind, (_, option) in KINDS.items()
        if option is None or (option and not getattr(given, f"allow_{option}"))
    }
    return 1 if any(one.kind in refused for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
