"""The agreement with people of a local judge by each of our rubrics that has rated data.

    python -m benchmarks.judge_agreement DATA --model FOLDER      # DATA: a folder with the rated corpora

For each rubric a sample of the rated dialogues is drawn with a fixed seed, and `turnwise meta` computes Spearman's
correlation of the judge's scores with the mean rating, with its interval over contexts, and that of one rater with the
others. Results are written to benchmarks/results/judge_agreement.json, where results of other models and rubrics are
kept, and with --rubrics to the file that `turnwise ls rubrics` reads.
"""

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import turnwise as tw
from turnwise.metrics.judge.rubric import AGREEMENT

RESULT = Path(__file__).parent / "results" / "judge_agreement.json"
SEED = 0


class Rated(NamedTuple):
    """Ratings that a rubric asks for: a file, its name in words, the dimension and the level."""

    file: str
    corpus: str
    dimension: str
    level: str = "turn"


USR = ("usr_persona.jsonl", "USR (PersonaChat)")
FED = ("fed_turn.jsonl.gz", "FED, replies")
FED_DIALOGUES = ("fed_dialog.jsonl", "FED, dialogues")
RATED = {
    "usr-overall": Rated(*USR, "overall"),
    "usr-understandable": Rated(*USR, "understandable"),
    "usr-natural": Rated(*USR, "natural"),
    "usr-context": Rated(*USR, "maintains_context"),
    "usr-interesting": Rated(*USR, "engaging"),
    "usr-knowledge": Rated(*USR, "uses_knowledge"),
    "overall": Rated(*USR, "overall"),
    "coherence": Rated("grade.jsonl.gz", "GRADE", "coherence"),
    "relevance": Rated(*FED, "relevant"),
    "fluency": Rated("holistic.jsonl", "Holistic (DailyDialog)", "fluency"),
    "engagement": Rated("engage.jsonl", "Predictive Engagement (DailyDialog)", "engaging"),
    **{
        f"fed-{name}": Rated(*FED, name)
        for name in (
            "overall", "interesting", "engaging", "specific", "relevant", "correct", "understandable", "fluent",
        )
    },
    "fed-appropriate": Rated(*FED, "semantically_appropriate"),
    "dialogue": Rated(*FED_DIALOGUES, "overall", "dialogue"),
    **{
        f"fed-dialogue-{name}": Rated(*FED_DIALOGUES, name.replace("-", "_"), "dialogue")
        for name in (
            "overall", "coherent", "error-recovery", "consistent", "diverse", "depth", "likeable", "understanding",
            "flexible", "informative", "inquisitive",
        )
    },
}  # fmt: skip


def sample(path: Path, rated: Rated, n: int, *, persona: bool) -> list[dict[str, Any]]:
    """`n` records with ratings of a dimension, drawn without replacement; all if there are fewer.

    With `persona`, the speaker's persona becomes a system prompt, so that the judge sees it.
    """
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        records = [json.loads(line) for line in file]
    records = [one for one in records if any(each["dimension"] == rated.dimension for each in one["ratings"])]
    chosen = np.random.default_rng(SEED).permutation(len(records))[:n]
    found = [records[index] for index in sorted(chosen)]
    return [with_persona(one) for one in found] if persona else found


def with_persona(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its persona as a system prompt before the first message."""
    system = {"role": "system", "content": "Your persona: " + " ".join(record["meta"]["persona"])}
    ratings = [{**one, "turn": one["turn"] + 1} for one in record["ratings"]]
    return {**record, "messages": [system, *record["messages"]], "ratings": ratings}


def agreement(folder: Path, rubric: str, model: str, n: int) -> dict[str, Any]:
    """What `turnwise meta` finds for a rubric: the estimate, its interval, one rater's agreement, and the time."""
    rated = RATED[rubric]
    records = sample(folder / rated.file, rated, n, persona=rubric == "usr-knowledge")
    start = monotonic()
    cluster = "meta.item" if "item" in records[0].get("meta", {}) else None
    found = tw.meta_evaluate(
        records,
        metrics=f"judge[address=local,model={model},rubric={rubric}]",
        level="turn" if rated.level == "turn" else "dialogue",
        dimension=rated.dimension,
        statistics="spearman",
        cluster=cluster,
    )
    (one,) = (one for one in found.findings if one.statistic == "spearman")
    return {
        "rubric": rubric, "corpus": rated.corpus, "file": rated.file, "dimension": rated.dimension,
        "level": rated.level, "n": one.n_items, "spearman": one.estimate, "interval": one.interval,
        "one_rater": one.one_rater, "reason": one.reason, "seconds": round(monotonic() - start, 1),
    }  # fmt: skip


def write_rubrics(lines: Sequence[dict[str, Any]], label: str) -> None:
    """Write the agreement of a model to the file of the rubrics' agreement."""
    kept = json.loads(AGREEMENT.read_text()) if AGREEMENT.exists() else {}
    for one in lines:
        if one["spearman"] is None or one["interval"] is None:
            continue
        entry = {
            "model": label, "corpus": one["corpus"], "dimension": one["dimension"], "n": one["n"],
            "spearman": round(one["spearman"], 2), "interval": [round(end, 2) for end in one["interval"]],
            "one_rater": None if one["one_rater"] is None else round(one["one_rater"], 2),
            "command": f"python -m benchmarks.judge_agreement DATA --model MODEL --n {one['n']} --only {one['rubric']}",
        }  # fmt: skip
        others = [each for each in kept.get(one["rubric"], []) if each["model"] != label]
        kept[one["rubric"]] = [*others, entry]
    AGREEMENT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def main() -> None:
    """Measure the rubrics that are asked for, and write what was found after each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="smollm2", help="a fetched model, or a folder")
    parser.add_argument("--label", help="the model's name in the results; by default as in --model")
    parser.add_argument("--n", type=int, default=60, help="rated replies or dialogues for each rubric")
    parser.add_argument(
        "--rubrics", action="store_true", help="also write the file that `turnwise ls rubrics` reads"
    )
    parser.add_argument("--only", nargs="+", choices=RATED, metavar="RUBRIC", help="these rubrics alone")
    given = parser.parse_args()
    label = given.label or given.model
    for rubric in given.only or RATED:
        line = {"model": label, **agreement(given.data, rubric, given.model, given.n)}
        kept = json.loads(RESULT.read_text()) if RESULT.exists() else []
        kept = [one for one in kept if (one["model"], one["rubric"]) != (label, rubric)]
        RESULT.write_text(json.dumps([*kept, line], indent=1) + "\n")
        print(json.dumps(line), flush=True)
        if given.rubrics:
            write_rubrics([line], label)


if __name__ == "__main__":
    main()
