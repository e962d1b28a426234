from xml.etree import ElementTree

import pytest

from turnwise.errors import UsageError
from turnwise.records import DifferenceRecord, Record, ScoreRecord
from turnwise.report.gate import Gate, junit


def finding(estimate=3.0, interval=(2.5, 3.5), **more) -> Record:
    return ScoreRecord(metric="bleu-4", agent="bot", estimate=estimate, interval=interval, **more)


@pytest.mark.parametrize(
    ("gate", "passed"),
    [
        ("bleu-4 >= 2", True),
        ("bleu-4 >= 2.7", False),  # the estimate holds, the interval does not
        ("bleu-4>=2.5", True),
        ("bleu-4 > 2.5", False),
        ("bleu-4 <= 3.2", False),
        ("bleu-4 <= 3.5", True),
        ("bleu-4 < 4e0", True),
    ],
)
def test_a_gate_compares_the_bound_and_not_the_estimate(gate, passed):
    assert [verdict.passed for verdict in Gate.parse(gate).verdicts([finding()])] == [passed]


@pytest.mark.parametrize(
    ("gate", "bound", "passed"),
    [
        ("bleu-4 >= 0.2", 0.3 - 0.1, True),  # 0.19999999999999998
        ("bleu-4 > 0.2", 0.1 + 0.1 + 1e-17, False),
        ("bleu-4 > 0.3", 0.1 + 0.2, False),  # 0.30000000000000004
        ("bleu-4 >= 0", -1e-17, True),
        ("bleu-4 >= 0", -1e-6, False),
        ("bleu-4 >= 0.2", 0.2 - 1e-6, False),
    ],
)
def test_rounding_error_decides_no_gate(gate, bound, passed):
    (verdict,) = Gate.parse(gate).verdicts([finding(0.5, (bound, 0.9))])
    assert verdict.passed is passed


def difference(low: float, high: float, **more: object) -> DifferenceRecord:
    return DifferenceRecord(
        estimate=(low + high) / 2, interval=(low, high), metric="m", agent_a="a", agent_b="b", **more
    )


@pytest.mark.parametrize(
    ("gate", "low", "high", "better", "passed"),
    [
        ("m no-worse 0.1", -0.05, 0.4, "higher", True),
        ("m no-worse 0.1", -0.15, 0.4, "higher", False),
        ("m no-worse 0.1", -0.15, 0.05, "lower", True),
        ("m no-worse 0.1", -0.05, 0.4, "lower", False),
        ("m equal 0.1", -0.05, 0.05, None, True),
        ("m equal 0.1", -0.05, 0.15, None, False),
        ("m equal", -0.05, 0.15, None, True),  # the margin of the run is .2
    ],
)
def test_a_gate_on_a_margin_asks_for_the_whole_interval(gate, low, high, better, passed):
    (verdict,) = Gate.parse(gate).verdicts([difference(low, high, better=better, margin=0.2)])
    assert verdict.passed is passed


def test_a_gate_on_a_margin_says_what_it_lacks():
    (verdict,) = Gate.parse("m no-worse 1").verdicts([difference(-0.1, 0.1)])
    assert "--higher-is-better" in verdict.explanation
    (verdict,) = Gate.parse("m equal").verdicts([difference(-0.1, 0.1)])
    assert not verdict.passed
    assert "--margin" in verdict.explanation
    (verdict,) = Gate.parse("bleu-4 equal 1").verdicts([finding()])
    assert "only a difference" in verdict.explanation
    with pytest.raises(UsageError, match="is not a gate"):
        Gate.parse("m no-worse x")


def test_an_upper_bound_has_a_tolerance_too():
    (verdict,) = Gate.parse("bleu-4 <= 0.3").verdicts([finding(0.2, (0.1, 0.1 + 0.2))])
    assert verdict.passed


def test_a_gate_without_a_finding_fails_with_the_reason():
    verdict = Gate.parse("bleu-4 >= 2").failed("not measured alike")
    case = ElementTree.fromstring(junit([verdict]))[0]
    assert case.find("failure").get("message") == "not measured alike"
    assert case.get("classname") == "turnwise"


def test_a_gate_without_an_interval_fails():
    verdicts = Gate.parse("bleu-4 >= 0").verdicts(
        [
            finding(interval=None, method="none: fewer than 2 clusters"),
            finding(estimate=None, reason="no reference"),
        ]
    )
    assert [verdict.passed for verdict in verdicts] == [False, False]
    assert "fewer than 2 clusters" in str(verdicts[0])
    assert "no reference" in str(verdicts[1])


@pytest.mark.parametrize("text", ["bleu-4", "bleu-4 = 2", ">= 2", "bleu-4 >= two", "bleu-4 >= 1.2.3", ""])
def test_an_invalid_gate_is_an_error_with_an_example(text):
    with pytest.raises(UsageError, match="write for example"):
        Gate.parse(text)


def test_a_gate_on_a_metric_without_results_is_an_error():
    with pytest.raises(UsageError, match="no result for `rouge-l`; there are results for bleu-4"):
        Gate.parse("rouge-l >= 0").verdicts([finding()])


def test_junit_counts_failures_and_escapes_names():
    verdicts = Gate.parse("bleu-4 >= 2").verdicts([finding()]) + Gate.parse("bleu-4 < 1").verdicts(
        [finding()]
    )
    suite = ElementTree.fromstring(junit(verdicts))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in suite] == [False, True]
    assert suite[1].get("name") == "bleu-4 < 1"
