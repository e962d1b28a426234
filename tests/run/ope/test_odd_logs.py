"""Logs from which `ope` can compute nothing, or not everything: a refusal with its reason, never a traceback."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turnwise.cli.common.group import run


def logs(
    path: Path,
    *,
    agents: tuple[str, ...] = ("a", "b", "c", "d", "e", "f"),
    each: int = 8,
    alternatives: tuple[str, ...] = ("a", "b", "c", "d", "e", "f", "new"),
    value: Any = None,
    **rating: Any,
) -> str:
    """Rated dialogues of some agents, with replies of all `alternatives`; `value` is a rating by agent and number."""
    rng = np.random.default_rng(0)
    words = np.array("red blue cat dog sun rain tea milk yes no".split())
    lines = []
    for number in range(each):
        for place, agent in enumerate(agents):
            said = {name: " ".join(rng.choice(words, 4)) for name in alternatives}
            score = float(rng.normal(place, 1)) if value is None else value(agent, number)
            reply = {"role": "assistant", "content": " ".join(rng.choice(words, 4)), "alternatives": said}
            lines.append(
                {
                    "id": f"{agent}{number}",
                    "agent": agent,
                    "messages": [{"role": "user", "content": f"question {number}"}, reply],
                    "ratings": [{"dimension": "overall", "value": score, **rating}],
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def ope(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code of `turnwise ope` and what it printed."""
    code = run(["ope", *words, "--model", "hashing"])
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize("more", [[], ["--stream"]])
@pytest.mark.parametrize("alternatives", [("a",), (), ("new",)])
def test_the_only_agent_of_the_logs_cannot_be_estimated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], alternatives: tuple[str, ...], more: list[str]
) -> None:
    path = logs(tmp_path / "logs.jsonl", agents=("a",), alternatives=alternatives)
    for words in (["--all", "--no-calibrate"], ["--all"]):
        code, said = ope(capsys, path, *words, *more)
        assert code == 4, said
        assert "refused: 0 " in said or "no dialogue of another agent is rated" in said


def test_a_left_out_agent_without_replies_of_its_own_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--challenging leaves out every dialogue of another agent, so that none has a reply of the target."""
    path = logs(tmp_path / "logs.jsonl", agents=("a", "b"), alternatives=("a", "b"))
    code, said = ope(
        capsys, path, "--all", "--no-calibrate", "--challenging", "100000", "-o", str(tmp_path / "out")
    )
    assert code == 4, said
    assert "0 rated dialogues of other agents" in said
    assert run(["report", str(tmp_path / "out"), "-o", str(tmp_path / "report.html"), "-q"]) == 0


EXTREMES = (1e50, -1e50, 1e49, 5e-324, 1e16, 0.0, -1e25)
QUICK = "robust,balance,fqe,lstdq,dice-linear,direct,nearest,mean,features"


@pytest.mark.parametrize("value", [1e308, -1e308, 1e51])
def test_ratings_whose_squares_are_no_numbers_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: float
) -> None:
    path = logs(tmp_path / "logs.jsonl", value=lambda agent, number: value if number % 2 else 0.0)
    for words in (["--estimator", QUICK], ["--no-calibrate"]):
        code, said = ope(capsys, path, "--all", *words, "-o", str(tmp_path / "out"))
        assert code == 2
        assert "expected a number between -1e+50 and 1e+50" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        lambda agent, number: EXTREMES[(ord(agent) + number) % len(EXTREMES)],
        lambda agent, number: (ord(agent) % 3) * 5e-324,
        lambda agent, number: 1e50 - (ord(agent) % 3) * 1e49,
        lambda agent, number: 3.0 + ord(agent) * 2**-45,
        lambda agent, number: 1e16 + 2 * (number % 2),
        lambda agent, number: 3.0,
    ],
    ids=["extreme", "smallest", "largest", "nearly equal", "rounded", "equal"],
)
@pytest.mark.parametrize("more", [["--no-calibrate"], ["--fraction", "1"]], ids=["raw", "calibrated"])
def test_ratings_near_the_limits_give_estimates_or_refusals_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: Any, more: list[str]
) -> None:
    """A warning of numpy is an error in this test run."""
    path = logs(tmp_path / "logs.jsonl", value=value)
    code, said = ope(capsys, path, "--all", "--estimator", QUICK, *more, "-o", str(tmp_path / "out"))
    assert code in (0, 4), said
    assert run(["report", str(tmp_path / "out"), "-o", str(tmp_path / "report.html"), "-q"]) == 0
    assert "<svg" in (tmp_path / "report.html").read_text()
