"""The tests mirror the packages: a package's tests are in the folder of the same name."""

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from turnwise.commands import COMMANDS

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "turnwise"
ACROSS = {
    "contract",
    "differential",
    "e2e",
    "fixtures",
    "golden",
    "papers",
    "property",
}  # see CONTRIBUTING.md
# Commands that nothing in tests/commands is about -> the tests of what each does; a new command has its own there.
TESTED_ELSEWHERE = {
    "convert": "e2e/test_validate_convert.py",
    "diff": "run/scoring/test_diff.py",
    "export": "run/test_exported_scores.py",
    "ope": "e2e/test_ope.py",
    "reliability": "run/scoring/test_reliability.py",
    "respond": "e2e/test_responding.py",
    "simulate": "run/dialogues/test_simulate.py",
    "train": "e2e/test_train.py",
}
PACKAGES = {path.parent for path in PACKAGE.rglob("__init__.py")} - {PACKAGE}


def test_every_folder_of_tests_is_that_of_a_package_or_cuts_across_them():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")} - {Path()}
    mirrored = {folder.relative_to(PACKAGE) for folder in PACKAGES}
    assert {one for one in folders if one not in mirrored and one.parts[0] not in ACROSS} == set()


def test_every_package_with_modules_has_tests_in_its_folder():
    of_modules = [folder for folder in PACKAGES if any(one.stem != "__init__" for one in folder.glob("*.py"))]
    folders = [folder.relative_to(PACKAGE) for folder in of_modules]
    assert [folder for folder in folders if not any((TESTS / folder).glob("test_*.py"))] == []


def test_names_of_test_files_differ():
    by_name: dict[str, list[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        by_name.setdefault(path.name, []).append(str(path.relative_to(TESTS)))
    assert [places for places in by_name.values() if len(places) > 1] == []


def about(name: str) -> str:
    """A pattern of what a test of a command has: its module, its function or its name on a command line."""
    kind = getattr(import_module(f"turnwise.commands.{name}"), "COMMAND", None)
    called = rf"|tw\.{kind.public_name()}\b" if kind else ""
    return rf"""commands\.{name}\b|[\[(, ]"{name}",{called}"""


def without_a_test(commands: Iterable[str]) -> set[str]:
    """The commands that no test in tests/commands is about."""
    texts = {path.name: path.read_text() for path in (TESTS / "commands").glob("test_*.py")}
    every = "\n".join(texts.values())
    return {name for name in commands if f"test_{name}.py" not in texts and not re.search(about(name), every)}


def test_every_command_has_a_test():
    assert without_a_test(COMMANDS) == set(TESTED_ELSEWHERE)
    for name, path in TESTED_ELSEWHERE.items():
        assert re.search(about(name), (TESTS / path).read_text()), name


def test_a_command_that_no_test_names_is_found():
    assert without_a_test(["opening", "ls"]) == {"opening"}  # a module of `commands` that no test there names
