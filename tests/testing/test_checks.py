"""The checks for plugins find what is wrong: a plugin with one mistake is reported with one sentence about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from turnwise.metrics import resolve
from turnwise.plugins import (
    Card,
    DataError,
    Dialogue,
    Episodes,
    Estimate,
    Item,
    Level,
    Mean,
    Need,
    Options,
    Problem,
    Refused,
    Reply,
    Signature,
    TrainedModel,
    TrainingTask,
    Turn,
)
from turnwise.testing import (
    ContractError,
    check_agent,
    check_estimator,
    check_metric,
    check_reader,
    check_trainer,
    check_world,
    turn_items,
)
from turnwise.worlds import chat

CARD = Card(kind="feature", meaning="m", range="r", limits="l", citation="c")


@dataclass
class Words(Mean):
    """The number of words, with a mistake that the test chooses."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "never"
    card: ClassVar[Card] = CARD

    mistake: str = ""
    calls: int = field(default=0, compare=False)

    @property
    def signature(self) -> Signature:
        return Signature("" if self.mistake == "unnamed" else "words")

    def value(self, item: Item, /) -> float | None:
        self.calls += 1
        if self.mistake == "counts its calls":
            return float(self.calls)
        if self.mistake == "scores nothing":
            return None
        return float(len(item.reply.split()))

    def reduce(self, rows: Any, /) -> float:
        if self.mistake == "takes the first":
            return float(rows[0, 0]) if len(rows) else float("nan")
        return super().reduce(rows)


def test_a_metric_without_a_mistake_passes():
    check_metric(Words())
    check_metric(resolve("length"))


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ("unnamed", "`signature.name` is empty"),
        ("counts its calls", "a second call of `rows` with the same items differs"),
        ("scores nothing", "no item of the test data was scored"),
        ("takes the first", "with the same rows in another order"),
    ],
)
def test_a_mistake_of_a_metric_is_found(mistake: str, says: str):
    with pytest.raises(ContractError, match=says):
        check_metric(Words(mistake))


@dataclass
class MeanRating:
    """The mean of the logged ratings, with a mistake that the test chooses."""

    card: ClassVar[Card] = replace(CARD, kind="estimator")

    mistake: str = ""

    @property
    def signature(self) -> Signature:
        return Signature("mean-rating")

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        rewards = episodes.reward[np.isfinite(episodes.reward)]
        if not len(rewards):
            if self.mistake == "answers without data":
                return Estimate(value=0.0, contributions=np.zeros(1))
            raise Refused("there is no rated dialogue", "too-few-rated")
        value = float(rewards.mean())
        if self.mistake == "takes the first":
            return Estimate(value=float(rewards[0]), contributions=rewards[:1])
        if self.mistake == "another sum":
            return Estimate(value=value + 1, contributions=rewards)
        if self.mistake == "chance of its own":
            rewards = rewards + np.random.default_rng().normal()
            return Estimate(value=float(rewards.mean()), contributions=rewards)
        return Estimate(value=value, contributions=rewards)


class FirstReference(Words):
    """A metric that relies on what it needs."""

    needs = frozenset({"references"})

    def value(self, item: Item, /) -> float | None:
        return float(len(item.references[0]))


def test_a_metric_is_not_asked_about_items_that_lack_what_it_needs():
    assert any(not item.references for item in turn_items())
    check_metric(FirstReference())


class Exits(Words):
    def value(self, item: Item, /) -> float | None:
        raise SystemExit("enough")


def test_a_metric_that_exits_is_reported():
    with pytest.raises(ContractError, match=r"`rows` called sys.exit\('enough'\)"):
        check_metric(Exits())


def test_a_class_in_place_of_an_object_is_named():
    for check, kind in ((check_metric, Words), (check_estimator, MeanRating), (check_agent, Greeter)):
        with pytest.raises(ContractError, match=rf"is the class {kind.__name__}; expected an object of it"):
            check(kind)  # type: ignore[operator]


def test_an_estimator_without_a_mistake_passes():
    check_estimator(MeanRating())


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ("another sum", "`value` is .*, and the mean of its `contributions` is"),
        ("takes the first", "with the same dialogues in another order"),
        ("chance of its own", "the value is"),
        ("answers without data", "Refused"),
    ],
)
def test_a_mistake_of_an_estimator_is_found(mistake: str, says: str):
    with pytest.raises(ContractError, match=says):
        check_estimator(MeanRating(mistake))


