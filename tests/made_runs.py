"""Finished runs with the few keys of their results that a test is about."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from turnwise.report.documents import document_types
from turnwise.report.run_files import StoredFiles
from turnwise.report.runs import RunOf

EMPTY: tuple[Any, ...] = (None, "", 0, False, [], {})


def made_run(command: str, *records: Mapping[str, Any], name: str = "x", **sections: Any) -> RunOf[Any]:
    """A run of this command, with required keys that the test does not give filled with nothing."""
    kind = document_types()[command]
    given = {"command": command, "schema_version": 1, "results": list(records), **sections}
    return RunOf(name, StoredFiles(Path(name)), msgspec.convert(completed(kind, given), kind))


def completed(kind: Any, given: Any) -> Any:
    """The value with nothing for each required key of its type that it lacks, at any depth."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(given, Mapping):
        fields = {one.encode_name: one for one in msgspec.structs.fields(kind)}
        absent = {
            name: nothing(one.type) for name, one in fields.items() if one.required and name not in given
        }
        there = {
            name: completed(fields[name].type, part) if name in fields else part
            for name, part in given.items()
        }
        return {**absent, **there}
    inner = get_args(kind)
    if get_origin(kind) is dict and isinstance(given, Mapping):
        return {name: completed(inner[1], part) for name, part in given.items()}
    if get_origin(kind) is tuple and isinstance(given, list | tuple) and inner[-1] is ...:
        return [completed(inner[0], part) for part in given]
    structs = [
        one
        for one in inner
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and isinstance(given, Mapping)
    ]
    return completed(structs[0], given) if structs else given


def nothing(kind: Any) -> Any:
    """An empty value of this type."""
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    for empty in EMPTY:
        try:
            msgspec.convert(empty, kind)
        except msgspec.ValidationError:
            continue
        return empty
    return completed(kind, {})
