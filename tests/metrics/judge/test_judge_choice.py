"""What a judge of two replies is shown of their common conversation."""

from turnwise.metrics import resolve
from turnwise.metrics.judge.metric import Judge
from turnwise.types import Item, Turn


def reply(name: str, said: str, *prompt: str) -> Item:
    turns = (
        *(Turn("system", one) for one in prompt),
        Turn("user", "Capital of Peru?"),
        Turn("assistant", said),
    )
    return Item(name, name, name, turns, len(turns) - 1, cluster="c", pair="c")


def asked(first: Item, second: Item) -> str:
    judge = resolve("judge", model="m")
    assert isinstance(judge, Judge)
    return str(judge.prompt.choice(first, second).messages)


def test_the_system_prompt_of_one_agent_is_not_shown_as_that_of_both() -> None:
    shown = asked(reply("a", "Lima.", "Be brief."), reply("b", "It is Lima.", "Be polite."))
    assert "Be brief." not in shown
    assert "Be polite." not in shown
    assert "Capital of Peru?" in shown


def test_a_common_system_prompt_is_shown() -> None:
    assert "Be brief." in asked(reply("a", "Lima.", "Be brief."), reply("b", "Quito.", "Be brief."))
