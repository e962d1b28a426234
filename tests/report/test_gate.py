from xml.etree import ElementTree

import pytest

from turnwise.errors import UsageError
from turnwise.report.gate import Gate, junit
from turnwise.types import Finding


def finding(estimate=3.0, interval=(2.5, 3.5), **more) -> Finding:
    return Finding(what={"metric": "bleu-4", "agent": "bot"}, estimate=estimate, interval=interval, **more)


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
def test_a_gate_looks_at_the_bound_and_not_at_the_estimate(gate, passed):
    assert [verdict.passed for verdict in Gate.parse(gate).judge([finding()])] == [passed]


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
def test_the_dust_of_floating_point_decides_no_gate(gate, bound, passed):
    (verdict,) = Gate.parse(gate).judge([finding(0.5, (bound, 0.9))])
    assert verdict.passed is passed


def test_an_upper_bound_is_freed_of_dust_too():
    (verdict,) = Gate.parse("bleu-4 <= 0.3").judge([finding(0.2, (0.1, 0.1 + 0.2))])
    assert verdict.passed


def test_where_nothing_was_found_the_gate_fails_with_the_reason():
    verdict = Gate.parse("bleu-4 >= 2").unmet("not measured alike")
    case = ElementTree.fromstring(junit([verdict]))[0]
    assert case.find("failure").get("message") == "not measured alike"
    assert case.get("classname") == "turnwise"


def test_what_could_not_be_shown_is_not_passed():
    verdicts = Gate.parse("bleu-4 >= 0").judge(
        [
            finding(interval=None, method="none: fewer than 2 clusters"),
            finding(estimate=None, reason="no reference"),
        ]
    )
    assert [verdict.passed for verdict in verdicts] == [False, False]
    assert "fewer than 2 clusters" in str(verdicts[0])
    assert "no reference" in str(verdicts[1])


@pytest.mark.parametrize("text", ["bleu-4", "bleu-4 = 2", ">= 2", "bleu-4 >= two", "bleu-4 >= 1.2.3", ""])
def test_what_is_no_gate_is_said_with_an_example(text):
    with pytest.raises(UsageError, match="write for example"):
        Gate.parse(text)


def test_a_gate_on_a_metric_that_was_not_asked_is_an_error():
    with pytest.raises(UsageError, match="no result for `rouge-l`; there are results for bleu-4"):
        Gate.parse("rouge-l >= 0").judge([finding()])


def test_junit_counts_failures_and_escapes_names():
    verdicts = Gate.parse("bleu-4 >= 2").judge([finding()]) + Gate.parse("bleu-4 < 1").judge([finding()])
    suite = ElementTree.fromstring(junit(verdicts))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in suite] == [False, True]
    assert suite[1].get("name") == "bleu-4 < 1"
