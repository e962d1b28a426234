"""Runs code of other packages, so that it can neither end the process nor write into the results.

Every call of a plugin goes through `plugin_code`: its import, the making of its object, its methods and its
properties. Inside, what is printed on standard output appears on standard error, and an exception that would end the
process, such as that of `sys.exit`, becomes `PluginExit`. `described` puts an exception into one line, with the file
and the line of the plugin where it was raised. With `TRACEBACKS` in the environment, which -v sets, the whole traceback
is printed too.
"""

import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from turnwise.errors import TurnwiseError
from turnwise.terminal import say

TRACEBACKS = "TURNWISE_TRACEBACKS"  # an environment variable, because worker processes inherit it
SLOW = 5.0  # seconds after which a message says whose code is still running
_LONGEST = 300  # characters of a foreign exception's message that are shown


class PluginExit(Exception):
    """Raised in place of `SystemExit` in a plugin, which would end the process."""

    def __init__(self, error: SystemExit) -> None:
        super().__init__(f"called sys.exit({error.code!r})")


@contextmanager
def plugin_code(waiting: str = "") -> Iterator[None]:
    """Run the code of a plugin; see the top of this module. Interrupts by the user pass through unchanged.

    `waiting` says what goes on, such as an import; it is printed on standard error if that takes longer than `SLOW`.
    """
    late = threading.Timer(SLOW, say, (f"note: {waiting}",), {"err": True}) if waiting else None
    if late is not None:
        late.daemon = True
        late.start()
    _Stdout.enter()
    try:
        yield
    except (TurnwiseError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if TRACEBACKS in os.environ:
            _print_traceback(error)
        if isinstance(error, SystemExit):
            raise PluginExit(error) from error
        raise
    finally:
        _Stdout.leave()
        if late is not None:
            late.cancel()


class _Stdout:
    """Stands for `sys.stdout` while a plugin runs: its output goes to standard error, all other output to the original.

    Agents run in threads, and a thread that takes too long is abandoned, so `sys.stdout` cannot just be exchanged for
    the time of a call. Output is a plugin's if its thread runs one, or if it comes from a thread that is not the main
    one while a plugin runs: a plugin may start threads.
    """

    _lock = threading.Lock()
    _running = 0  # calls of plugins in all threads
    _here = threading.local()  # `depth`: calls of plugins in this thread

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        """The attribute of the stream that this thread's output goes to."""
        return getattr(self._stream(), name)

    def write(self, text: str) -> int:
        """Write a text to the stream that this thread's output goes to."""
        return int(self._stream().write(text))

    def _stream(self) -> Any:
        inside = getattr(self._here, "depth", 0) > 0
        started = self._running > 0 and threading.current_thread() is not threading.main_thread()
        return sys.stderr if inside or started else self._original

    @classmethod
    def enter(cls) -> None:
        """Count a call of a plugin in this thread; the first one puts an instance in the place of `sys.stdout`."""
        cls._here.depth = getattr(cls._here, "depth", 0) + 1
        with cls._lock:
            cls._running += 1
            if not isinstance(sys.stdout, cls):
                sys.stdout = cls(sys.stdout)

    @classmethod
    def leave(cls) -> None:
        """Count the end of a call; the last one restores `sys.stdout`."""
        cls._here.depth -= 1
        with cls._lock:
            cls._running -= 1
            if not cls._running and isinstance(sys.stdout, cls):
                sys.stdout = sys.stdout._original


def described(error: BaseException, module: str = "") -> str:
    """The type and the message of an exception in one line, the message cut to 300 characters.

    `module` is the name of the plugin's module: the last line of its package that the exception passed is named.
    """
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3]}..."
    if not isinstance(error, PluginExit):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    where = place(error, module)
    return f"{text} ({where})" if where else text


def place(error: BaseException, module: str) -> str:
    """The file and the line, `pack/metric.py:12`, of the last line of the package of `module` that an exception passed.

    Empty if it passed none.
    """
    if isinstance(error, PluginExit) and error.__cause__ is not None:
        error = error.__cause__
    package = module.partition(":")[0].partition(".")[0]
    found = ""
    if package == "turnwise":  # our own code, which calls a function of the user
        return found
    for frame, line in traceback.walk_tb(error.__traceback__):
        if package and str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
            found = f"{_file(frame)}:{line}"
    return found


def _file(frame: FrameType) -> str:
    """The file of a frame, from the folder of its top-level package on."""
    path, name = Path(frame.f_code.co_filename), str(frame.f_globals["__name__"])
    depth = name.count(".") + (2 if path.stem == "__init__" else 1)
    return "/".join(path.parts[-depth:])


_printed: set[str] = set()  # the places of tracebacks that were printed


def _print_traceback(error: BaseException) -> None:
    """Print a traceback on standard error, the first time that this kind of exception comes from its line."""
    lines = traceback.format_exception(error)
    *_, last = traceback.walk_tb(error.__traceback__)
    key = f"{type(error).__name__} {last[0].f_code.co_filename}:{last[1]}"
    if key not in _printed:
        _printed.add(key)
        say("".join(lines).rstrip(), err=True)
