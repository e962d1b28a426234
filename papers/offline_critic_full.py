"""The recurrent critic at the paper's size, 500 units and 100,000 episodes: a JSON file for each system.

    python papers/offline_critic_full.py KIND SYSTEM... --data DIR --output DIR [--seed N] [--models DIR]
    python papers/offline_critic_full.py table RESULTS   # keeps them in papers/offline-critic.json, writes the page

KIND says what an action is: `words` (replies as they were logged and published: people's with values, systems' with
placeholders), `delexicalised` (one word for each slot, for all), `latent` (points of the LAVA model `joint-0` of
--models) or `latent-free` (the same without the penalty, lambda 0). Published replies exist for the test dialogues
only, so there each half is valued by the critic of the other half. In `corpus`, `corpus-latent` and
`corpus-latent-free` the critic learns from the 8,438 training dialogues, as in the paper, and values the test
dialogues; actions are the words of the delexicalised corpus, or latent. Systems are `logged` (people), the published
ones, controls (`control:goodbye`), and with the delexicalised corpus also `joint-0`, `plas-0` and `gradient-0` of
--models. A result that is there is not computed again.
"""

import argparse
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from offline_critic import _returned, grid, of_test, write
from offline_critic_published import PRINTED, TABLE_2

from turnwise.encode.episodes import encode, whole
from turnwise.encode.models import folder
from turnwise.estimators.critic.controls import CONTROLS, LOGGED, PREFIX, with_controls
from turnwise.estimators.critic.evaluation import SystemValue
from turnwise.estimators.neural.critic import Learner, PaperCritic, Training
from turnwise.logs.native import read_all
from turnwise.networks.lava.corpus import reply_positions
from turnwise.networks.lava.model import Model
from turnwise.run.ope import task_log
from turnwise.run.scoring.tally import generator
from turnwise.stats.interval import mean_t_interval
from turnwise.types import Dialogue, RepliesAtPoints, Reply

KINDS = ("words", "delexicalised", "latent", "latent-free", "corpus", "corpus-latent", "corpus-latent-free")
PUBLISHED = ("augpt", "lava", "hdsa", "ubar", "damd")  # systems whose success with people or users is known
OWN = ("joint-0", "plas-0", "gradient-0")
PEOPLE = "logged"
SIZE: dict[str, int | float] = {"hidden": 500, "drawn": 100_000, "rate": 0.01}  # section 5.2
PAGE = Path(__file__).with_name("offline-critic.md")


def valued(given: argparse.Namespace, systems: Sequence[str]) -> None:
    """Train the critic of each system and write its value."""
    began = time.time()
    dialogues = _dialogues(given)
    plain = task_log.with_uniform_placeholders(dialogues) if given.kind == "delexicalised" else dialogues
    controlled = with_controls(plain, generator(0, "controls"))
    paid = dict.fromkeys((one.id for one in dialogues), 100.0)
    episodes = encode(whole(controlled, paid), rating="return", delexicalised=False)
    settings: dict[str, Any] = {name: getattr(given, name) for name in SIZE}
    if "latent" in given.kind:
        settings |= {"actions": str(given.models / "joint-0")}
        settings |= {"penalty": 0.0} if given.kind.endswith("free") else {}
    critic = PaperCritic(reward="one", form="one" if given.kind == "delexicalised" else "logged", **settings)
    training = critic.with_facts(task_log.facts(dialogues)).evaluation(episodes, seed=given.seed)
    held = np.array([_is_test(one) for one in dialogues])
    first = episodes.first
    returned = _returned(np.append(0, np.cumsum(np.diff(first)[held])), episodes.reward[held])
    print(f"{given.kind}: {len(dialogues)} dialogues after {time.time() - began:.0f} s", flush=True)
    for name in systems:
        began = time.time()
        found = _value(training, episodes.alternatives[LOGGED if name == PEOPLE else name], held)
        record = {
            "kind": given.kind, "system": name, "seed": given.seed, **{size: getattr(given, size) for size in SIZE},
            "value": found.value, "interval": mean_t_interval(found.contributions), "error": found.error,
            "return": returned, "n": int(held.sum()),
            "device": str(training.device), "seconds": time.time() - began,
            "signature": str(critic.signature).replace(f"{given.models}/", ""),
        }  # fmt: skip
        text = json.dumps(record, default=lambda value: list(map(float, value)))
        _file(given, name).write_text(text + "\n")
        print(f"{given.kind} {name} {given.seed}: {found.value:.2f} in {record['seconds']:.0f} s", flush=True)


def _is_test(dialogue: Dialogue) -> bool:
    return bool(dialogue.meta["split"] == "test")


def _value(training: Training, said: RepliesAtPoints, held: NDArray[np.bool_]) -> SystemValue:
    """The value in the held-out dialogues by a critic of the others; without others, cross-fitted."""
    if held.all():
        return training.value(said)
    torch.manual_seed(training.seed)
    learner = Learner(training, torch.as_tensor(said.text[:, 0], device=training.device))
    learner.train(np.flatnonzero(~held))
    q, error = learner.values_and_errors(np.flatnonzero(held))
    first = np.append(0, np.cumsum(np.diff(training.episodes.first)[held]))[:-1]
    return SystemValue(100 * q[first], 100 * q, 100 * float(np.sqrt(np.mean(error**2))))  # rewards are 100


def _file(given: argparse.Namespace, system: str) -> Path:
    """The file of a system's result."""
    return Path(given.output) / f"{given.kind}.{system.replace(':', '-')}.{given.seed}.json"


