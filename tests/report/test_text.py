from turnwise.report import text
from turnwise.report.results import to_json


def test_numbers_are_aligned_to_the_right_and_missing_ones_are_a_dash():
    shown = text.table(
        [["bleu", 1.5, None], ["rouge-l", 20.25, (1.0, 2.0)]], ["metric", "estimate", "interval"]
    )
    assert shown.splitlines() == [
        "metric   estimate  interval",
        "-------  --------  --------------",
        "bleu        1.500  -",
        "rouge-l    20.250  [1.000, 2.000]",
    ]


def test_a_small_number_is_not_rounded_to_zero():
    assert text.number(0.00004) == "4.0e-05"
    assert text.number(0.0) == "0.000"
    assert text.p_value(0.0004) == "<.001"


def test_nan_and_infinity_become_null_in_json_at_any_depth():
    assert to_json({"a": float("nan"), "b": [1.0, float("inf")], "c": {"d": (float("-inf"),)}}).split() == (
        b'{ "a": null, "b": [ 1.0, null ], "c": { "d": [ null ] } }'.split()
    )
