"""YAML, TOML, JSON Lines and CSV as plain values, with the line of every value of a YAML file.

YAML is read by the core rules of version 1.2: `no`, `on` and dates are texts, and a key twice is an error.
"""

import csv
import io
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

from turnwise.errors import DataError, Problem
from turnwise.logs.files import opened

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """The safe loader of PyYAML with the scalars of YAML 1.2."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _form, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_form), [*_first, ""])


class Placed:
    """The value of a file, and where its parts are."""

    def __init__(self, path: str, value: Any, node: yaml.Node | None = None) -> None:
        self.path, self.value, self._node = path, value, node

    def problem(self, place: str, message: str) -> Problem:
        """A problem at a place such as `$.scenarios[0].id`, with the line of the value there."""
        return Problem(self.path, self._line(place), place, message)

    def _line(self, place: str) -> int | None:
        """The line of the value, or of the nearest one around it; None for a file that is not YAML."""
        node = self._node
        if node is None:
            return None
        line = int(node.start_mark.line) + 1
        for key, index in _STEP.findall(place):
            step = _inside(node, key, index)
            if step is None:
                break
            node = step
            line = int(node.start_mark.line) + 1
        return line


def load(path: str) -> Placed:
    """The value of a YAML, TOML or JSON file, or the records of JSON Lines or CSV.

    What cannot be read raises `DataError` with the place.
    """
    with opened(path) as stream:
        data = stream.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(Problem(path, None, "", f"is not in UTF-8: {error}")) from None
    if path.endswith(".toml"):
        try:
            return Placed(path, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise DataError(Problem(path, None, "", f"is no TOML: {error}")) from None
    if path.endswith(".jsonl"):
        return Placed(
            path, [_record(path, at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip()]
        )
    if path.endswith(".csv"):
        return Placed(path, [_filled(row) for row in csv.DictReader(io.StringIO(text))])
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None:
            _check_keys(path, node)
        value = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(part for part in (error.context, error.problem) if part)
        line = None if mark is None else mark.line + 1
        raise DataError(Problem(path, line, "", f"is no YAML: {words}")) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DataError(Problem(path, None, "", f"is no YAML: {error}")) from None
    return Placed(path, value, node)


def _record(path: str, number: int, line: str) -> Any:
    """A line of JSON Lines."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(Problem(path, number, "", f"is no JSON: {error}")) from None


def _filled(row: Mapping[str | None, Any]) -> dict[str, Any]:
    """The filled cells of a row; a cell with a JSON list or object is this."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        if not name or not isinstance(cell, str) or not cell.strip():
            continue
        try:
            value = json.loads(cell) if cell.strip()[0] in "[{" else cell
        except ValueError:
            value = cell
        found[name] = value
    return found


def _inside(node: yaml.Node, key: str, index: str) -> yaml.Node | None:
    """The node under a key or at an index; None if there is none."""
    if isinstance(node, yaml.MappingNode) and key:
        return next((value for name, value in node.value if name.value == key), None)
    if isinstance(node, yaml.SequenceNode) and index.isdigit() and int(index) < len(node.value):
        inner: yaml.Node = node.value[int(index)]
        return inner
    return None


def _check_keys(path: str, root: yaml.Node) -> None:
    """Raise `DataError` for a mapping that has a key twice, or one that is no text."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        if not isinstance(node, yaml.MappingNode):
            continue
        names = set()
        for name, value in node.value:
            line = name.start_mark.line + 1
            if name.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(name, yaml.ScalarNode) or name.tag != "tag:yaml.org,2002:str":
                shown = name.value if isinstance(name, yaml.ScalarNode) else "a list or mapping"
                raise DataError(
                    Problem(path, line, "", f"has the key {shown}, which is no text: put it in quotes")
                )
            if name.value in names:
                raise DataError(Problem(path, line, "", f"has the key `{name.value}` twice in one mapping"))
            names.add(name.value)
            waiting.append(value)
