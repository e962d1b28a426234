"""What a trainer of another package declares is what `train` and `attack --harden` know of it."""

from importlib.metadata import EntryPoint

import pytest

from turnwise import registry
from turnwise.commands.attack import Harden
from turnwise.errors import PluginError, UsageError
from turnwise.networks.training.checks import trainer_problem
from turnwise.run.attack.harden import harden
from turnwise.run.train import command


class Guarded:
    """Trains a metric with a guard."""

    takes_guard = True

    def __call__(self, task):
        raise NotImplementedError


class Plain(Guarded):
    takes_guard = False


class Wrong(Guarded):
    takes_guard = "yes"


GUARDED, PLAIN, WRONG = Guarded(), Plain(), Wrong()


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch):
    points = [
        EntryPoint(name, f"{__name__}:{name.upper()}", "turnwise.trainers")
        for name in ("guarded", "plain", "wrong")
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: [p for p in points if p.group == group])
    command._plugins.cache_clear()
    yield
    command._plugins.cache_clear()


@pytest.mark.parametrize(("name", "takes_guard"), [("guarded", True), ("plain", False)])
def test_a_trainer_says_whether_it_takes_a_guard(plugins, name: str, takes_guard: bool):
    assert command.trainer(name).takes_guard is takes_guard


def test_a_declaration_that_is_no_truth_value_is_an_error_with_the_name(plugins):
    with pytest.raises(
        PluginError, match=r"trainer `wrong` .*`takes_guard` is 'yes'; expected True or False"
    ):
        command.trainer("wrong")
    assert trainer_problem(WRONG) == "`takes_guard` is 'yes'; expected True or False"


def test_hardening_takes_every_trainer_with_a_guard_and_no_other(plugins, tmp_path):
    with pytest.raises(UsageError, match=r"`plain` cannot be hardened by itself: .*; usr-ret, maude, att do"):
        harden(Harden("plain", (), output=tmp_path))
    with pytest.raises(UsageError, match="needs a search"):  # the next check
        harden(Harden("guarded", (), output=tmp_path, stages="baselines"))
