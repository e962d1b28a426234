"""The JSON Schema of results.json, generated from the types of results.

The docstrings of the types are the descriptions in the schema. `python -m tools.make_schemas` writes
`src/turnwise/data/results.schema.json`.
"""

from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from importlib.resources import files
from operator import or_
from typing import Any

import msgspec

from turnwise.records import SCHEMA_VERSION, Document, Part, Record
from turnwise.records.record import is_written
from turnwise.report.documents import document_type, document_types

FILE = "results.schema.json"


def schema() -> dict[str, Any]:
    """The JSON Schema of results.json, draft 2020-12."""
    # By its name, because commands are in a layer above.
    for command in import_module("turnwise.commands").COMMANDS:
        document_type(command)
    kinds = document_types().values()
    made = msgspec.json.schema(reduce(or_, kinds), ref_template="#/$defs/{name}")
    for kind in kinds:
        _require(made, kind, Document)
    for record in _subclasses(Record):
        if record.__name__ in made["$defs"]:  # not the base of several types of results
            _require(made, record, Record)
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"turnwise results.json, version {SCHEMA_VERSION}",
    }
    return {**about, **made}


def _subclasses(kind: type[Record]) -> Iterator[type[Record]]:
    """Yield the types that derive from a type, at any depth."""
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _require(made: dict[str, Any], kind: type[Part], base: type[Part]) -> None:
    """Mark the fields that every object of a base has as required in the definition of this kind."""
    definition = made["$defs"][kind.__name__]
    always = [one.encode_name for one in msgspec.structs.fields(base) if is_written(one)]
    definition["required"] = list(dict.fromkeys([*definition["required"], *always]))


def published() -> str:
    """The text of the schema file in the package."""
    return (files("turnwise.data") / FILE).read_text()


def text() -> str:
    """The generated schema as the text of its file."""
    return msgspec.json.format(msgspec.json.encode(schema(), order="sorted"), indent=1).decode() + "\n"
