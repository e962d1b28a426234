"""The tables of papers/adem.md; each sub-command writes its part of the page and of papers/adem.json.

    python papers/adem.py replies DATA [--encoder NAME|DIR]...   Tables 3 and 4: ADEM, C, R, start and word overlap
    python papers/adem.py encoders DATA --encoder NAME|DIR...    the same head on several encoders, with differences
    python papers/adem.py unseen DATA                            Table 5: a system left out, and the control
    python papers/adem.py amount DATA                            Table 14: shares of the training data
    python papers/adem.py length DATA                            Table 8, and reply length against ratings
    python papers/adem.py speakers DATA                          Table 10: speaker tokens put in and taken out
    python papers/adem.py parting DATA                           Tables 6, 9, 12 and 13
    python papers/adem.py contexts DATA                          Table 7
    python papers/adem.py curves DATA                            fig. 7
    python papers/adem.py scatter DATA [--plot FILE]             figs 3 and 4 as data, and drawn where matplotlib is
    python papers/adem.py untrained VHRED -o DIR                 VHRED's encoder with random weights

DATA is the folder of rated corpora. All predictions are for contexts that were not trained on (five folds).
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from adem_corpora import (
    BRIEF,
    MANY,
    OVERLAP,
    PLAIN,
    REFERENCED,
    Pool,
    crossed,
    examples,
    fold_of,
    marked,
    overlap,
    pool,
    predicted,
    write_untrained,
)
from adem_examples import HEAD, KINDS, by_context, drawn
from adem_tables import agreement, by_group, cell, difference, draw, mean, means, systems, table, with_p

from turnwise.meta.disagreements import disagreements
from turnwise.meta.length_bias import length_bias
from turnwise.metrics.learned.adem.bilinear_fit import Search, learn
from turnwise.metrics.learned.adem.metric import NAMES
from turnwise.types import Floats

HERE = Path(__file__)
PAGE, KEPT = HERE.with_suffix(".md"), HERE.with_suffix(".json")
FULL = NAMES["adem"]
SHARES = (1.0, 0.75, 0.5, 0.25, 0.1, 0.05)


def replies(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    people, everyone = pool(data), pool(data, referenced=False)
    before = json.loads(KEPT.read_text()).get("replies", {}) if KEPT.exists() else {}
    found: dict[str, dict[str, Any]] = before.get("turn", {})  # rows of other encoders stay
    system: dict[str, dict[str, float]] = before.get("system", {})

    def add(name: str, scores: Floats, of: Pool) -> None:
        found[name] = by_group(scores, of)
        system[name] = systems(scores, of)

    for name in OVERLAP:
        if name not in found:
            add(name, overlap(people, name), people)
    for encoder in given.encoder:
        short = Path(encoder).name
        some, all_ = examples(people, encoder), examples(everyone, encoder)
        start = sum(some.triples.sides[side] * some.triples.reply for side in FULL).sum(axis=1)
        add(f"adem-start, {short}", start, people)
        for name, sides in NAMES.items():
            of, seen = (everyone, all_) if sides == ("context",) else (people, some)
            add(f"{name}, {short}", crossed(seen, fold_of(of), sides, Search()), of)
    groups = list(dict.fromkeys(everyone.groups))
    head = ["metric", *groups, "mean of six"]
    lines = [
        [f"`{name}`", *(cell(row.get(group)) for group in groups), f"{mean(row):.3f}"]
        for name, row in found.items()
    ]
    below = [[f"`{name}`", *(f"{row[group]:.3f}" for group in MANY)] for name, row in system.items()]
    text = f"{table(head, lines)}\n\nSystem level, Pearson over systems:\n\n{table(['metric', *MANY], below)}"
    return {"turn": found, "system": system}, text


def encoders(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    """`adem` and `adem-start` on each encoder, with intervals of the difference from `adem` on the first encoder."""
    people = pool(data)
    fold = fold_of(people)
    scores: dict[str, Floats] = {}
    for encoder in given.encoder:
        seen, short = examples(people, encoder), Path(encoder).name
        start = sum(seen.triples.sides[side] * seen.triples.reply for side in FULL).sum(axis=1)
        scores |= {f"adem-start, {short}": start, f"adem, {short}": crossed(seen, fold, FULL, BRIEF)}
    first = scores[f"adem, {Path(given.encoder[0]).name}"]
    found = {}
    for name, one in scores.items():
        rows = by_group(one, people)
        found[name] = {"groups": rows, "mean": mean(rows), "less the first": difference(one, first, people)}
    lines = [
        [f"`{name}`", *(cell(one["groups"][group]) for group in REFERENCED), f"{one['mean']:.3f}",
         "[{:.3f}, {:.3f}]".format(*one["less the first"])]
        for name, one in found.items()
    ]  # fmt: skip
    return found, table(["metric", *REFERENCED, "mean", "mean less the first encoder's `adem`"], lines)


def vectors(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    """`adem` on changed vectors of one encoder, with a brief search: do lengths or the number of components matter?"""
    people = pool(data)
    seen, fold = examples(people, given.encoder[0]), fold_of(people)

    def of_unit_length(one: Floats) -> Floats:
        return one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9)

    def in_deviations(one: Floats) -> Floats:
        return (one - np.nanmean(one, axis=0)) / (np.nanstd(one, axis=0) + 1e-6)

    changes: dict[str, tuple[Callable[[Floats], Floats], Search]] = {
        "as they are": (lambda one: one, BRIEF),
        "of unit length": (of_unit_length, BRIEF),
        "each dimension standardised": (in_deviations, BRIEF),
        "150 or 300 components": (lambda one: one, replace(BRIEF, components=(150, 300))),
    }
    found = {}
    for name, (change, search) in changes.items():
        sides = {side: change(one) for side, one in seen.triples.sides.items()}
        triples = replace(seen.triples, reply=change(seen.triples.reply), sides=sides)
        found[name] = mean(by_group(crossed(replace(seen, triples=triples), fold, FULL, search), people))
    text = table(["vectors", "mean Spearman"], [[name, f"{one:.3f}"] for name, one in found.items()])
    return {Path(given.encoder[0]).name: found}, text


def unseen(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    """Agreement when one system is left out of training, for groups of four systems or more.

    As a control, equally many random replies are left out.
    """
    people = pool(data)
    seen, fold = examples(people, given.encoder[0]), fold_of(people)
    agents, everything = people.agents, np.ones(len(people.items), dtype=bool)
    rng = np.random.default_rng(0)
    whole = crossed(seen, fold, FULL, PLAIN, everything)
    found: dict[str, Any] = {}
    for group in MANY:
        mine = people.groups == group
        names = np.unique(agents[mine])
        keep = everything.copy()
        keep[rng.choice(np.flatnonzero(mine), size=int(mine.sum()) // len(names), replace=False)] = False
        control = agreement(crossed(seen, fold, FULL, PLAIN, keep)[mine], people.where(mine))
        for name in names:
            own = agents == name
            scores = crossed(seen, fold, FULL, PLAIN, ~own)
            found[str(name)] = {
                "removed": agreement(scores[mine], people.where(mine)),
                "at random": control,
                "nothing": agreement(whole[mine], people.where(mine)),
                "own": agreement(scores[own], people.where(own)),
                "own, seen": agreement(whole[own], people.where(own)),
            }
    columns = ("removed", "at random", "nothing", "own", "own, seen")
    lines = [[name, *(with_p(rows[column])[0] for column in columns)] for name, rows in found.items()]
    means_ = [
        np.mean([rows[column]["spearman"]["estimate"] for rows in found.values()]) for column in columns
    ]
    lines.append(["*mean*", *(f"{value:.3f}" for value in means_)])
    head = ["system", "its group, system removed", "as many at random", "nothing removed", "its own replies, removed",
            "its own replies, seen"]  # fmt: skip
    return found, table(head, lines)


def amount(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    people = pool(data)
    seen, fold = examples(people, given.encoder[0]), fold_of(people)
    order = np.random.default_rng(0).permutation(np.unique(people.contexts))
    found = {}
    for share in SHARES:
        keep = np.isin(people.contexts, order[: max(1, round(share * len(order)))])
        rows = by_group(crossed(seen, fold, FULL, PLAIN, keep), people)
        found[f"{share:.0%}"] = {"trained_on": int(keep.sum() * 0.8), "groups": rows, "mean": mean(rows)}
    lines = [
        [
            share,
            str(one["trained_on"]),
            *(cell(one["groups"][group]) for group in REFERENCED),
            f"{one['mean']:.3f}",
        ]
        for share, one in found.items()
    ]
    return found, table(["of the ratings", "about", *REFERENCED, "mean"], lines)


def length(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    people, adem = predicted(data, given.encoder[0])
    words = np.array([len(item.reply.split()) for item in people.items], dtype=np.float64)
    gaps = np.abs(words - [len(item.references[0].split()) for item in people.items])
    columns = {"rouge-l": overlap(people, "rouge-l"), "bleu-2": overlap(people, "bleu-2"), "adem": adem,
               "people": people.ratings}  # fmt: skip
    found: dict[str, Any] = {name: length_bias(scores, gaps) for name, scores in columns.items()}
    lines = [
        [f"`{name}`", f"{one.near:.4g}", f"{one.far:.4g}", f"{one.p:.3g}"] for name, one in found.items()
    ]
    sizes = found["people"]
    kept = {
        name: {key: getattr(one, key) for key in ("near", "far", "p", "n_near", "n_far")}
        for name, one in found.items()
    }
    of = {
        str(group): agreement(words[mine], people.where(mine))
        for group in REFERENCED
        if (mine := people.groups == group).any()
    }
    more = table(["group", "Spearman", "Pearson"], [[group, *with_p(one)] for group, one in of.items()])
    head = ["mean score", f"within 6 words (n={sizes.n_near})", f"further (n={sizes.n_far})", "p"]
    return {"bias": kept, "length": of}, f"{table(head, lines)}\n\nReply length against ratings:\n\n{more}"


def speakers(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    people = pool(data)
    with_tokens = replace(people, items=marked(people.items, np.random.default_rng(0)))
    found = {}
    for name in [*OVERLAP[:4], "rouge-l"]:
        rows = {"without": overlap(people, name), "with": overlap(with_tokens, name)}
        found[name] = {key: by_group(scores, people) for key, scores in rows.items()}
    lines = [
        [f"`{name}`, {key} tokens", *(cell(one.get(group)) for group in REFERENCED), f"{mean(one):.3f}"]
        for name, rows in found.items()
        for key, one in rows.items()
    ]
    return found, table(["metric", *REFERENCED, "mean"], lines)


def parted(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    """Counts and examples of replies on which `adem`, word overlap and ratings (1 to 5) disagree."""
    people, adem = predicted(data, given.encoder[0])
    others = {name: overlap(people, name) for name in ("bleu-2", "rouge-l")}
    found = disagreements(adem, others, people.raw, (1.0, 5.0))
    counts = found.counts()
    names = {
        "good": "people: 4 or more",
        "missed": "of these, bleu-2 and rouge-l both below 2",
        "rescued": "of these, adem above 4",
        "failed": "people 4 or more and adem below 2",
        "beaten": "of these, bleu-2 or rouge-l above 4",
        "fooled": "people 2 or less, bleu-2 or rouge-l below 2, adem above 4",
    }
    text = table(["replies", "number"], [[words, str(counts[key])] for key, words in names.items()])
    shown = drawn(people, adem, others, found)
    for kind, title in KINDS.items():
        lines = shown[kind]["lines"]
        text += f"\n\n{title}:\n\n{table(HEAD, lines)}" if lines else f"\n\n{title}: there is no such reply."
    return {"counts": counts, "drawn": {kind: one["ids"] for kind, one in shown.items()}}, text


def contexts(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    """Table 7: all replies to three contexts with the ratings of people and of `adem`."""
    ids, lines = by_context(*predicted(data, given.encoder[0]))
    return ids, table(["context, its end", "reference", "reply", "people", "adem"], lines)


def curves(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    people = pool(data)
    seen, fold = examples(people, given.encoder[0]), fold_of(people)
    learned = learn(seen.take(np.flatnonzero(fold != 0)), sides=FULL, scale=(-3.0, 3.0), search=PLAIN, seed=0,
                    watch=seen.take(np.flatnonzero(fold == 0)))  # fmt: skip
    shown = [
        point for point in learned.curve if point["epoch"] in (0, 1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 60)
    ]
    lines = [
        [str(point["epoch"]), *(f"{point[key]:.3f}" for key in ("loss", "validation", "watched"))]
        for point in shown
    ]
    return learned.curve, table(["epoch", "squared error", "Pearson, validation", "Pearson, test"], lines)


def scatter(data: Path, given: argparse.Namespace) -> tuple[Any, str]:
    people, adem = predicted(data, given.encoder[0])
    jitter = np.random.default_rng(0).normal(0, 0.3, len(adem))
    points = {"people": (people.ratings + jitter).round(3).tolist(), "adem": adem.round(3).tolist()}
    x, y = means(adem, people)
    names = np.unique(people.agents).tolist()
    kept = {
        "replies": points,
        "systems": [
            {"system": n, "adem": float(a), "people": float(b)} for n, a, b in zip(names, x, y, strict=True)
        ],
    }
    out = HERE.with_name("adem_scatter.json")
    out.write_text(json.dumps(kept) + "\n")
    if given.plot:
        draw(kept, given.plot)
    lines = [[one["system"], f"{one['people']:.2f}", f"{one['adem']:.2f}"] for one in kept["systems"]]
    return {"file": out.name}, table(["system", "people, on their scale", "adem, standardised"], lines)


SECTIONS: dict[str, Callable[[Path, argparse.Namespace], tuple[Any, str]]] = {
    "replies": replies, "encoders": encoders, "vectors": vectors, "unseen": unseen, "amount": amount, "length": length,
    "speakers": speakers, "parting": parted, "contexts": contexts, "curves": curves, "scatter": scatter,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*SECTIONS, "all", "untrained"])
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", action="append", help="minilm by default; `replies` takes several")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="of `untrained`")
    given = parser.parse_args()
    given.encoder = given.encoder or ["minilm"]
    if given.what == "untrained":
        write_untrained(given.data, given.output)
        return
    # `vectors` asks about one encoder, which has to be named.
    every = [name for name in SECTIONS if name != "vectors"]
    for name in every if given.what == "all" else [given.what]:
        found, text = SECTIONS[name](given.data, given)
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        KEPT.write_text(json.dumps({**kept, name: found}, indent=1) + "\n")
        page = PAGE.read_text()
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        if mark:
            PAGE.write_text(f"{before}{mark}{text}\n<!-- /{name} -->{rest.partition(f'<!-- /{name} -->')[2]}")
        print(text)


if __name__ == "__main__":
    main()
