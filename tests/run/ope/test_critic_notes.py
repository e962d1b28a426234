"""What is said of the raw values of a critic."""

import numpy as np

from turnwise.estimators.critic.controls import LOGGED, PREFIX, Verdict
from turnwise.estimators.critic.evaluation import SystemValue
from turnwise.run.ope.critic_records import raw_notes
from turnwise.run.ope.critic_values import CriticValues


def valued(values: dict[str, float], *, returned: float, possible: float) -> CriticValues:
    found = {name: SystemValue(np.full(3, value), np.zeros(3), 0.0) for name, value in values.items()}
    return CriticValues(found, {}, {}, Verdict((), None, None), returned, 100.0, possible)


def test_values_above_what_is_possible_are_counted_with_the_highest() -> None:
    values = {LOGGED: 49.0, "low": 40.0, "high": 75.5, "higher": 76.5, f"{PREFIX}goodbye": 99.0}
    (note,) = raw_notes(valued(values, returned=48.0, possible=53.5), ["low", "high", "higher"])
    assert note.startswith(
        "2 of 3 systems are valued above 53.5, the most that dialogues of these lengths can return"
    )
    assert "(`higher` 76.5)" in note


def test_nothing_is_said_of_values_that_are_possible() -> None:
    values = {LOGGED: 49.0, "low": 40.0}
    assert raw_notes(valued(values, returned=48.0, possible=53.5), ["low"]) == []


def test_a_logged_value_far_from_the_return_is_said() -> None:
    (note,) = raw_notes(valued({LOGGED: 45.0}, returned=48.0, possible=53.5), [])
    assert note.startswith("the logged agent is valued 45.0, and its dialogues did return 48.0")
