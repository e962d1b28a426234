"""LAVA, PLAS and policy gradient with simulated users: the figures of papers/lava-interactive.md.

    python papers/lava_interactive.py play MODEL... --data DIR --output RESULTS [--dialogues 1000]
    python papers/lava_interactive.py table RESULTS      # keeps them in papers/lava-interactive.json, writes the page

MODEL is a folder that papers/lava.py or papers/lava_pack.py wrote, such as `joint-0`, or `rules`, the world's own
system. All of them talk to the same simulated users, with the goals and tables of MultiWOZ's test set: the dialogues
are those of `turnwise simulate task --db DIR/multiwoz_db --goals GOALS --truth 1000 --with NAME=MODEL`. They are played
side by side, so that a policy replies to many users at once. A result that is there is not computed again.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

from turnwise.agents import resolve
from turnwise.agents.calling import ReplyRequest
from turnwise.logs import native
from turnwise.run.dialogues.simulate import TRUTH
from turnwise.types import Turn
from turnwise.worlds.task import make_world
from turnwise.worlds.task.annotation import with_annotations
from turnwise.worlds.task.lexicalise import DELEXICALISED, dialogue_code, lexicalise
from turnwise.worlds.task.scoring import DIMENSIONS
from turnwise.worlds.task.system_sentences import REPEAT_PLEASE
from turnwise.worlds.task.systems import System
from turnwise.worlds.task.world import Scene, Task

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "lava-interactive.json", HERE / "lava-interactive.md"
DOMAIN = re.compile(r"\b(restaurant|hotel|attraction|train|taxi)(?=_|\b)")
COLUMNS = ("complete", "success", "book", "f1", "turns")
RULES = "rules"  # the world's own system
STAGES = {"joint": "SL", "plas": "SL + PLAS", "gradient": "SL + policy gradient"}
# Lubis et al. 2022, Table 1: ConvLab-2's users, 5 seeds.
PAPER = {"joint": (37.42, 31.87, 19.12, 49.11, 21.57), "plas": (47.02, 39.40, 36.74, 57.14, 21.99)}


@dataclass(slots=True)
class Conversation:
    """One dialogue in progress."""

    scene: Scene
    rng: np.random.Generator
    turns: list[Turn]
    over: bool = False


def world_of(data: Path) -> Task:
    """The town of MultiWOZ's tables, whose users have the goals of its test set."""
    whole = native.read(str(data / "multiwoz_valtest.jsonl.gz"))
    goals = [(one.id, one.goal) for one in whole if one.meta["split"] == "test" and one.goal]
    return make_world(str(data / "multiwoz_db"), goals=goals)


def play(model: str, world: Task, *, dialogues: int) -> list[Conversation]:
    """The dialogues of one policy, each turn of all of them at once."""
    talks = []
    for number in range(dialogues):
        rng = np.random.default_rng([0, TRUTH, number])  # as in `simulate`
        scene = world.scene(rng)
        talks.append(Conversation(scene, rng, [scene.briefing, Turn("user", scene.first_message(rng))]))
    agent: Any = System(world.tracker) if model == RULES else resolve(model)
    while going := [talk for talk in talks if not talk.over]:
        if model == RULES:
            replies = [agent(talk.turns, talk.rng) for talk in going]
        else:
            asked = [ReplyRequest(with_annotations(talk.turns, world.tracker), 0) for talk in going]
            replies = [
                lexicalise(reply, world.tracker(talk.turns), world.tables, code=dialogue_code(talk.turns))
                for talk, reply in zip(going, agent.replies(asked), strict=True)
            ]
        for talk, reply in zip(going, replies, strict=True):
            talk.turns.append(reply.turn(None))
            said = talk.scene.next_message(talk.turns, talk.rng)
            talk.over = said is None
            if said is not None:
                talk.turns.append(Turn("user", said))
    return talks


def result(talks: Sequence[Conversation]) -> dict[str, Any]:
    """The true scores of each dialogue, and the share of replies in whose place the user was asked to repeat."""
    scores = [talk.scene.truth(talk.turns) for talk in talks]
    said = [turn.text for talk in talks for turn in talk.turns if turn.role == "assistant"]
    return {
        "again": sum(text == REPEAT_PLEASE for text in said) / len(said),
        "scores": {name: [round(one[name], 4) for one in scores] for name in DIMENSIONS},
    }


