"""Functions of the user as the tools of a scenario."""

from pathlib import Path

import pytest

from turnwise.errors import UsageError
from turnwise.run.play.toolbox import tool_functions
from turnwise.scenarios.scenario import Scenario, Tool


def test_a_module_that_cannot_be_imported_is_an_error_whatever_its_error_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario(id="s", goal="x", tools=[Tool(name="book", results=["done"])])
    (tmp_path / "other_tools.py").write_text("def pay():\n    return 1\n")
    (tmp_path / "broken_tools.py").write_text("raise RuntimeError('the library has no function connect')\n")
    monkeypatch.chdir(tmp_path)
    assert tool_functions([scenario], "other_tools") == {}
    with pytest.raises(UsageError, match=r"cannot import the tool `broken_tools:book`"):
        tool_functions([scenario], "broken_tools")
