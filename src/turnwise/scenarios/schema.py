"""The JSON Schema of a file of scenarios, for editors.

`python -m tools.make_schemas` writes `src/turnwise/data/scenarios.schema.json`.
"""

from importlib.resources import files
from typing import Any

import msgspec

from turnwise.scenarios.scenario import ScenarioFile

FILE = "scenarios.schema.json"


def schema() -> dict[str, Any]:
    """The JSON Schema of a file, draft 2020-12: a mapping with `scenarios`, or the list of them alone."""
    made = msgspec.json.schema(ScenarioFile, ref_template="#/$defs/{name}")
    scenarios = {"type": "array", "items": {"$ref": "#/$defs/Scenario"}, "minItems": 1}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "turnwise scenarios"}
    user = ("goal", "turns", "world")  # one of them says what the user says
    made["$defs"]["Scenario"]["anyOf"] = [{"required": [name]} for name in user]
    return {**about, "anyOf": [{"$ref": "#/$defs/ScenarioFile"}, scenarios], "$defs": made["$defs"]}


def published() -> str:
    """The text of the schema file in the package."""
    return (files("turnwise.data") / FILE).read_text()


def text() -> str:
    """The generated schema as the text of its file."""
    return msgspec.json.format(msgspec.json.encode(schema(), order="sorted"), indent=1).decode() + "\n"
