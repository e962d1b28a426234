"""Results of every command on small data, produced by the commands themselves, for tests of reports."""

import contextlib
import io
import json
from importlib import resources
from pathlib import Path

from tests.small_world import held
from tests.tiny_models import write_bert, write_llama
from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.types import Dialogue, Rating, Turn

CORPUS = str(resources.files("turnwise") / "data" / "demo.jsonl")
EVIL = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> & \"it's\" ]]>"
KINDS = {
    "scores", "prd", "dialogue", "heatmap", "boxes", "scatter", "systems", "strategies", "transcripts", "tuning",
    "estimates", "regression", "iterations", "pairs", "errors", "differences", "flips", "raters", "worths", "valued",
    "calibration", "power", "disagreements", "leaderboard", "agreement", "passes", "noise",
}  # fmt: skip


def ran(*words: str) -> int:
    """Run a command line without output; returns the exit code."""
    with contextlib.redirect_stdout(io.StringIO()):
        return run([*words, "-q"])


def write_talks(folder: Path) -> str:
    """Write dialogues of six agents and a file of their true means; returns the path of the dialogues."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "dialogues.jsonl"
    native.write(held(agents=6, dialogues=20), str(path))
    means = {f"a{k}": {"reward": {"mean": 0.2 + 0.1 * k, "se": 0.01}} for k in range(6)}
    (folder / "truth.json").write_text(json.dumps({"agents": means}))
    return str(path)


def write_partly_rated(path: Path, *, every: int = 3) -> str:
    """Write the demo corpus with the ratings of every `every`-th dialogue only; returns the path."""
    with open(CORPUS) as lines, path.open("w") as file:
        for number, line in enumerate(lines):
            record = json.loads(line)
            if number % every:
                record["ratings"] = []
            file.write(json.dumps(record) + "\n")
    return str(path)


def write_runs(folder: Path) -> Path:
    """Write a folder for each run, with results for every kind of figure that needs no trained model."""
    talks = write_talks(folder)
    out = folder / "runs"
    tasks = str(folder / "tasks.jsonl")
    size = ("--agents", "4", "--dialogues", "10", "--samples", "1", "--truth", "0")
    if ran("simulate", "task", *size, "--delexicalised", "-o", tasks):
        raise RuntimeError("the task world could not be played")
    distances = "prd[model=hashing,fewest=20,clusters=5],fbd[model=hashing,fewest=20]"
    ope = ("ope", talks, "--rating", "reward", "--model", "hashing")
    truth = str(folder / "truth.json")
    lines: dict[str, tuple[str, ...]] = {
        "score": ("score", CORPUS, "-m", f"rouge-l,length,chrf,{distances}", "--draws", "100"),
        "raters": ("meta", CORPUS),
        "meta": ("meta", CORPUS, "-m", "rouge-l,length", "--dimension", "all", "--by", "meta.topic", "--draws", "100"),
        "examples": ("meta", CORPUS, "-m", "length", "--draws", "100"),
        "compare": ("compare", CORPUS, "-m", "rouge-l,length", "--agents", "good,dull", "--pair", "meta.topic"),
        "board": ("compare", CORPUS, "-m", "rouge-l,length", "--pair", "meta.topic"),
        "turned": ("compare", CORPUS, "-m", "length,rouge-l", "--agents", "dull,good", "--pair", "meta.topic"),
        "calibrate": (
            "calibrate", write_partly_rated(folder / "partly.jsonl"), "-m", "length", "--to", "rating:overall",
            "--labels", "random",
        ),
        "power": ("power", CORPUS, "-m", "rating:overall", "--difference", "0.3", "--pair", "meta.topic"),
        "reliability": ("reliability", CORPUS, "-m", "rating:overall", "--cluster", "meta.topic", "--threshold", "3"),
        "ope-all": (*ope, "--all", "--truth", truth, "--estimator", "dice-linear"),
        "critic": ("ope", tasks, "--target", "grade-00,grade-02", "--no-calibrate", "--estimator",
                   "critic[reward=progress,fewest=30]"),
        "ope-half": (*ope, "--all", "--truth", truth, "--estimator", "dice-linear", "--fraction", "0.5"),
        "attack": ("attack", "question-rate", "--contexts", CORPUS, "--count", "60", "--budget", "900"),
    }  # fmt: skip
    _run_all(out, lines)
    return out


def write_neural(folder: Path) -> list[str]:
    """Write runs in which a model is trained: a policy against a metric, and ENIGMA by gradients."""
    talks = write_talks(folder)
    bert, llama = write_bert(folder / "bert"), write_llama(folder / "llama")
    lines: dict[str, tuple[str, ...]] = {
        "attack-rl": (
            "attack", "question-rate", "--contexts", CORPUS, "--count", "60", "--budget", "900", "--stages",
            "baselines,rl", "--policy", str(llama), "--epochs", "2", "--updates", "2", "--batch", "8", "--longest",
            "6", "--repetitions", "2",
        ),
        "ope-neural": (
            "ope", talks, "--rating", "reward", "--model", str(bert), "--target", "a1", "--truth",
            str(folder / "truth.json"), "--no-calibrate", "--estimator", "dice-linear,enigma[epochs=4,components=0]",
        ),
    }  # fmt: skip
    _run_all(folder / "runs", lines)
    return list(lines)


def _run_all(out: Path, lines: dict[str, tuple[str, ...]]) -> None:
    for name, line in lines.items():
        code = ran(*line, "-o", str(out / name))
        if code not in (0, 4):
            raise RuntimeError(f"{' '.join(line)} ended with {code}")


def write_hostile(folder: Path) -> None:
    """Write runs on dialogues in which every text is markup."""
    talks = [
        Dialogue(
            f"{EVIL}{k}",
            f"{EVIL}{k % 2}",
            tuple(
                turn
                for _ in range(3)
                for turn in (Turn("user", EVIL), Turn("assistant", EVIL * (1 + k % 3), references=(EVIL, "a b")))
            ),
            tuple(
                Rating(f"{EVIL}{k}#{turn}", EVIL, float(1 + (k + turn) % 5), rater=f"{EVIL}{r}", turn=turn)
                for turn in (1, 3, 5)
                for r in range(2)
            ),
            meta={"topic": str(k // 2)},
        )
        for k in range(12)
    ]  # fmt: skip
    native.write(talks, str(folder / "evil.jsonl"))
    data = str(folder / "evil.jsonl")
    out = folder / "out"
    lines = (
        ("score", data, "-m", "length,rouge-l", "-o", str(out / "score")),
        ("meta", data, "-m", "length", "--dimension", EVIL, "-o", str(out / "meta")),
        ("compare", data, "-m", "length", "--pair", "meta.topic", "-o", str(out / "compare")),
    )
    if any(ran(*line) for line in lines):
        raise RuntimeError("a run on hostile dialogues failed")
