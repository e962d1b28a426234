"""Users' reactions as a prior of ratings: the model of the metric `reactions`, and its agreement across corpora.

    python -m papers.reactions train DATA      writes src/turnwise/data/models/reactions
    python -m papers.reactions table DATA      writes papers/reactions.json: each corpus by the model without it
    python -m papers.reactions show            writes the tables of papers/reactions.md

Five public corpora of dialogues that people held and rated as a whole. A dialogue's rating is the mean of its oriented
dimensions, standardised in its corpus; corpora count equally, and agents inside a corpus. Vectors are taken relative to
their mean in the corpus, so that only differences inside corpora are learned. The penalty was not chosen: it is a
thousandth of the middle of the range that was tried first on corpora that are not here.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from turnwise.encode.models.folder import save
from turnwise.encode.sides import said, sides
from turnwise.logs.native import read
from turnwise.metrics.learned.reactions import FEWEST_TURNS, hashes, long_turns, repeated_share
from turnwise.metrics.learned.trained import encoder_card
from turnwise.metrics.models import text_encoder
from turnwise.types import Dialogue, Floats, Ints, Role, Turn

MODEL = "minilm"
PENALTY = 0.1  # of vectors at unit length, with weights that sum to 1
FEWEST = 15  # dialogues of an agent
# corpus -> file, agents left out, most dialogues, licence. chitchat_byu has one agent, people: 600 say enough of it.
CORPORA: Mapping[str, tuple[str, tuple[str, ...], int, str]] = {
    "ji2022": ("ji2022.jsonl.gz", ("qc",), 10**6, "MIT"),
    "ieval": ("ieval.jsonl.gz", (), 10**6, "CC BY 4.0"),
    "convai2_2018": ("convai2_2018.jsonl.gz", (), 10**6, "none stated"),
    "fed_dialog": ("fed_dialog.jsonl", (), 10**6, "MIT (carrier)"),
    "chitchat_byu": ("chitchat_byu.jsonl.gz", (), 600, "MIT"),
}
LOW_IS_GOOD = {"insulting", "inattentive", "repetitive"}  # of ieval; those of ji2022 are reversed already
RANKS = {"overall_rank", "profile_match"}  # relative to other bots, or no rating of the dialogue
HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Corpus:
    """The rated dialogues of a corpus."""

    name: str
    dialogues: list[Dialogue]
    agents: tuple[str, ...]
    agent: Ints  # (n,)
    rating: Floats  # (n,) standardised
    vectors: Floats  # (n, 2d)

    @property
    def weights(self) -> Floats:
        """(n,) agents count equally; sum 1."""
        counts = np.bincount(self.agent)
        found: Floats = 1.0 / counts[self.agent] / len(counts)
        return found


def corpora(data: Path) -> Iterator[Corpus]:
    """The five corpora."""
    encoder = text_encoder(MODEL)
    for name, (file, left_out, most, _) in CORPORA.items():
        rated = [
            one
            for one in read(str(data / file))
            if one.agent not in left_out
            and _values(name, one)
            and len(said(one.turns, "user")) >= FEWEST_TURNS
        ][:most]
        counts: dict[str, int] = {}
        for one in rated:
            counts[one.agent] = counts.get(one.agent, 0) + 1
        kept = [one for one in rated if counts[one.agent] >= FEWEST]
        agents = tuple(dict.fromkeys(one.agent for one in kept))
        values = np.array([np.mean(_values(name, one)) for one in kept])
        found = sides([one.turns for one in kept], encoder)
        yield Corpus(
            name,
            kept,
            agents,
            np.array([agents.index(one.agent) for one in kept], dtype=np.int64),
            (values - values.mean()) / values.std(),
            np.hstack([found.user, found.last]),
        )


def _values(name: str, dialogue: Dialogue) -> list[float]:
    """The ratings of the whole dialogue on a scale of 0 to 1 where the scale is known, high is good."""
    found = []
    for one in dialogue.ratings:
        if one.turn is not None or one.dimension in RANKS:
            continue
        low, high = one.scale or (0.0, 1.0)
        value = (one.value - low) / (high - low)
        found.append(1 - value if name == "ieval" and one.dimension in LOW_IS_GOOD else value)
    return found


def fitted(corpora: Sequence[Corpus]) -> tuple[Floats, Floats]:
    """The weights (2d,) and the centre (2d,) of a ridge regression on these corpora."""
    width = corpora[0].vectors.shape[1]
    spread, along, centre = np.zeros((width, width)), np.zeros(width), np.zeros(width)
    for corpus in corpora:
        weights = corpus.weights / len(corpora)
        middle = corpus.weights @ corpus.vectors
        away = corpus.vectors - middle
        spread += (away * weights[:, None]).T @ away
        along += away.T @ (weights * (corpus.rating - corpus.weights @ corpus.rating))
        centre += middle / len(corpora)
    found: Floats = np.linalg.solve(spread + PENALTY * np.eye(width), along)
    return found, centre


def train(data: Path) -> None:
    """Fit the model on all corpora, and without each, and write it into the package."""
    all_corpora = list(corpora(data))
    fits = [
        fitted([one for one in all_corpora if one.name != left])
        for left in ("", *(one.name for one in all_corpora))
    ]
    report = {corpus.name: agreement(corpus, fit) for corpus, fit in zip(all_corpora, fits[1:], strict=True)}
    save(
        Path("src/turnwise/data/models/reactions"),
        kind="reactions",
        tensors={
            "weights": np.array([weights for weights, _ in fits], dtype=np.float32),
            "centre": np.array([centre for _, centre in fits], dtype=np.float32),
            **{f"seen {one.name}": hashes(each.turns for each in one.dialogues) for one in all_corpora},
        },
        config={
            "corpora": [one.name for one in all_corpora],
            "penalty": PENALTY,
            "encoder": encoder_card(MODEL),
        },
        card={
            "data": [
                {
                    "corpus": one.name,
                    "licence": CORPORA[one.name][3],
                    "dialogues": len(one.dialogues),
                    "agents": len(one.agents),
                }
                for one in all_corpora
            ],
            "held_out": report,
            "languages": ["en"],
            "licence": "as of the corpora: one is CC BY 4.0, one states none",
            "command": "python -m papers.reactions train DATA",
        },
    )


def agreement(corpus: Corpus, fit: tuple[Floats, Floats]) -> dict[str, object]:
    """How a model that has not seen the corpus ranks its agents and its dialogues."""
    scores = (corpus.vectors - fit[1]) @ fit[0]
    counts = np.bincount(corpus.agent)
    means = np.bincount(corpus.agent, corpus.rating) / counts
    predictions = np.bincount(corpus.agent, scores) / counts
    inside = float(np.corrcoef(scores - predictions[corpus.agent], corpus.rating - means[corpus.agent])[0, 1])
    return {
        "agents": len(counts),
        "pearson_agents": float(np.corrcoef(means, predictions)[0, 1]) if len(counts) > 2 else None,
        "pearson_dialogues_of_one_agent": inside,
        "rating_by_agent": dict(zip(corpus.agents, means.round(3).tolist(), strict=True)),
        "score_by_agent": dict(zip(corpus.agents, predictions.round(4).tolist(), strict=True)),
    }


def programs(corpus: Corpus) -> dict[str, dict[str, float]]:
    """Agent -> share of repeated longer turns of its users, and of the agent's own turns in their place."""
    found = {}
    for index, name in enumerate(corpus.agents):
        mine = [one for one, at in zip(corpus.dialogues, corpus.agent, strict=True) if at == index][:100]
        swapped: dict[Role, Role] = {"user": "assistant", "assistant": "user"}
        found[name] = {
            "users": repeated_share([long_turns(one.turns) for one in mine]),
            "agent": repeated_share(
                [
                    long_turns([_as(turn, swapped) for turn in one.turns if turn.role in swapped])
                    for one in mine
                ]
            ),
        }
    return found


