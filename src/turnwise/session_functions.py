"""Python functions that a call is given as they are, as a metric, an agent or a judge: each gets a name of its own.

A function that other processes can import is named as on a command line, `module:function`. One of a notebook, of
standard input or without a name is kept here, under `own:NAME`, for this process alone; its source, or its code where
there is no source, and what it has captured take the place of its file.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import CodeType
from typing import Any

from turnwise.errors import UsageError

HERE = "own"  # in place of a module's name
ANONYMOUS = "<lambda>"
Function = Callable[..., Any]

_functions: dict[str, "SessionFunction"] = {}  # name -> function


class SessionFunction:
    """A function of this process, which cannot be sent to another one."""

    def __init__(self, function: Function, name: str, source: bytes) -> None:
        self.function, self.name, self.source = function, name, source
        self.__signature__ = _signature(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> Any:
        """As `pickle` asks: `UsageError`, since another process has no such function."""
        raise UsageError(
            f"`{self.name}` is a function of this session, which worker processes cannot import: write it into a file "
            "and name it as module:function, or use one job"
        )


def named(function: Any) -> str:
    """The name under which a function is known from now on; the same function has the same name.

    A class, and anything that cannot be called, raise `UsageError`.
    """
    if inspect.isclass(function) or not callable(function):
        what = f"the class `{function.__name__}`" if inspect.isclass(function) else repr(function)
        raise UsageError(
            f"{what} is no function; make an object of it that can be called, or give a function"
        )
    plain = str(getattr(function, "__name__", None) or type(function).__name__)
    home = getattr(function, "__module__", None) or "__main__"
    if home != "__main__" and getattr(sys.modules.get(home), plain, None) is function:
        return f"{home}:{plain}"
    base, source = f"{HERE}:{'lambda' if plain == ANONYMOUS else plain}", source_of(function)
    name, number = base, 1
    while name in _functions and _functions[name].source != source:
        number += 1
        name = f"{base}-{number}"
    _functions[name] = SessionFunction(function, name, source)
    return name


def known(name: str) -> SessionFunction | None:
    """The function of this session with this name; None for a name of another kind."""
    if not name.startswith(f"{HERE}:"):
        return None
    function = _functions.get(name)
    if function is None:
        raise UsageError(f"`{name}` is no function of this session; give the function itself in its place")
    return function


def source_of(function: Function) -> bytes:
    """What tells two versions of a function apart: its source, or its code, and the values that it captured."""
    inner = inspect.unwrap(getattr(function, "func", function))
    try:
        text = inspect.getsource(inner if inspect.isroutine(inner) else type(inner))
    except (OSError, TypeError):
        text = ""
    # Several lambdas may stand in one line of the source.
    code = _code(getattr(inner, "__code__", None)) or ("" if text else repr(inner))
    cells = [cell.cell_contents for cell in getattr(inner, "__closure__", None) or () if _filled(cell)]
    bound = (
        getattr(function, "args", ()),
        getattr(function, "keywords", {}),
        getattr(inner, "__defaults__", None),
    )
    held = None if inspect.isroutine(inner) else vars(inner) if hasattr(inner, "__dict__") else None
    return repr((text, code, cells, bound, held)).encode()


def _code(code: CodeType | None) -> Any:
    """What a function does, without where it stands; None for one that is not written in Python."""
    if code is None:
        return None
    constants = [_code(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, constants, code.co_names


def _filled(cell: Any) -> bool:
    """Whether a captured variable has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _signature(function: Function) -> inspect.Signature | None:
    """The parameters of a function; None if Python cannot tell."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def finished(returned: Any) -> Any:
    """What a function returned: of an async function, and of a list of awaitables, what they come to.

    They run in a thread of their own, because a notebook runs an event loop already.
    """
    if inspect.isawaitable(returned):
        return _run(returned)
    if isinstance(returned, list | tuple) and any(map(inspect.isawaitable, returned)):
        return _run(_all(returned))
    return returned


def _run(awaited: Awaitable[Any]) -> Any:
    """The value of an awaitable."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _value(awaited)).result()


async def _value(awaited: Awaitable[Any]) -> Any:
    """The value of an awaitable, as a coroutine."""
    return await awaited


async def _all(values: Any) -> list[Any]:
    """The values of a list in which some are awaitables; these run at once."""

    async def value(one: Any) -> Any:
        return await one if inspect.isawaitable(one) else one

    return list(await asyncio.gather(*map(value, values)))
