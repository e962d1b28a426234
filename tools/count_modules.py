"""`python -m tools.count_modules [COMMAND]`: how many modules of turnwise one run of a command passes through.

Each command runs in its own process on small fixed inputs under `sys.setprofile`. A module counts when one of its
functions is called; what runs while a module is imported does not count.
Commands: score, meta, ope, attack, rate-export. `--list` also prints the modules. PYTHONPATH selects the tree that is
measured, so two versions can be compared.
"""

import argparse
import contextlib
import io
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any

COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "score": lambda folder: ["score", str(folder / "demo.jsonl"), "-m", "bleu-4", *_to(folder)],
    "meta": lambda folder: ["meta", str(folder / "demo.jsonl"), "-m", "length", *_to(folder)],
    "ope": lambda folder: [
        *("ope", str(folder / "logs.jsonl"), "--target", "noise-03", "--rating", "reward"),
        *("--model", "hashing", *_to(folder)),
    ],
    "attack": lambda folder: [
        *("attack", "length", "--contexts", str(folder / "demo.jsonl")),
        *("--count", "40", "--budget", "500", *_to(folder)),
    ],
    "rate-export": lambda folder: [
        *("rate", str(folder / "demo.jsonl"), "--export", str(folder / "rated.jsonl")),
    ],
}


def _to(folder: Path) -> tuple[str, ...]:
    return ("-o", str(folder / "out"), "-q")


def prepare(folder: Path, command: str) -> None:
    """Write the inputs: the demo corpus; logs of 8 simulated agents for `ope`; three ratings for `rate-export`."""
    demo = folder / "demo.jsonl"
    shutil.copyfile(str(resources.files("turnwise") / "data" / "demo.jsonl"), demo)
    if command == "ope":
        made = ["simulate", "booking", "--agents", "8", "--dialogues", "30", "--samples", "2", "--truth", "2"]
        subprocess.run(
            [sys.executable, "-m", "turnwise", *made, "-o", str(folder / "logs.jsonl"), "-q"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    if command == "rate-export":
        _rate(folder)


def _rate(folder: Path) -> None:
    """Serve the demo corpus to one rater, who rates three replies."""
    import httpx2

    from tests.visitor import Visitor

    asked = ["rate", "demo.jsonl", "--raters", "anna", "--port", "0"]
    server = subprocess.Popen(
        [sys.executable, "-m", "turnwise", *asked], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        if server.stdout is None:
            raise RuntimeError("no output from `turnwise rate`")
        base = server.stdout.readline().split()[1].split("/admin/")[0]
        link = server.stdout.readline().split()[1]
        with httpx2.Client(base_url=base, follow_redirects=True) as client:
            visitor = Visitor(client, link)
            visitor.send()
            for _ in range(3):
                time.sleep(0.06)  # the server refuses faster ratings
                visitor.send({"q0": "3"})
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


def call(args: list[str]) -> int:
    """Run one command line without its output; return the exit code."""
    from turnwise.cli.common.group import run

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run(args)
    if code not in (0, 4):  # 4: an estimate was refused, which is a result
        raise SystemExit(f"turnwise {' '.join(args)} ended with {code}:\n{said.getvalue()}")
    return code


def modules_called(args: list[str]) -> set[str]:
    """Modules of turnwise, as paths inside the package, whose functions `args` calls."""
    root = str(resources.files("turnwise")) + "/"
    found: set[str] = set()
    importing = 0  # module bodies that are running

    def note(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing and code.co_filename.startswith(root):
            found.add(code.co_filename.removeprefix(root))

    sys.setprofile(note)
    try:
        call(args)
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", nargs="?", choices=COMMANDS, help="default: each, in a process of its own")
    parser.add_argument("--list", action="store_true", help="print the modules too")
    options = parser.parse_args()
    if options.command is None:  # caches that one command fills must not hide calls of the next
        for command in COMMANDS:
            listed = ["--list"] if options.list else []
            subprocess.run([sys.executable, "-m", "tools.count_modules", command, *listed], check=True)
        return
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), options.command)
        found = modules_called(COMMANDS[options.command](Path(name)))
    print(f"{options.command:12} {len(found):4}", flush=True)
    if options.list:
        print("\n".join(f"    {path}" for path in sorted(found)))


if __name__ == "__main__":
    main()
