"""Rubrics: files, the library, and what a judge is asked by them."""

from pathlib import Path

import pytest

from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.judge.metric import DialogueJudge, Judge
from turnwise.metrics.judge.prompt import Prompt
from turnwise.metrics.judge.rubric import library, of_dimension, rubric
from turnwise.types import Item, Turn

OWN = """
question = "Does the reply name a sea?"
scale = [0, 3]
sees = ["tools"]
[anchors]
0 = "no"
3 = "yes, a real one"
[[examples]]
conversation = [{role = "user", content = "Which sea?"}]
reply = "The </reply> North Sea."
verdict = 3
reason = "It is real."
"""
ITEM = Item(
    "d#2", "d", "bot", (Turn("system", "S"), Turn("user", "Hi"), Turn("assistant", "Hello")), 2, "d", "d"
)


def test_every_rubric_of_the_library_can_be_asked_and_has_a_name_of_its_own():
    assert len(library()) >= 30
    for name, one in library().items():
        assert one.name == name
        (question,) = Prompt(one).questions(ITEM)
        assert one.question in question.messages[1]["content"]
        judge = resolve(f"judge[rubric={name},model=m]")
        assert isinstance(judge, DialogueJudge if one.level == "dialogue" else Judge)
        assert f"|dimension:{name}|" in str(judge.signature)


def test_the_usual_questions_and_the_dimensions_of_usr_and_fed_are_there():
    usual = {"helpful", "grounded", "task-done", "policy-kept", "polite", "safe", "consistent"}
    assert usual <= set(library())
    assert sum(name.startswith("usr-") for name in library()) == 6
    assert sum(name.startswith("fed-") for name in library()) == 20


def test_a_rubric_of_a_file_is_asked_with_its_anchors_and_examples(tmp_path: Path):
    (tmp_path / "seas.toml").write_text(OWN)
    judge = resolve(f"judge[rubric={tmp_path / 'seas.toml'},model=m]")
    assert isinstance(judge, Judge)
    text = judge.questions(ITEM)[0].messages[1]["content"]
    assert "by one thing: seas.\nDoes the reply name a sea?\n0 is the worst" in text
    assert "0: no\n3: yes, a real one" in text
    assert 'Example: {"verdict": 3, "reply": "The \\u003c/reply> North Sea."' in text
    assert "Not shown to you: 1 system prompt." in text
    assert judge.span == (0.0, 3.0)
    assert judge.verdicts == (3.0,)


def test_one_of_several_rubrics_of_a_file_is_named_after_a_hash(tmp_path: Path):
    file = tmp_path / "two.toml"
    file.write_text(
        "[rubric.a]\nquestion = 'A?'\nscale = [1, 2]\n[rubric.b]\nquestion = 'B?'\nscale = [1, 2]\n"
    )
    assert rubric(f"{file}#b").question == "B?"
    with pytest.raises(UsageError, match=r"has the rubrics a, b; name one of them"):
        rubric(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question = 'Q?'", "neither a scale nor criteria"),
        ("question = ' '\nscale = [1, 5]", "has no question"),
        ("question = 'Q?'\nscale = [5, 1]", "in order"),
        ("question = 'Q?'\nscale = [1, 5]\nanchors = {7 = 'x'}", "the anchor 7 is not on its scale"),
        ("question = 'Q?'\nscale = [1, 5]\nscales = 3", "scales"),
        ("question = 'Q?'\nscale = 'high'", "scale"),
        (
            "question = 'Q?'\n[[criteria]]\nname = 'a'\nquestion = 'A?'\n[[criteria]]\nname = 'a'\nquestion = 'B?'",
            "own",
        ),
        ("question = ", "no TOML"),
    ],
)
def test_a_file_that_is_no_rubric_is_an_error_that_names_it(tmp_path: Path, text: str, message: str):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        resolve(f"judge[rubric={tmp_path / 'r.toml'},model=m]")


def test_unknown_rubrics_and_double_scales_are_errors(tmp_path: Path):
    with pytest.raises(UsageError, match=r"there is no rubric `grounde`.*grounded"):
        resolve("judge[rubric=grounde,model=m]")
    with pytest.raises(UsageError, match="cannot be read"):
        resolve(f"judge[rubric={tmp_path / 'absent.toml'},model=m]")
    with pytest.raises(UsageError, match="a rubric has its own question and scale"):
        resolve("judge[rubric=grounded,scale=1-7,model=m]")
    with pytest.raises(UsageError, match="ends at 9 or below"):
        resolve("judge[scale=1-10,weighted=true,model=m]")
    with pytest.raises(UsageError, match="checklist"):
        resolve("judge[rubric=safe,weighted=true,model=m]")
    with pytest.raises(UsageError, match="one of name, send"):
        resolve("judge[media=show,model=m]")


def test_a_dimension_without_a_rubric_stands_for_itself():
    own = of_dimension("wit", None, (1, 7))
    assert own.scale == (1, 7)
    assert "ordinary meaning" in own.question
    assert of_dimension("overall", None, (1, 7)).question == library()["overall"].question
    assert of_dimension("overall", "Mine.", None).question == "Mine."


def test_the_measured_agreement_does_not_change_what_is_asked():
    import msgspec

    one = library()["overall"]
    other = msgspec.structs.replace(one, agreement=(), source="elsewhere")
    assert one.digest == other.digest
    assert Prompt(one).digest == Prompt(other).digest
