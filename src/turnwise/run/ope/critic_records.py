"""Raw values of a critic of task logs as records, as a section of the results document, and as a file of turns."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from turnwise.errors import counted
from turnwise.estimators.critic.controls import LOGGED, PREFIX, Verdict
from turnwise.protocols import TaskCritic
from turnwise.records import CriticCheck, EstimateDiagnostics, EstimateRecord, finite
from turnwise.report import results
from turnwise.report.run_files import write_lines
from turnwise.run.ope.critic_values import CriticValues
from turnwise.stats.interval import Interval, mean_t_interval
from turnwise.types import Dialogue, Floats

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope


def raw_records(
    name: str,
    critic: TaskCritic,
    found: CriticValues,
    *,
    who: str,
    baselines: Mapping[str, Mapping[str, float]],
) -> list[EstimateRecord]:
    """One record for the logged agent, then each system, then each control; `who` is the logged agent's name."""
    rows = []
    signature = str(critic.signature)
    everyone = (*found.values, *found.refused)
    for key in sorted(everyone, key=lambda key: (key != LOGGED, key.startswith(PREFIX))):
        kind = "logged" if key == LOGGED else "control" if key.startswith(PREFIX) else "system"
        target = who if key == LOGGED else key
        if key in found.refused:
            rows.append(
                EstimateRecord.refusal(
                    found.refused[key], signature=signature, target=target, rating=critic.reward, estimator=name,
                    kind=kind, refused=True, diagnostics=EstimateDiagnostics(),
                )
            )  # fmt: skip
            continue
        valued, apart = found.values[key], found.differences.get(key)
        scores = {metric: numbers.get(who if key == LOGGED else key) for metric, numbers in baselines.items()}
        rows.append(
            EstimateRecord(
                target=target,
                rating=critic.reward,
                estimator=name,
                kind=kind,
                estimate=finite(valued.value),
                interval=_interval(valued.contributions),
                n_items=int(np.isfinite(valued.q).sum()),
                n_clusters=len(valued.contributions),
                method=f"fitted Q, cross-fitted over dialogues, gamma {critic.discount:g}; interval by influence",
                signature=signature,
                difference=None if apart is None else finite(float(apart.mean())),
                difference_interval=None if apart is None else _interval(apart),
                refused=False,
                logged=found.returned if key == LOGGED else None,
                fooled_by=found.verdict.fooled_by,
                bleu_delex=scores.get("bleu-delex"),
                length=scores.get("length"),
                entropy_2=scores.get("entropy-2"),
                success=scores.get("success"),
                diagnostics=EstimateDiagnostics(raw=finite(valued.value), bellman_error=finite(valued.error)),
            )
        )
    return rows


def _interval(contributions: Floats) -> Interval | None:
    """The t interval of the mean contribution; None with fewer than two contributions or if all are equal."""
    interval = mean_t_interval(contributions)
    return None if interval is None else (float(interval[0]), float(interval[1]))


def raw_notes(found: CriticValues, targets: Sequence[str]) -> list[str]:
    """What is known to be wrong with these raw values: the logged agent's, and those above what is possible."""
    notes = [found.bias] if found.bias else []
    if found.impossible:
        most = found.impossible[0]
        notes.append(
            f"{len(found.impossible)} of {counted(len(targets), 'system')} are valued above {found.possible:.1f}, the "
            f"most that dialogues of these lengths can return (`{most}` {found.values[most].value:.1f}): replies that "
            "are more typical than the logged ones are overrated"
        )
    return notes


def critic_section(found: CriticValues, critic: TaskCritic, *, who: str) -> CriticCheck:
    """The part of the results document about one critic: verdict, values of controls, value and return of `who`."""
    controls = {
        key.removeprefix(PREFIX): valued.value
        for key, valued in found.values.items()
        if key.startswith(PREFIX)
    }
    return structs.replace(
        critic_check(found.verdict, critic, controls, who=who),
        unvalued=tuple(key.removeprefix(PREFIX) for key in found.refused if key.startswith(PREFIX)),
        logged=who,
        logged_value=found.values[LOGGED].value,
        logged_return=found.returned,
        possible=found.possible,
        above_possible=tuple(found.impossible),
    )


def critic_check(
    verdict: Verdict, critic: TaskCritic, controls: Mapping[str, float], *, who: str
) -> CriticCheck:
    """The verdict on the critic's values of controls, with `who` for the logged agent."""
    return CriticCheck(
        fooled=verdict.fooled,
        fooled_by=verdict.fooled_by,
        worst_system=who if verdict.worst == LOGGED else verdict.worst,
        margin=verdict.margin,
        controls=dict(controls),
        taught=tuple(critic.trained_controls),
    )


def write_turns(
    spec: "Ope",
    name: str,
    dialogues: Sequence[Dialogue],
    found: CriticValues,
    systems: Sequence[str],
    *,
    who: str,
) -> None:
    """Write every logged turn with the Q of each system's reply there (the paper's Table 5) into -o.

    Without -o nothing is written.
    """
    if spec.files is None:
        return
    records, point = [], 0
    for one in dialogues:
        user = ""
        for index, turn in enumerate(one.turns):
            user = turn.text if turn.role == "user" else user
            if turn.role != "assistant" or turn.content is None:
                continue
            instead = {
                name: turn.alternatives[name][0].content for name in systems if name in turn.alternatives
            }
            said = {who: turn.text, **instead}
            asked = {agent: LOGGED if agent == who else agent for agent in said}
            q = {
                agent: float(found.values[key].q[point])
                for agent, key in asked.items()
                if key in found.values
            }
            records.append(
                {"dialogue": one.id, "turn": index, "estimator": name, "user": user, "replies": said, "q": q}
            )
            point += 1
    write_lines(spec.files, f"{results.file_name(name)}.turns.jsonl", records)