@dataclass
class Greeter:
    """An agent that greets, with a mistake that the test chooses."""

    mistake: str = ""

    @property
    def signature(self) -> Any:
        return "text" if self.mistake == "text as signature" else Signature("greeter")

    def __call__(self, turns: Any, rng: np.random.Generator, /) -> Any:
        if self.mistake == "chance of its own":
            return Reply(str(np.random.default_rng().random()))
        return None if self.mistake == "silent" else Reply("hello")


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ("silent", "expected a turnwise.plugins.Reply"),
        ("chance of its own", "two calls with the same turns and seed"),
        ("text as signature", "`signature` is a str"),
    ],
)
def test_a_mistake_of_an_agent_is_found(mistake: str, says: str):
    check_agent(Greeter())
    with pytest.raises(ContractError, match=says):
        check_agent(Greeter(mistake))


def read(path: str, options: Options) -> Iterator[Dialogue]:
    """One dialogue a line."""
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("!"):
            raise DataError(Problem(path, number, "", "begins with `!`"))
        yield Dialogue(str(number), "bot", (Turn("user", line), Turn("assistant", "hello")))


def same_id(path: str, options: Options) -> Iterator[Dialogue]:
    for one in read(path, options):
        yield replace(one, id="1")


def as_dicts(path: str, options: Options) -> Iterator[Any]:
    for one in read(path, options):
        yield {"id": one.id}


def lenient(path: str, options: Options) -> Iterator[Dialogue]:
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        yield Dialogue(str(number), "bot", (Turn("user", line), Turn("assistant", "hello")))


def nothing(path: str, options: Options) -> None:
    """Returns nothing."""


def one_parameter(path: str) -> Iterator[Dialogue]:
    yield from read(path, Options())


def exits(path: str, options: Options) -> Iterator[Dialogue]:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (nothing, "^returned None; expected an iterator of turnwise.plugins.Dialogue"),
        (one_parameter, r"^has the parameters \(path: str\) .*; expected read\(path, options\)"),
        (exits, r"called sys.exit\(3\)"),
        (same_id, "breaks the rules of the native format"),
        (as_dicts, "dialogue 1 is a dict"),
        (lenient, "malformed input .* must raise turnwise.plugins.DataError"),
    ],
)
def test_a_mistake_of_a_reader_is_found(function: Callable[..., Any], says: str, tmp_path: Path):
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("hi\nhow are you\n")
    bad.write_text("!\n")
    check_reader(read, good, malformed=bad)
    with pytest.raises(ContractError, match=says):
        check_reader(function, good, malformed=bad)


def test_a_mistake_of_a_world_is_found():
    few = SimpleNamespace(
        WORLD=chat.WORLD, FAMILIES=chat.FAMILIES, family=lambda name, agents: chat.family(name, agents=2)
    )
    with pytest.raises(ContractError, match=r"agents=3\) has 2 agents; expected 3"):
        check_world(few)
    with pytest.raises(ContractError, match="has no `WORLD`"):
        check_world(SimpleNamespace())


def train(task: TrainingTask) -> TrainedModel:
    task.check_settings(["size"])
    return TrainedModel(kind="words", tensors={"a": np.ones(2)}, config={}, card={})


def random_weights(task: TrainingTask) -> TrainedModel:
    return replace(train(task), tensors={"a": np.random.default_rng().random(2)})


def any_setting(task: TrainingTask) -> TrainedModel:
    return train(replace(task, settings={}))


@pytest.mark.parametrize(
    ("trainer", "says"),
    [
        (random_weights, "`a` differs between two trainings with the same seed"),
        (any_setting, "an unknown setting must raise turnwise.plugins.UsageError"),
        (lambda task: {"a": 1}, "expected a turnwise.plugins.TrainedModel"),
    ],
)
def test_a_mistake_of_a_trainer_is_found(trainer: Callable[[TrainingTask], Any], says: str):
    check_trainer(train)
    with pytest.raises(ContractError, match=says):
        check_trainer(trainer)
