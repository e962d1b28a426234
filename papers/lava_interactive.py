"""LAVA, PLAS and policy gradient with simulated users: the figures of papers/lava-interactive.md.

    python papers/lava_interactive.py MODEL... --data DIR

MODEL is a folder that `turnwise train lava|plas|lava-pg` or papers/lava.py wrote. All policies talk to the same 1,000
simulated users with the goals and tables of MultiWOZ's test set (`turnwise simulate task` with `--with NAME=MODEL`),
and so does the rule-based system of the world. Earlier results are kept in papers/lava-interactive.json.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from turnwise.agents import resolve
from turnwise.agents.calling import ReplyRequest
from turnwise.logs import native
from turnwise.run.dialogues.simulate import Simulation, simulate
from turnwise.worlds.task.system_sentences import REPEAT_PLEASE

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "lava-interactive.json", HERE / "lava-interactive.md"
DOMAIN = re.compile(r"\b(restaurant|hotel|attraction|train|taxi)(?=_|\b)")
COLUMNS = ("complete", "success", "book", "f1", "turns")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
RULES = "rules"  # the world's own system
# Lubis et al. 2022, Table 1: ConvLab-2's users, 5 seeds.
PAPER = {
    "the paper's SL": (37.42, 31.87, 19.12, 49.11, 21.57),
    "the paper's SL + PLAS": (47.02, 39.40, 36.74, 57.14, 21.99),
}


def goals(data: Path, to: Path) -> Path:
    """The goals of the test set, in dialogues of one turn."""
    whole = native.read(str(data / "multiwoz_valtest.jsonl.gz"))
    lines = (
        {"id": one.id, "messages": [{"role": "user", "content": one.turns[0].text}], "goal": one.goal}
        for one in whole
        if one.meta["split"] == "test"
    )
    path = to / "goals.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def met(model: Path, data: Path, *, dialogues: int) -> dict[str, Any]:
    """The true scores of a policy and of the rule-based system, and how often the policy asked the user to repeat."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs.jsonl"
        simulation = Simulation(
            world="task",
            family="graded",
            agents=1,
            dialogues=max(1, dialogues // 20),
            samples=1,
            truth=dialogues,
            outsiders=((model.name, str(model)),),
            db=str(data / "multiwoz_db"),
            goals=str(goals(data, Path(folder))),
        )
        truth = simulate(simulation, str(logs), quiet=False)["agents"]
        said = [
            turn.text
            for one in native.read(str(logs))
            if one.agent == model.name
            for turn in one.turns
            if turn.role == "assistant"
        ]
    again = {"share": sum(text == REPEAT_PLEASE for text in said) / len(said), "n": len(said)}
    policy = truth[model.name] | {"again": again, "strays": strays(model, data)}
    return {RULES: truth["grade-00"], model.name: policy}


def strays(model: Path, data: Path, *, most: int = 1000) -> dict[str, float]:
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
                asked.append(
                    ReplyRequest((replace(before, state=turn.state, extra={"db_pointer": found}),), 0)
                )
                domains.extend(turn.state or {})
    answers = resolve(str(model)).replies(asked)  # type: ignore[attr-defined]
    named = [set(DOMAIN.findall(one.content)) for one in answers]
    speaking = [(domain, said) for domain, said in zip(domains, named, strict=True) if said]
    return {"share": sum(domain not in said for domain, said in speaking) / len(speaking), "n": len(speaking)}


def table(found: Mapping[str, Any]) -> str:
    lines = [
        "| policy | dialogues | complete | success | book | F1 | turns | asked again | another domain |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, scores in sorted(found.items(), key=lambda pair: (pair[0] == RULES, pair[0])):
        cells = [_cell(scores, column) for column in COLUMNS]
        for share in ("again", "strays"):
            cells.append(f"{100 * scores[share]['share']:.0f} %" if share in scores else "")
        lines.append(f"| {name} | {scores['success']['n']} | {' | '.join(cells)} |")
    for name, numbers in PAPER.items():
        lines.append(f"| *{name}* | 1000 | {' | '.join(f'{number:.1f}' for number in numbers)} | | |")
    return "\n".join(lines)


def _cell(scores: Mapping[str, Any], column: str) -> str:
    """A mean with the half width of its 95 % interval."""
    if column not in scores:
        return "-"
    scale = 1 if column == "turns" else 100
    return f"{scale * scores[column]['mean']:.1f} ± {1.96 * scale * scores[column]['se']:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the corpora")
    parser.add_argument("--dialogues", type=int, default=1000)
    parser.add_argument("--strays", action="store_true", help="only this column anew")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for model in given.models:
        found = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
        if given.strays:
            found[model.name]["strays"] = strays(model, given.data)
        else:
            found |= met(model, given.data, dialogues=given.dialogues)
        RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(found)}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
