"""How a contract check fails: with one sentence, also under `python -O`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from turnwise.errors import PluginError, TurnwiseError
from turnwise.plugin_code import PluginExit, described, plugin_code

Result = TypeVar("Result")


class ContractError(AssertionError):
    """A plugin does not keep its contract. The message says what does not hold."""


def expect(holds: object, sentence: str) -> None:
    """Raise `ContractError` with this sentence unless `holds`."""
    if not holds:
        raise ContractError(sentence)


def no_problem(problem: str | None) -> None:
    """Raise `ContractError` with the problem where there is one."""
    if problem is not None:
        raise ContractError(problem)


def an_instance(plugin: object) -> None:
    """Raise `ContractError` if a plugin is a class."""
    if isinstance(plugin, type):
        raise ContractError(f"is the class {plugin.__name__}; expected an object of it: {plugin.__name__}()")


@contextmanager
def running(what: str) -> Iterator[None]:
    """Turn an exception of the plugin, also that of `sys.exit`, into a `ContractError` that says during what it was
    raised.
    """
    try:
        with plugin_code():
            yield
    except ContractError:
        raise
    except PluginError as error:  # says what is wrong and with what
        raise ContractError(str(error)) from error
    except Exception as error:
        did = described(error) if isinstance(error, PluginExit) else f"raised {described(error)}"
        raise ContractError(f"{what} {did}") from error


def raises(kind: type[Exception], call: Callable[[], object], sentence: str) -> Exception:
    """The error of this kind that the call raises; `ContractError` where it raises none or another one."""
    try:
        with plugin_code():
            call()
    except kind as error:
        return error
    except TurnwiseError as error:
        raise ContractError(f"{sentence}; it raised {described(error)}") from error
    except Exception as error:
        raise ContractError(f"{sentence}; it raised {described(error)}") from error
    raise ContractError(f"{sentence}; it raised nothing")
