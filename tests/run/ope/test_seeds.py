"""`ope --seeds`: what is trained from a chance beginning is trained several times, each a task of its own."""

import json

import numpy as np
import pytest

from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.run.workers.execute import Local

pytest.importorskip("torch")
TRAINED = "enigma[epochs=2,components=0]"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    from tests.tiny_models import write_bert

    place = tmp_path_factory.mktemp("seeds")
    native.write(held(agents=2, dialogues=6), str(place / "logs.jsonl"))
    model = str(write_bert(place / "bert"))
    return (str(place / "logs.jsonl"), "--target", "a1", "--no-calibrate", "--model", model, "-q")


def answered(capsys, *args: str) -> dict:
    assert run(["ope", *args, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    return row


def test_each_seed_of_each_agent_is_a_task_of_its_own(capsys, asked, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[object] = []
    in_order = Local.in_order

    def noted(self, function, shared, given, *, model=False):
        given = list(given)
        tasks.extend(given if model else ())
        return in_order(self, function, shared, given, model=model)

    monkeypatch.setattr(Local, "in_order", noted)
    answered(capsys, *asked, "--estimator", TRAINED, "--seeds", "3")
    assert tasks == [(TRAINED, "a1", seed) for seed in range(3)]


def test_the_estimate_is_the_mean_over_seeds(capsys, asked) -> None:
    single = [answered(capsys, *asked, "--estimator", TRAINED, "--seed", seed)["raw"] for seed in "34"]
    found = answered(capsys, *asked, "--estimator", TRAINED, "--seed", "3", "--seeds", "2")
    assert single[0] != single[1]
    assert found["raw"] == pytest.approx(np.mean(single), rel=1e-9)
    assert found["diagnostics"]["seeds"] == 2
    assert found["diagnostics"]["seeds_sd"] == pytest.approx(np.std(single, ddof=1), rel=1e-9)


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_where_nothing_begins_by_chance_it_is_said(capsys, asked, more: tuple[str, ...]) -> None:
    assert run(["ope", *asked, "--estimator", "fqe", "--seeds", "2", *more]) == 2
    assert "--seeds" in capsys.readouterr().err
