"""The judge of a policy in training agrees with what people did."""

import pytest

torch = pytest.importorskip("torch")
from tests.small_tables import write_tables  # noqa: E402
from tests.small_task import GOOD, small_task  # noqa: E402
from turnwise.run.train.policy_evaluation import PolicyEvaluator  # noqa: E402


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tables(tmp_path_factory.mktemp("tables")))


def test_the_judge_agrees_with_what_people_did(db: str) -> None:
    dialogues = small_task(40)
    judge = PolicyEvaluator(dialogues, db=db)
    logged = [turn.text for one in dialogues for turn in one.turns if turn.role == "assistant"]
    assert judge.scores(logged)["success"] == pytest.approx(100 * judge.logged().mean())
    assert judge.scores(logged)["bleu"] == pytest.approx(100.0)
    assert judge.scores([*GOOD] * 40)["success"] == 100.0