def strays(model: str, data: Path, *, most: int = 1000) -> float:
    """The share of replies that name a wrong domain, in logged test turns at which only one domain is active.

    A domain is named by the prefix of a placeholder or by a plain word; `[value_name]` and the like name none.
    """
    asked, domains = [], []
    for one in native.read(str(data / "multiwoz_delex.jsonl.gz")):
        if one.meta["split"] != "test" or len(asked) >= most:
            continue
        bits = iter(one.meta["db_pointer"])
        for before, turn in pairwise(one.turns):
            found = next(bits) if before.role == "user" else ""
            if turn.role == "assistant" and len(turn.state or {}) == 1:
                annotated = replace(before, state=turn.state, extra={"db_pointer": found})
                asked.append(ReplyRequest((annotated,), 0))
                domains.extend(turn.state or {})
    agent: Any = resolve(model)
    named = [set(DOMAIN.findall(one.content)) for one in agent.replies(asked)]
    speaking = [(domain, said) for domain, said in zip(domains, named, strict=True) if said]
    return sum(domain not in said for domain, said in speaking) / len(speaking)


def reasons(talks: Sequence[Conversation]) -> Counter[str]:
    """Why users did not get what they wanted, by the first domain that is not complete: what was missing there."""
    found: Counter[str] = Counter()
    for talk in talks:
        parts = talk.scene.user.view(talk.turns[1:]).parts
        part = next((part for part in parts if not part.done), None)
        if part is not None:
            lacks = "venue" if not part.found else "answers" if part.open_requests() else "booking"
            found[f"{part.wish.domain}: {lacks}"] += 1
    return found


def table(results: Path) -> None:
    """Keep the results, and write the tables of the page."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    kept = {name: _summary(one) for name, one in found.items()}
    kept["over SL"] = {stage: _rises(found, stage) for stage in STAGES if stage != "joint"}
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    _write("results", [*_means(kept), "", *_differences(kept["over SL"])])
    _write("seeds", list(_rows(kept)))


def _summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """Mean, standard error and number of dialogues of each score, with the other shares."""
    scores: dict[str, Any] = {}
    for name, values in found["scores"].items():
        known = np.array(values, dtype=float)
        known = known[~np.isnan(known)]
        error = float(known.std(ddof=1) / np.sqrt(len(known)))
        scores[name] = {"mean": float(known.mean()), "se": error, "n": len(known)}
    return scores | {name: found[name] for name in ("again", "strays", "reasons") if name in found}


def _seeds(kept: Mapping[str, Any], stage: str) -> dict[str, Any]:
    return {
        name.rpartition("-")[2]: one for name, one in sorted(kept.items()) if name.rpartition("-")[0] == stage
    }


def _percent(scores: Mapping[str, Any], column: str) -> float:
    return float((1 if column == "turns" else 100) * scores[column]["mean"])


def _means(kept: Mapping[str, Any]) -> list[str]:
    """A row for each kind of policy: mean and deviation over seeds."""
    lines = [
        "| policy | seeds | complete | success | book | F1 | turns | asked again | another domain |",
        "|---" * 9 + "|",
    ]
    for stage, name in STAGES.items():
        runs = list(_seeds(kept, stage).values())
        cells = [_spread([_percent(one, column) for one in runs]) for column in COLUMNS]
        cells += [f"{100 * np.mean([one[share] for one in runs]):.0f} %" for share in ("again", "strays")]
        lines.append(f"| {name} (`{stage}`) | {len(runs)} | {' | '.join(cells)} |")
        if stage in PAPER:
            cells = [f"{number:.1f}" for number in PAPER[stage]]
            lines.append(f"| *the paper's {name}* | 5 | {' | '.join(cells)} | | |")
    cells = [f"{_percent(kept[RULES], column):.1f}" for column in COLUMNS]
    return [*lines, f"| {RULES} | | {' | '.join(cells)} | {100 * kept[RULES]['again']:.0f} % | |"]


def _rises(found: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """What a stage adds to SL with the same seed, in points: by seed, and intervals over users and over seeds.

    Over users: these trained policies, other users of the same kind. Over seeds: other trainings.
    """
    rises = {}
    seeds = sorted(name.rpartition("-")[2] for name in found if name.startswith("joint-"))
    for column in COLUMNS[:-1]:
        apart = np.array(
            [
                100 * (_scores(found[f"{stage}-{seed}"], column) - _scores(found[f"joint-{seed}"], column))
                for seed in seeds
            ]
        )
        by_seed, by_user = np.nanmean(apart, axis=1), apart.mean(axis=0)
        rises[column] = {
            "by_seed": by_seed.round(2).tolist(),
            "over_users": _interval(by_user[~np.isnan(by_user)]),
            "over_seeds": _interval(by_seed),
        }
    return rises


def _scores(found: Mapping[str, Any], column: str) -> Any:
    return np.array(found["scores"][column], dtype=float)


def _interval(values: Any) -> list[float]:
    """Mean, and the ends of its 95 % t interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return [round(float(one), 2) for one in (values.mean(), values.mean() - half, values.mean() + half)]


