"""Adapters for ConvLab: objects with its interface as systems and as users."""

import random
import sys
import warnings
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from turnwise.errors import DataError
from turnwise.types import Turn
from turnwise.worlds import task
from turnwise.worlds.task.convlab import ConvLabSystem
from turnwise.worlds.task.goal import parse_goal
from turnwise.worlds.task.systems import System
from turnwise.worlds.task.user import User

TABLES = task.WORLD.tables
GOAL = {
    "restaurant": {"info": {"food": "korean", "area": "east"}, "reqt": {"phone": "?"}, "booked": "?",
                   "book": {"people": "2", "day": "friday", "time": "12:00"}},
    "attraction": {"info": {"type": "museum"}, "reqt": {"postcode": "?"}},
}  # fmt: skip


class Desk:
    """A system with ConvLab's interface: a session with a memory that gets one user's turn at a time."""

    def __init__(self):
        self.sessions = 0
        self.init_session()

    def init_session(self):
        self.sessions += 1
        self.turns = [Turn("system", "desk")]

    def response(self, observation):
        self.turns.append(Turn("user", observation))
        said = System(task.WORLD.tracker)(self.turns, np.random.default_rng(0)).content
        self.turns.append(Turn("assistant", said))
        return said


class Visitor:
    """A user with ConvLab's interface: it has a goal of its own and reports when it has finished."""

    def __init__(self, *goals):
        self.goals = goals
        self.policy = self
        self.started = -1

    def get_goal(self):
        return self.goals[self.started % len(self.goals)]

    def init_session(self):
        self.started += 1
        self.turns = []
        self.rng = np.random.default_rng(random.randrange(2**32))
        self.user = None

    def response(self, observation):
        if self.user is None:
            self.user = User(parse_goal(self.get_goal()), TABLES)
            said = self.user.first_message(self.rng)
        else:
            self.turns.append(Turn("assistant", observation))
            said = self.user.next_message(self.turns, self.rng)
        self.turns.append(Turn("user", said))
        return said

    def is_terminated(self):
        return self.user.view(self.turns).part is None


def test_a_convlab_system_talks_to_the_user_of_this_world():
    desk = Desk()
    agent = ConvLabSystem(desk)
    for seed in range(10):
        before = desk.sessions
        dialogue = task.WORLD.play(agent, np.random.default_rng(seed))
        assert dialogue.ratings[0].value == 1.0
        assert desk.sessions == before + 1  # one session per dialogue


def test_a_convlab_system_gives_alternatives_in_another_dialogue():
    desk = Desk()
    agent = ConvLabSystem(desk)
    systems = task.family("failings", agents=4)
    dialogue = task.WORLD.play(
        systems["mishears"], np.random.default_rng(1), others={"desk": agent}, samples=1
    )
    perfect = System(task.WORLD.tracker)
    first = next(turn for turn in dialogue.turns if turn.role == "assistant")
    opening = [Turn("system", dialogue.meta["briefing"]), dialogue.turns[0]]
    assert first.alternatives["desk"][0].content == perfect(opening, np.random.default_rng(0)).content
    points = sum(turn.role == "assistant" for turn in dialogue.turns)
    assert 1 < desk.sessions <= points + 1


def test_a_convlab_system_replies_to_chat_messages():
    agent = ConvLabSystem(Desk())
    messages = [
        {"role": "system", "content": ""},
        {"role": "user", "content": "I need a museum in the east."},
    ]
    reply = agent.reply(messages, np.random.default_rng(0))
    assert "east" in reply.content or "no such" in reply.content


def test_a_convlab_user_replaces_the_user_of_this_world():
    world = task.make_world(simulator=Visitor(GOAL))
    perfect = System(world.tracker)
    good = [world.play(perfect, np.random.default_rng(seed)) for seed in range(10)]
    assert {rating.value for one in good for rating in one.ratings if rating.dimension == "success"} == {1.0}
    assert set(good[0].goal) == {"restaurant", "attraction"}


def test_a_convlab_user_with_a_useless_system_leaves_without_success():
    world = task.make_world(simulator=Visitor(GOAL))
    useless = System(world.tracker, task.Habits(gives_up=1.0))
    for seed in range(5):
        assert world.truth(useless, np.random.default_rng(seed))[0] == 0.0


