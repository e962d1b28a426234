"""A `turnwise` for tests that starts at once: a server that has loaded its modules forks for each call.

Pages and tests run a thousand short commands in a shell, and most of their time would be that of importing numpy and
our own modules. `warm_path()` is a folder with an executable `turnwise`, to be put first on PATH. It hands its
arguments, environment, working folder and open files to the server, whose forked child runs the command as a process
of its own. Where the environment would change the start of Python itself it runs the installed program instead.
Start-up and signals are tested with the installed program (tests/e2e/test_start.py, test_bad_days.py).
"""

import atexit
import contextlib
import importlib
import io
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# What Python, numpy and the terminal read when a process begins; with another value the installed program runs.
AT_START = ("PYTHON", "LANG", "LC_", "OMP_", "OPENBLAS_", "MALLOC_", "HF_", "VIRTUAL_ENV")
PATHS = ["", str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]  # that a command may lack
CLIENT = """#!{python} -SE
import array, json, os, socket, sys
here = {{name: os.environ[name] for name in os.environ if name.startswith({start!r}) and name != "PYTHONPATH"}}
if here != {known!r}:
    os.execv({installed!r}, ["turnwise", *sys.argv[1:]])
request = json.dumps({{"args": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    code = server.recv(1)
sys.exit(code[0] if code else 70)
"""


@cache
def warm_path() -> str:
    """The folder of the quick `turnwise`; the server ends with this process. Empty where there are no such sockets."""
    installed = Path(sys.executable).parent / "turnwise"
    if not hasattr(socket, "send_fds") or not installed.exists():
        return ""
    folder = tempfile.TemporaryDirectory(prefix="warm-")  # lives as long as this process
    address = str(Path(folder.name) / "socket")
    server = subprocess.Popen(
        [sys.executable, "-c", "from tests.warm_start import serve; import sys; serve(sys.argv[1])", address],
        cwd=ROOT,
        stdin=subprocess.PIPE,  # its end tells the server that this process has ended
        stdout=subprocess.PIPE,
    )
    atexit.register(_end, server, folder)
    assert server.stdout is not None
    with server.stdout:
        if server.stdout.readline() != b"ready\n":
            raise RuntimeError("the server of quick commands did not start")
    client = Path(folder.name) / "turnwise"
    known = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(AT_START) and name != "PYTHONPATH"
    }
    client.write_text(
        CLIENT.format(
            python=sys.executable, start=AT_START, known=known, installed=str(installed), address=address
        )
    )
    client.chmod(0o755)
    return folder.name


def quick_turnwise() -> list[str]:
    """The words that begin a command line: the quick `turnwise`, or the installed one where there is none."""
    return [str(Path(warm_path()) / "turnwise")] if warm_path() else [sys.executable, "-m", "turnwise"]


def _end(server: subprocess.Popen[bytes], folder: "tempfile.TemporaryDirectory[str]") -> None:
    """Close the server's standard input, at which it ends."""
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    folder.cleanup()


def serve(address: str) -> None:
    """Load what commands need, and run each request in a forked child until standard input is closed."""
    _preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen(16)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if sys.stdin in ready:
                return
            client, _ = listener.accept()
            if not os.fork():
                listener.close()
                _answer(client)
            client.close()


def _preload() -> None:
    """Import our modules that need no torch, what they import inside functions, and torch, which half of them need."""
    import turnwise

    # A package that needs an extra which is not installed is passed over.
    for found in pkgutil.walk_packages(turnwise.__path__, "turnwise.", onerror=lambda _: None):
        if found.name.split(".")[1] in (
            "cli",
            "library",
            "report",
            "meta",
            "logs",
            "stats",
            "ratings",
            "errors",
        ):
            importlib.import_module(found.name)
    for name in (
        "scipy.sparse", "scipy.special", "threadpoolctl", "rich.table", "jinja2", "turnwise.run.scoring.score",
        "turnwise.run.scoring.meta", "turnwise.run.scoring.compare", "turnwise.metrics.reference",
        "turnwise.metrics.features", "torch", "safetensors.torch", "tokenizers",
    ):  # fmt: skip
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)


def _answer(client: socket.socket) -> None:
    """Run the request as the main program of this process, send its exit code, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 70
    try:
        request = _received(client)
        code = _run(request)
    finally:
        with contextlib.suppress(OSError):
            client.sendall(bytes([code & 255]))
        os._exit(code)


def _received(client: socket.socket) -> dict[str, Any]:
    """The request; its three files become the standard ones of this process."""
    size, files, _, _ = socket.recv_fds(client, 8, 3)
    wanted, data = int.from_bytes(size, "big"), b""
    while len(data) < wanted:
        data += client.recv(wanted - len(data))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    request: dict[str, Any] = json.loads(data)
    return request


def _run(request: dict[str, Any]) -> int:
    """The exit code of the command."""
    os.chdir(request["folder"])  # before the paths, which may be relative
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = ["turnwise", *request["args"]]
    own = [path for path in request["environment"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*map(os.path.abspath, own), *(path for path in sys.path if path not in PATHS)]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # as long as the process
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, "wb", closefd=False), errors=errors, line_buffering=number == 2)
        for number, errors in ((1, "strict"), (2, "backslashreplace"))
    )
    from turnwise.cli import main

    try:
        main()
        code: Any = 0
    except SystemExit as leaving:
        code = leaving.code
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    return code if isinstance(code, int) else int(code is not None)
