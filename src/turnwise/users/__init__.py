"""Simulated users: what they say, when they end, and what they do wrong.

scripted             the turns of the scenario, and nothing more
rules                the user of the scenario's world
DIR                  what `turnwise train user` wrote: a user learned from real ones
any agent            a language model, an address or a function that is told persona, goal and facts
"""

from pathlib import Path
from typing import Any

from turnwise.users.user import SimulatedUser

RULES, SCRIPTED = "rules", "scripted"


def resolve(spec: str, **settings: Any) -> SimulatedUser:
    """The simulated user that `spec` means, made with `settings`; raises `UsageError` for one that there is not."""
    from turnwise.errors import UsageError

    if spec in (RULES, SCRIPTED):
        from turnwise.users.rules import RuleUser
        from turnwise.users.scripted import ScriptedUser

        if settings:
            raise UsageError(f"the user `{spec}` has no settings")
        return RuleUser() if spec == RULES else ScriptedUser()
    if Path(spec).is_dir():
        from turnwise.encode.models import folder

        if folder.is_trained(Path(spec)) and folder.read_config(Path(spec))["kind"] == "user":
            from turnwise.users.learned import learned_user

            return learned_user(folder.load(spec, "user"), **settings)
    from turnwise.users.model import model_user

    return model_user(spec, **settings)
