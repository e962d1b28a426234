"""The types of a scenario file, from which its JSON Schema is generated.

The docstrings of the types and the descriptions of their fields are the descriptions in the schema.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

MAX_TURNS = 12  # replies of the agent in a scenario that does not say how many


def _said(text: str, **limits: Any) -> Meta:
    """A description for the schema, with limits on the value."""
    return Meta(description=text, **limits)


Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Fact: TypeAlias = str | int | float | bool


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool answers when it is called with these arguments."""

    result: Annotated[Any, _said("What the tool returns: a text, or a value that is written as JSON.")]
    arguments: Annotated[
        dict[str, Any], _said("The call must have these arguments; it may have more. Default: any call.")
    ] = field(default_factory=dict)
    sets: Annotated[
        dict[str, Any], _said("What the call changes in the state: a path such as order.status -> its value.")
    ] = field(default_factory=dict)


class Tool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool that the agent may call. Without `results` a function of --tools with its name is called."""

    name: Annotated[str, _said("The name by which it is called.", min_length=1)]
    description: Annotated[str, _said("What the agent is told about it.")] = ""
    parameters: Annotated[dict[str, Any], _said("The JSON Schema of its arguments.")] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    results: Annotated[
        list[Outcome], _said("Recorded or scripted results; the first that fits is given.")
    ] = field(default_factory=list)

    def definition(self) -> dict[str, Any]:
        """The tool in OpenAI's form."""
        about = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": about}


class Call(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of a tool that must have been made."""

    name: Annotated[str, _said("The name of the tool.", min_length=1)]
    arguments: Annotated[dict[str, Any], _said("Arguments that the call must have; it may have more.")] = (
        field(default_factory=dict)
    )


class Success(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must hold at the end. All of it must hold."""

    calls: Annotated[list[Call], _said("Calls that the agent must have made without an error.")] = field(
        default_factory=list
    )
    never_calls: Annotated[list[str], _said("Tools that the agent must not have called.")] = field(
        default_factory=list
    )
    state: Annotated[
        dict[str, Any], _said("What the state must be: a path such as order.status -> its value.")
    ] = field(default_factory=dict)
    says: Annotated[
        list[Text],
        _said(
            "Words that the agent must have said; capitals and spaces do not matter, and a number is a whole one."
        ),
    ] = field(default_factory=list)
    never_says: Annotated[list[Text], _said("Words that the agent must not have said.")] = field(
        default_factory=list
    )
    judge: Annotated[str, _said("A yes-or-no rubric on the whole dialogue for --judge.")] = ""

    @property
    def is_checked(self) -> bool:
        """Whether anything must hold that needs no judge."""
        return bool(self.calls or self.never_calls or self.state or self.says or self.never_says)


class Scenario(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One situation in which an agent is tried: who talks to it, what for, and what must hold at the end."""

    id: Annotated[str, _said("Its name, once in all files.", min_length=1)]
    kind: Annotated[
        str, _said("Scenarios of one kind are compared with real dialogues of this kind.", min_length=1)
    ] = "all"
    persona: Annotated[str, _said("Who the user is, and how they talk.")] = ""
    goal: Annotated[str, _said("What the user wants.")] = ""
    facts: Annotated[dict[str, Fact], _said("What the user knows and may tell: name -> value.")] = field(
        default_factory=dict
    )
    success: Annotated[Success, _said("What must hold at the end.")] = field(default_factory=Success)
    turns: Annotated[
        list[Text], _said("What the user says, message by message; a simulated user goes on after the last.")
    ] = field(default_factory=list)
    max_turns: Annotated[int, _said("Most replies of the agent.", ge=1, le=1000)] = MAX_TURNS
    tools: Annotated[list[Tool], _said("Tools of the agent in this scenario.")] = field(default_factory=list)
    state: Annotated[dict[str, Any], _said("What the tools work on, at the beginning.")] = field(
        default_factory=dict
    )
    briefing: Annotated[str, _said("What the agent is told before the dialogue, as a system message.")] = ""
    world: Annotated[
        str, _said("A world of `turnwise simulate`: it draws the user's goal and scores the end.")
    ] = ""

    @property
    def known(self) -> Mapping[str, str]:
        """The facts as texts."""
        return {name: _as_text(value) for name, value in self.facts.items()}


class ScenarioFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of scenarios."""

    scenarios: Annotated[
        list[Scenario], _said("The scenarios, in the order in which they are played.", min_length=1)
    ]
    tools: Annotated[list[Tool], _said("Tools that the agent has in every scenario.")] = field(
        default_factory=list
    )


def _as_text(value: Fact) -> str:
    """A fact as people would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_goal(scenario: Scenario) -> dict[str, Any]:
    """The scenario as the `goal` of a logged dialogue: persona, goal, facts and what must hold, where it has them."""
    parts = {
        "persona": scenario.persona,
        "goal": scenario.goal,
        "facts": dict(scenario.facts),
        "success": {name: value for name, value in msgspec.to_builtins(scenario.success).items() if value},
    }
    return {name: value for name, value in parts.items() if value}
