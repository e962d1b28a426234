"""How a contract check fails: with one sentence, also under `python -O`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from turnwise.errors import TurnwiseError
from turnwise.registry import described

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


@contextmanager
def running(what: str) -> Iterator[None]:
    """Turn an exception of the plugin into a `ContractError` that says during what it was raised."""
    try:
        yield
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(f"{what} raised {described(error)}") from error


def raises(kind: type[Exception], call: Callable[[], object], sentence: str) -> Exception:
    """The error of this kind that the call raises; `ContractError` where it raises none or another one."""
    try:
        call()
    except kind as error:
        return error
    except TurnwiseError as error:
        raise ContractError(f"{sentence}; it raised {described(error)}") from error
    except Exception as error:
        raise ContractError(f"{sentence}; it raised {described(error)}") from error
    raise ContractError(f"{sentence}; it raised nothing")