def _as(turn: Turn, roles: Mapping[Role, Role]) -> Turn:
    """The turn of the other side."""
    return replace(turn, role=roles[turn.role])


def table(data: Path) -> None:
    """Write the agreement of each corpus by the model without it, and how programs are told from people."""
    all_corpora = list(corpora(data))
    result = {
        corpus.name: agreement(corpus, fitted([one for one in all_corpora if one is not corpus]))
        | {"repeated": programs(corpus)}
        for corpus in all_corpora
    }
    (HERE / "reactions.json").write_text(json.dumps(result, indent=1) + "\n")


def show() -> None:
    """Write the tables of papers/reactions.md."""
    found = json.loads((HERE / "reactions.json").read_text())
    agents = [
        "| corpus | agents | Pearson of agents | Pearson of dialogues of one agent |",
        "|" + " --- |" * 4,
    ]
    people = [
        "| corpus | users: least and most | the agents themselves: least and most |",
        "|" + " --- |" * 3,
    ]
    for name, one in found.items():
        of_agents = one["pearson_agents"]
        shown = "-" if of_agents is None else f"{of_agents:.2f}"
        agents.append(f"| {name} | {one['agents']} | {shown} | {one['pearson_dialogues_of_one_agent']:.2f} |")
        users, bots = (
            [each[side] for agent, each in one["repeated"].items() if side == "users" or agent != "human"]
            for side in ("users", "agent")
        )
        of_bots = f"{min(bots):.3f}, {max(bots):.3f}" if bots else "-"
        people.append(f"| {name} | {min(users):.3f}, {max(users):.3f} | {of_bots} |")
    page = HERE / "reactions.md"
    text = page.read_text()
    for mark, lines in (("agents", agents), ("people", people)):
        before, after = text.partition(f"<!-- {mark} -->")[0], text.partition(f"<!-- /{mark} -->")[2]
        text = f"{before}<!-- {mark} -->\n" + "\n".join(lines) + f"\n<!-- /{mark} -->{after}"
    page.write_text(text)


if __name__ == "__main__":
    if sys.argv[1] == "show":
        show()
    else:
        {"train": train, "table": table}[sys.argv[1]](Path(sys.argv[2]))
