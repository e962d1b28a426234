"""The contract of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from turnwise.conformance.plugins import dialogues_problem, reader_problem
from turnwise.errors import DataError, Problem, TurnwiseError
from turnwise.logs.conversion import checked
from turnwise.logs.readers.source import Options
from turnwise.plugin_code import described, plugin_code
from turnwise.testing.expect import ContractError, expect, no_problem, raises, running
from turnwise.types import Dialogue

Read = Callable[[str, Options], Iterator[Dialogue]]


def check_reader(
    read: Read,
    path: str | PathLike[str],
    *,
    malformed: str | PathLike[str] | None = None,
    options: Options | None = None,
) -> None:
    """Check that a reader keeps its contract; raises `ContractError` with one sentence where it does not.

    Parameters:
        read: The function of a path and options that yields dialogues.
        path: A file or folder in the reader's format.
        malformed: One with a mistake in it; the reader must raise `DataError` with the name of the file.
        options: What a user may say about a source. Default: nothing.
    """
    no_problem(reader_problem(read))
    options = options or Options()
    source = fspath(path)
    with running(f"reading {source}"):
        first = list(_dialogues(read, source, options))
        again = list(_dialogues(read, source, options))
    expect(first, f"no dialogue was read from {source}")
    expect(first == again, f"{source} was read twice, and the dialogues differ")
    try:
        list(checked(iter(first), source))
    except TurnwiseError as error:
        rule = str(_without_advice(error))
        raise ContractError(f"what was read breaks the rules of the native format: {rule}") from error
    absent = Path(source).with_name("no-such-file")
    try:
        with plugin_code():
            list(read(str(absent), options))
    except (OSError, TurnwiseError):
        pass
    except Exception as error:
        raise ContractError(
            f"a file that does not exist raised {described(error)}; expected OSError"
        ) from error
    else:
        raise ContractError("a file that does not exist was read without an error")
    if malformed is not None:
        wrong = fspath(malformed)
        sentence = f"malformed input ({wrong}) must raise turnwise.plugins.DataError"
        complaint = str(raises(DataError, lambda: list(read(wrong, options)), sentence))
        expect(Path(wrong).name in complaint, f"the message `{complaint}` does not name the file {wrong}")
        expect("\n" not in complaint, "the message for malformed input has several lines; expected one")


def _dialogues(read: Read, path: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues that a reader yields; `ContractError` for anything else."""
    found = read(path, options)
    no_problem(dialogues_problem(found))
    for number, dialogue in enumerate(found, 1):
        kind: object = dialogue
        expect(
            isinstance(kind, Dialogue),
            f"dialogue {number} is a {type(dialogue).__name__}; expected a turnwise.plugins.Dialogue",
        )
        yield dialogue


def _without_advice(error: TurnwiseError) -> TurnwiseError:
    """The error without options of commands that would help."""
    if not isinstance(error, DataError):
        return error
    return DataError(
        *(replace(one, advice="") if isinstance(one, Problem) else one for one in error.problems)
    )
