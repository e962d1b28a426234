"""What agents' calls of tools were like."""

from collections.abc import Iterator

from turnwise.report.documents import CompareDocument, ScoreDocument
from turnwise.report.figure import Figure
from turnwise.report.runs import RunOf

HEAD = (
    "agent", "tool", "calls", "dialogues", "errors", "not valid", "repeated", "seconds", "failed first",
    "share of failed dialogues",
)  # fmt: skip


def by_tool(run: RunOf[ScoreDocument | CompareDocument]) -> Iterator[Figure]:
    """A table of the tools, if a metric of tool calls was asked for."""
    records = run.document.tools
    if not records:
        return
    yield Figure(
        kind="tools",
        title="calls by tool",
        meaning="Calls, and how many of them failed, had arguments that the tool's schema does not allow, or repeated "
        "a call with the same arguments. The last columns: failed dialogues in which this tool was the first to fail.",
        notes=(),
        head=HEAD,
        rows=tuple(
            (
                one.agent, one.tool, one.calls, one.dialogues, one.errors, one.invalid, one.repeated, one.latency,
                one.failed_first, one.failed_first_share,
            )
            for one in records
        ),
    )  # fmt: skip