def _differences(rises: Mapping[str, Any]) -> list[str]:
    """What PLAS and policy gradient add to SL."""
    lines = ["| over SL, same seed | | complete | success | book | F1 |", "|---" * 6 + "|"]
    for stage, columns in rises.items():
        for over in ("over_users", "over_seeds"):
            cells = [
                "{:+.1f} [{:.1f}, {:.1f}]".format(*columns[column][over])
                + f", {sum(one > 0 for one in columns[column]['by_seed'])} of {len(columns[column]['by_seed'])}"
                for column in COLUMNS[:-1]
            ]
            lines.append(f"| {STAGES[stage]} | {over.replace('_', ' ')} | {' | '.join(cells)} |")
    return lines


def _rows(kept: Mapping[str, Any]) -> list[str]:
    """A row for each policy, with the half width of its 95 % interval over dialogues."""
    lines = ["| policy | complete | success | book | F1 | turns |", "|---" * 6 + "|"]
    for name, one in sorted(kept.items()):
        if name == "over SL":
            continue
        cells = [
            f"{_percent(one, column):.1f} ± {1.96 * (1 if column == 'turns' else 100) * one[column]['se']:.1f}"
            for column in COLUMNS
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def _write(place: str, lines: Sequence[str]) -> None:
    before, there, rest = PAGE.read_text().partition(f"<!-- {place} -->\n")
    _, closed, after = rest.partition(f"<!-- end of {place} -->")
    if not (there and closed):
        raise SystemExit(f"{PAGE}: there are no marks for `{place}`")
    PAGE.write_text(f"{before}{there}\n" + "\n".join(lines) + f"\n\n{closed}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("play", "table"))
    parser.add_argument(
        "models", nargs="+", help="model folders or `rules`; for `table` the folder of results"
    )
    parser.add_argument("--data", type=Path, help="the folder of the corpora")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--dialogues", type=int, default=1000)
    parser.add_argument("--show", type=int, default=0, help="print this many dialogues that did not succeed")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "table":
        table(Path(given.models[0]))
        return
    world = world_of(given.data)
    given.output.mkdir(parents=True, exist_ok=True)
    for model in given.models:
        target = given.output / f"{Path(model).name}.json"
        if target.exists():
            continue
        began = time.time()
        talks = play(model, world, dialogues=given.dialogues)
        found = result(talks) | {"reasons": dict(reasons(talks).most_common())}
        if model != RULES:
            found["strays"] = strays(model, given.data)
        target.write_text(json.dumps(found) + "\n")
        rates = {name: round(float(np.nanmean(values)), 3) for name, values in found["scores"].items()}
        print(model, rates, f"again {found['again']:.2f}", f"{time.time() - began:.0f} s", flush=True)
        failed = [talk for talk in talks if not talk.scene.truth(talk.turns)["success"]]
        for talk in failed[: given.show]:
            print(talk.scene.goal)
            for turn in talk.turns[1:]:
                print(f"  {turn.role}: {turn.text}   {turn.extra.get(DELEXICALISED, '')}")
        if given.show:
            print(reasons(talks).most_common(12))


if __name__ == "__main__":
    main()
