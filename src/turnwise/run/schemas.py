"""The JSON Schemas of the files that people write and programs read: `turnwise ls schemas`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Schema(NamedTuple):
    """What a schema describes, and what makes it."""

    says: str
    make: Callable[[], dict[str, Any]]


def _config() -> dict[str, Any]:
    """Of turnwise.toml. Commands are in a layer above, so they are imported by their names, as web is below."""
    from turnwise.settings.schema import config_schema

    names = import_module("turnwise.commands").COMMANDS
    return config_schema(import_module(f"turnwise.commands.{name}").COMMAND for name in names)


def _rubric() -> dict[str, Any]:
    """Of a rubric, or of several in tables [rubric.NAME]."""
    from turnwise.metrics.judge.rubric import Rubric

    made = msgspec.json.schema(Rubric, ref_template="#/$defs/{name}")
    several = {
        "type": "object",
        "properties": {"rubric": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Rubric"}}},
        "required": ["rubric"],
        "additionalProperties": False,
    }
    one = {"$ref": "#/$defs/Rubric"}
    return {"$schema": DRAFT, "title": "turnwise rubric", "anyOf": [one, several], "$defs": made["$defs"]}


def _study() -> dict[str, Any]:
    """Of a study of `rate`."""
    study = import_module("turnwise.web.study.definition").Study
    made = msgspec.json.schema(study, ref_template="#/$defs/{name}")
    return {"$schema": DRAFT, "title": "turnwise study", **made}


def _published(module: str) -> Callable[[], dict[str, Any]]:
    """A schema that the package has as a file."""

    def read() -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(import_module(module).published())
        return found

    return read


SCHEMAS: Mapping[str, Schema] = {
    "config": Schema("turnwise.toml, and files of --config", _config),
    "rubric": Schema("a rubric of the judge", _rubric),
    "study": Schema("a study of `rate`", _study),
    "scenarios": Schema("scenarios of `play`", _published("turnwise.scenarios.schema")),
    "dialogue": Schema("a line of a file of dialogues", _published("turnwise.logs.schema")),
    "results": Schema("results.json", _published("turnwise.report.schema")),
}