def _dialogues(given: argparse.Namespace) -> list[Dialogue]:
    """The dialogues with the systems' replies; all but `words` and `delexicalised` are of the delexicalised corpus."""
    if given.kind in ("words", "delexicalised"):
        return of_test(given.data)[0][: given.most]
    whole_corpus = given.kind.startswith("corpus")
    published = {} if whole_corpus else {one.id.lower(): one for one in of_test(given.data)[0]}
    splits = ("train", "test") if whole_corpus else ("test",)
    every = list(read_all((str(given.data / "multiwoz_delex.jsonl.gz"),)))
    corpus = [
        one
        for split in splits
        for one in [one for one in every if one.meta["split"] == split and reply_positions(one)][: given.most]
        if whole_corpus or one.id.lower() in published
    ]
    own = {name: _replies(given.models / name, corpus) for name in OWN if (given.models / name).is_dir()}
    return [
        _with_alternatives(one, published.get(one.id.lower()), {name: of[one.id] for name, of in own.items()})
        for one in corpus
    ]


def _replies(model: Path, corpus: Sequence[Dialogue]) -> dict[str, dict[int, str]]:
    """Dialogue id -> position of a turn -> what the policy says there."""
    stored = folder.load(model, str(folder.read_config(model)["kind"]))
    policy = Model.of(stored, device="cuda" if torch.cuda.is_available() else "cpu")
    data = policy.corpus(corpus)
    texts = iter(policy.speak(data.user, data.state))
    return {one.id: {position: next(texts) for position in reply_positions(one)} for one in corpus}


def _with_alternatives(
    dialogue: Dialogue, published: Dialogue | None, own: Mapping[str, Mapping[int, str]]
) -> Dialogue:
    """The dialogue with the replies of the published systems and of our own policies at its system turns."""
    turns = []
    theirs = dialogue.turns if published is None else published.turns
    for position, (turn, other) in enumerate(zip(dialogue.turns, theirs, strict=True)):
        said = {name: other.alternatives[name] for name in PUBLISHED if name in other.alternatives}
        said |= {name: (Reply(of[position]),) for name, of in own.items() if position in of}
        turns.append(replace(turn, alternatives=said if turn.role == "assistant" else {}))
    return replace(dialogue, turns=tuple(turns))


def table(results: Path) -> None:
    """Keep the results and write Tables 2 and 4 of the page."""
    found = [json.loads(path.read_text()) for path in sorted(results.rglob("*.*.[0-9].json"))]
    write({"full size": {f"{one['kind']} {one['system']} {one['seed']}": one for one in found}})
    text = "\n".join([*_values(found), "", *_grids(found)])
    before, there, rest = PAGE.read_text().partition("<!-- full size -->\n")
    _, closed, after = rest.partition("<!-- end of full size -->")
    if not (there and closed):
        raise SystemExit(f"{PAGE}: there are no marks for `full size`")
    PAGE.write_text(f"{before}{there}\n{text}\n\n{closed}{after}")
    print(text)


def _values(found: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """A row for each system: its value by each kind of action, with the seeds' mean and range."""
    kinds = [kind for kind in KINDS if any(one["kind"] == kind for one in found)]
    yield f"| | {' | '.join(kinds)} | the paper |"
    yield "|---" * (len(kinds) + 2) + "|"
    names = (PEOPLE, *PUBLISHED, *OWN, *(PREFIX + name for name in CONTROLS))
    printed = dict(zip(("augpt", "plas-0", "lava", "hdsa"), PRINTED["critic"], strict=True)) | {PEOPLE: 52.68}
    for name in names:
        cells = [
            _cell([one for one in found if one["kind"] == kind and one["system"] == name]) for kind in kinds
        ]
        if any(cells):
            shown = f"*{name.removeprefix(PREFIX)}*" if name.startswith(PREFIX) else name
            yield f"| {'people' if name == PEOPLE else shown} | {' | '.join(cells)} | {printed.get(name, '')} |"
    returns = [next(one["return"] for one in found if one["kind"] == kind) for kind in kinds]
    yield f"| *people's return* | {' | '.join(f'{value:.2f}' for value in returns)} | 52.69 |"


def _cell(runs: Sequence[Mapping[str, Any]]) -> str:
    values = [one["value"] for one in runs]
    if not values:
        return ""
    spread = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def _grids(found: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Pearson and Spearman of the values with the judgement of people and of ConvLab's users, where all are valued."""
    yield "| critic, full size | people success (3) | people rating (3) | ConvLab success (5) |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        values = {
            name: float(np.mean(mine))
            for name in PUBLISHED
            if (mine := [one["value"] for one in found if one["kind"] == kind and one["system"] == name])
        }
        if set(values) >= set(TABLE_2) - {"human"}:
            found_grid = grid({"critic": values})["critic"]
            cells = [
                f"{one['pearson']:.2f} / {one['spearman']:.2f}".replace("0.", ".") if one else ""
                for one in map(found_grid.get, ("people success", "people rating", "ConvLab success"))
            ]
            yield f"| {kind} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=(*KINDS, "table"))
    parser.add_argument("systems", nargs="+", help="names of systems; for `table` the folder of results")
    parser.add_argument("--data", type=Path, help="the folder of the corpora")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--models", type=Path, help="the folder of joint-0, plas-0 and gradient-0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, help="number of dialogues of a split; default: all")
    for name, size in SIZE.items():
        parser.add_argument(f"--{name}", type=type(size), default=size)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.kind == "table":
        table(Path(given.systems[0]))
        return
    given.output.mkdir(parents=True, exist_ok=True)
    left = [name for name in given.systems if not _file(given, name).exists()]
    if left:
        valued(given, left)


if __name__ == "__main__":
    main()
