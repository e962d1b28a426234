"""The tests mirror the packages: a package's tests are in the folder of the same name."""

from pathlib import Path

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
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
