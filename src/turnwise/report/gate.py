"""Gates: conditions on findings, such as `bleu-4 >= 2`, that set the exit code.

A gate holds if the whole interval of the finding satisfies it: `>=` and `>` compare the lower bound, `<=` and `<` the
upper bound. Without an interval the gate fails. Bounds that differ by rounding error only are equal.

On a difference, `bleu-4 no-worse 2` holds if the first agent, or the new run, is shown to be worse by less than 2,
whichever end of the metric is good, and `bleu-4 equal 2` if both are shown to be less than 2 apart. Without a number
the margin of the run (--margin) is meant.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from xml.etree import ElementTree

from turnwise.errors import UsageError
from turnwise.records import AgreementRecord, Interval, Number, Tested, both_ends
from turnwise.terminal import visible

ROUNDING = 1e-9  # relative tolerance of comparisons
PATTERN = re.compile(
    r"^\s*(?P<name>\S+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*$"
)

NO_WORSE, EQUAL = "no-worse", "equal"
MARGIN_PATTERN = re.compile(
    rf"^\s*(?P<name>\S+)\s+(?P<sign>{NO_WORSE}|{EQUAL})(\s+(?P<bound>[\d.]+(?:[eE][-+]?\d+)?))?\s*$"
)


class Gated(Protocol):
    """What a gate reads of a result."""

    @property
    def about(self) -> Mapping[str, str]:
        """What the number is about: metric, agent, group, ..."""

    @property
    def gate_names(self) -> tuple[str, ...]:
        """The names by which a gate can mean this result."""

    @property
    def undefined(self) -> bool:
        """Whether the metric has no number at this level by its nature."""

    @property
    def estimate(self) -> Number:
        """The number; None if there is none."""

    @property
    def interval(self) -> Interval:
        """The interval of the number; None if there is none."""

    @property
    def reason(self) -> str | None:
        """Why there is no number."""

    @property
    def method(self) -> str:
        """How the interval was made, or why there is none."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a gate holds for one finding, with an explanation in words."""

    gate: str
    about: str  # describes the finding
    passed: bool
    explanation: str

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}  {self.gate}  ({self.about}): {self.explanation}"


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition on the findings of one metric."""

    text: str
    name: str
    sign: str
    bound: float | None  # None: the margin of the run

    @classmethod
    def parse(cls, text: str) -> "Gate":
        """The gate of a text such as `bleu-4 >= 2` or `bleu-4 no-worse 2`; raises `UsageError` for any other form."""
        match = PATTERN.match(text) or MARGIN_PATTERN.match(text)
        try:
            bound = float(match["bound"]) if match and match["bound"] else None
        except ValueError:
            match = None
        if match is None:
            raise UsageError(
                f"`{text}` is not a gate; write for example 'bleu-4 >= 2', or of a difference 'bleu-4 no-worse 2'"
            )
        return cls(text.strip(), match["name"], match["sign"], bound)

    def verdicts(self, findings: Sequence[Gated]) -> list[Verdict]:
        """One verdict for each finding of the metric, except at levels at which the metric is undefined.

        Raises `UsageError` if no finding is left.
        """
        named = [finding for finding in findings if self.name in finding.gate_names]
        defined = [finding for finding in named if not finding.undefined]
        if not defined:
            known = ", ".join(sorted({name for finding in findings for name in finding.gate_names}))
            raise UsageError(
                f"gate `{self.text}`: no result for `{self.name}`; there are results for {known or 'nothing'}"
            )
        return [self._verdict(finding) for finding in defined]

    def failed(self, reason: str) -> Verdict:
        """The negative verdict of a gate for which there is no finding, with this reason."""
        return Verdict(self.text, "", False, reason)

    def _verdict(self, finding: Gated) -> Verdict:
        """The verdict on one finding; it fails without an estimate or without an interval."""
        about = ", ".join(value for key, value in finding.about.items() if value and key != "metric")
        if finding.estimate is None:
            return Verdict(self.text, about, False, f"no estimate: {finding.reason}")
        interval = both_ends(finding.interval)
        if interval is None:
            return Verdict(self.text, about, False, f"no interval: {finding.method}")
        if self.sign in (NO_WORSE, EQUAL):
            return self._within(finding, about, interval)
        side, place = ("lower", 0) if self.sign.startswith(">") else ("upper", 1)
        bound, wanted = interval[place], self.bound or 0.0
        tolerance = ROUNDING * max(map(abs, (finding.estimate, *interval, wanted)))
        left = bound - wanted if self.sign.startswith(">") else wanted - bound
        passed = left >= -tolerance if self.sign.endswith("=") else left > tolerance
        said = f"estimate {finding.estimate:.4g}, {side} bound {bound:.4g}"
        error = finding.bound_error if isinstance(finding, AgreementRecord) else None
        if error is not None and abs(left) < error:
            said += "; at the edge: another seed may turn it, and more draws (--draws) settle it"
        return Verdict(self.text, about, passed, said)

    def _within(self, finding: Gated, about: str, interval: tuple[float, float]) -> Verdict:
        """The verdict on a difference that may reach up to a margin."""
        if not isinstance(finding, Tested):
            return Verdict(self.text, about, False, "only a difference, of `compare` or `diff`, has a margin")
        margin = self.bound or finding.margin
        if margin is None:
            return Verdict(self.text, about, False, f"no margin: write '{self.text} 0.1', or give --margin")
        low, high = interval
        said = f"estimate {finding.value:.4g}, interval [{low:.4g}, {high:.4g}], margin {margin:g}"
        if self.sign == EQUAL:
            return Verdict(self.text, about, -margin < low and high < margin, said)
        if finding.better is None:
            said = (
                "nothing says which end of this metric is good; --higher-is-better or --lower-is-better does"
            )
            return Verdict(self.text, about, False, said)
        return Verdict(self.text, about, high < margin if finding.better == "lower" else low > -margin, said)


def junit(verdicts: Sequence[Verdict]) -> bytes:
    """The verdicts as a JUnit XML document in bytes, one test case for each; failed ones have a failure element.

    Control characters are escapes, because XML cannot hold them.
    """
    failed = sum(not verdict.passed for verdict in verdicts)
    suite = ElementTree.Element("testsuite", name="turnwise", tests=str(len(verdicts)), failures=str(failed))
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=visible(f"turnwise.{verdict.about}".rstrip(".")),
            name=visible(verdict.gate),
        )
        if not verdict.passed:
            ElementTree.SubElement(case, "failure", message=visible(verdict.explanation))
    ElementTree.indent(suite)
    text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text
