"""What a command comes to: its findings, and the document that is written and printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.errors import REFUSED, UNMEASURED
from turnwise.report import results
from turnwise.run.origin import origin
from turnwise.run.spec import Spec
from turnwise.types import Finding


@dataclass(frozen=True, slots=True)
class Outcome:
    findings: tuple[Finding, ...]
    document: dict[str, Any]  # what stands in results.json

    @property
    def code(self) -> int:
        """The exit code: not 0 only if nothing that was asked could be answered."""
        if any(finding.estimate is not None for finding in self.findings):
            return 0
        return REFUSED if any(finding.status == "refused" for finding in self.findings) else UNMEASURED


def finish(spec: Spec, findings: tuple[Finding, ...], sha256: Mapping[str, str], **sections: Any) -> Outcome:
    """Wrap findings up as the command's document, and write it where the spec says."""
    document = results.document(spec.command, findings, origin(spec, sha256), **sections)
    if spec.output is not None:
        results.write(spec.output / "results.json", document)
    return Outcome(findings, document)
