"""The outcome of a run: its findings, and the document that is written and printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.report import results
from turnwise.run.origin import origin
from turnwise.run.spec import Spec
from turnwise.types import Finding


@dataclass(frozen=True, slots=True)
class Outcome:
    findings: tuple[Finding, ...]
    document: dict[str, Any]  # the content of results.json


def finish(spec: Spec, findings: tuple[Finding, ...], sha256: Mapping[str, str], **sections: Any) -> Outcome:
    """Make the document of these findings, and write it to the output folder of the spec."""
    document = results.document(spec.command, findings, origin(spec, sha256), **sections)
    if spec.output is not None:
        results.write(spec.output / "results.json", document)
    return Outcome(findings, document)
