"""tools/count_modules.py counts the modules that a command passes through; the numbers do not grow."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Command -> modules; one that is added needs a reason. When the rooms were made there were 37, 49, 51, 42 and 28. Since
# then every command reads foreign files (library/reading, logs/dialogue), fits its tables to the terminal (terminal,
# report/fitting), checks the sums of what it reads again, runs plugins in one place (plugin_code), and limits threads
# of linear algebra (run/workers/threads); `meta` also has the agreement inside agents, shared draws of systems, faster
# pair statistics, and correlations over systems in a module of their own; `ope` calibrates with errors of the known
# means; `attack` mixes strategies (slots, features, mixed). The library loads its modules when they are needed
# (library/__init__), and intervals have quantiles of their own, not those of scipy (stats/computing/tails): both save
# time at the start; `meta` remembers what pairs of metrics share (stats/computing/remembered), and resamples come from
# draws that all statistics of `meta` share (stats/shared_draws). Warnings are looked for with --quiet, too
# (library/notes), agents that --limit cuts off are named (run/cut_agents), and `attack` has a progress bar
# (run/workers/execute). `score` counts items that a metric learned from (run/scoring/seen_items). A command line is
# made from the settings of a class (cli/building, settings/option, settings/groups, commands/screen,
# commands/opening), in place of cli/common/options, library/arguments and the functions of the library.
MOST = {"score": 52, "meta": 75, "ope": 60, "attack": 57, "rate-export": 37}
# Command -> a module that it calls, and one that only other commands call.
CALLED = {
    "score": ("run/scoring/score.py", "run/scoring/meta.py"),
    "meta": ("meta/correlate.py", "run/scoring/score.py"),
    "ope": ("estimators/linear/problem.py", "estimators/linear/stream.py"),
    "attack": ("attacks/verdict.py", "run/attack/harden.py"),
    "rate-export": ("web/study/export.py", "web/study/status.py"),
}


@pytest.mark.parametrize("command", MOST)
def test_a_command_passes_through_no_more_modules_than_before(command: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tools.count_modules", command, "--list"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    count, modules = int(found[1]), found[2:]
    assert count == len(modules) <= MOST[command]
    called, not_called = CALLED[command]
    assert called in modules
    assert not_called not in modules