class Pipeline:
    """The methods of ConvLab-3's `PipelineAgent` that a session uses, after release 3.0.1.

    It keeps a history, reads with its NLU in the context of that history, and ends when its policy says so; a policy
    that never says so gives None.
    """

    def __init__(self, nlu: Any, dst: Any, policy: Any, nlg: Any, name: str) -> None:
        self.nlu, self.dst, self.policy, self.nlg, self.name = nlu, dst, policy, nlg, name
        self.init_session()

    def init_session(self, **kwargs: Any) -> None:
        for part in (self.nlu, self.policy, self.nlg):
            part.init_session()
        self.history: list[list[str]] = []

    def response(self, observation: str) -> str:
        other = "user" if self.name == "sys" else "sys"
        self.history.append([other, observation])
        read = self.nlu.predict(observation, context=[text for _, text in self.history[:-1]])
        said: str = self.nlg.generate(self.policy.predict(read))
        self.history.append([self.name, said])
        return said

    def is_terminated(self) -> object:
        return self.policy.is_terminated() if hasattr(self.policy, "is_terminated") else None


def released_pipeline() -> Any:
    """ConvLab's own `PipelineAgent`, if its package is on the path; else None.

    Only the module of agents is executed: the package as a whole needs an old PyTorch and data from a hub.
    """
    spec = find_spec("convlab")
    if spec is None or not spec.submodule_search_locations:
        return None
    bases = {"nlu": "NLU", "dst": "DST", "policy": "Policy", "nlg": "NLG"}
    empty = {"convlab": ModuleType("convlab")}
    for name, base in bases.items():
        empty[f"convlab.{name}"] = part = ModuleType(f"convlab.{name}")
        setattr(part, base, object)
    path = Path(spec.submodule_search_locations[0]) / "dialog_agent" / "agent.py"
    found = spec_from_file_location("convlab_agent", path)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    with patch.dict(sys.modules, empty), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its docstrings have invalid escapes
        found.loader.exec_module(module)
    return module.PipelineAgent


class Words:
    """An NLU and an NLG that leave texts as they are."""

    def init_session(self) -> None:
        pass

    def predict(self, observation: str, context: list[str]) -> str:
        return observation

    def generate(self, action: str) -> str:
        return action


class VisitorPolicy(Visitor):
    """The policy of a user in a pipeline: ConvLab's calls it `predict`."""

    def predict(self, state: str) -> str:
        return str(self.response(state))

    def is_terminated(self) -> bool:
        return self.user is not None and bool(Visitor.is_terminated(self))


class DeskPolicy(Desk):
    """The policy of a system in a pipeline."""

    def predict(self, state: str) -> str:
        return str(self.response(state))


@pytest.mark.parametrize("released", [False, True])
def test_a_pipeline_of_convlab_is_a_system_and_a_user(released):
    agents = released_pipeline() if released else Pipeline
    if agents is None:
        pytest.skip("the source of convlab 3.0.1 is not on the path")
    desk = agents(Words(), None, DeskPolicy(), Words(), name="sys")
    assert desk.is_terminated() is None  # a system never ends a dialogue
    user = agents(Words(), None, VisitorPolicy(GOAL), Words(), name="user")
    world = task.make_world(simulator=user)
    for seed in range(3):
        dialogue = world.play(ConvLabSystem(desk), np.random.default_rng(seed))
        assert {one.dimension: one.value for one in dialogue.ratings}["success"] == 1.0
        assert set(dialogue.goal) == {"restaurant", "attraction"}


def test_goals_with_unknown_domains_are_skipped():
    police = {"police": {"info": {}, "reqt": {"phone": "?"}}}
    world = task.make_world(simulator=Visitor(police, GOAL))
    assert set(world.scene(np.random.default_rng(0)).goal) == {"restaurant", "attraction"}
    with pytest.raises(
        DataError, match=r"none of 50 goals drawn by ConvLab could be used; the last: .*`police`"
    ):
        task.make_world(simulator=Visitor(police)).scene(np.random.default_rng(0))
