"""Random valid command lines over the files of a scene.

Options come from the commands' own definitions, so that a new option is tried without a change here; what values a
parameter takes stands in `VALUES` by its name. A scene is a folder with odd files and what earlier commands wrote.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click

from benchmarks.fuzz.odd_files import DIMENSIONS, META_KEYS, ODD_NAMES, ODD_TEXTS, Maker, Names, spoil, write
from turnwise.cli.common.group import cli

# Commands with their weights. `rate` serves until it is stopped, `fetch` needs a network, `demo` takes minutes.
WEIGHTS = {
    "score": 8, "compare": 8, "diff": 3, "meta": 8, "calibrate": 6, "power": 6, "ope": 10, "attack": 2, "convert": 3,
    "validate": 2, "report": 4, "respond": 4, "simulate": 2, "train": 2, "ls": 0.2, "doctor": 0.05,
}  # fmt: skip
OMITTED = ("rate", "view", "fetch", "demo")
# Parameters that are never set: another machine, other processes, a network, minutes of training.
UNSET = {
    "on",
    "address",
    "jobs",
    "policy",
    "harden",
    "rounds",
    "learn_from",
    "taught",
    "agree_with",
    "card",
    "device",
}
METRICS = (
    "length", "bleu-1", "bleu-2", "bleu-4", "bleu-paper", "chrf", "rouge-1", "rouge-2", "rouge-l", "rouge-l-b1.2",
    "meteor", "distinct-1", "distinct-2", "entropy-1", "entropy-2", "msttr-50", "question-rate", "repeat-external-1",
    "repeat-external-2", "repeat-internal-1", "repeat-partner-1", "repeat-partner-2", "specificity",
    "relatedness[model=hashing]", "fbd[model=hashing]", "prd[model=hashing]", "mmd[model=hashing]",
    "fbd-paper[model=hashing]", "adem-start[model=hashing]", "inform", "success", "booking", "combined",
    "bleu-delex", "entity-f1", "mismatch",
    "fuzz_functions:length", "fuzz_functions:constant", "fuzz_functions:nothing", "fuzz_functions:huge",
    "fuzz_functions:fails", "fuzz_functions:too_few", "fuzz_functions:words", "fuzz_functions:infinite",
)  # fmt: skip
NEURAL_METRICS = (
    "bertscore",
    "turnwise",
    "usr-ret",
    "maude",
    "att",
    "average",
    "greedy",
    "relatedness",
    "fbd",
    "prd",
    "mmd",
)
ESTIMATORS = (
    "robust", "balance", "fqe", "lstdq", "dice-linear", "direct", "nearest", "mean", "mean-relabelled", "features",
    "ips", "critic", "metric:length", "metric:rouge-l", "metric:fuzz_functions:huge",
)  # fmt: skip
NEURAL_ESTIMATORS = ("fqe-neural", "lstdq-neural", "enigma", "critic-paper")
FUNCTIONS = '''
"""Metrics and agents of a user: sound and unsound ones."""
def length(records): return [len(one["response"]) for one in records]
def constant(records): return [3 for _ in records]
def nothing(records): return [None for _ in records]
def huge(records): return [(1e308, -1e308, 1e-320, 1.0)[len(one["response"]) % 4] for one in records]
def infinite(records): return [float("inf") for _ in records]
def fails(records): raise ValueError("no \\x1b[31m reply")
def too_few(records): return [1.0]
def words(records): return ["x" for _ in records]
def reply(turns): return "I see. " + turns[-1]["content"][:20] if turns else "Hello."
def silent(turns): return ""
def broken(turns): raise RuntimeError("no reply")
def number(turns): return 7
'''

CONFIG = """
[common]
seed = 3
[meta]
draws = 100
statistic = "kendall"
[ope]
model = "hashing"
"""


@dataclass
class Scene:
    """A folder with files, and the names in them."""

    folder: Path
    rng: random.Random
    neural: bool = False  # whether metrics and estimators that need torch are among the choices
    names: Names = field(default_factory=Names)
    files: list[str] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path, rng: random.Random, *, neural: bool = False) -> "Scene":
        """Write one to three odd files into the folder."""
        scene = cls(folder, rng, neural)
        maker = Maker(rng)
        scene.names = maker.names
        for number in range(rng.choice((1, 1, 1, 1, 2, 3))):
            sizes = (1, 1, 2, 3, 4, 6, 8, 12, 20, 45)
            if maker.texts == "long":
                sizes = (1, 3, 6)
            elif len(maker.names.agents) > 3 and rng.random() < 0.5:
                sizes = (36, 48)
            records = maker.records(
                rng.choice(sizes),
                file="abc"[number] if rng.random() < 0.95 else "d",
            )
            if rng.random() < 0.06:
                for _ in range(rng.randint(1, 3)):
                    spoil(records, rng)
            name = f"{'abc'[number]}.jsonl{rng.choice(('', '', '', '.gz'))}"
            write(folder / name, records, rng)
            scene.files.append(name)
        (folder / "config.toml").write_text(CONFIG)
        means = {
            name: {"mean": scene.some(1, 3, -1e50), "se": scene.some(0, 0.1)}
            for name in scene.names.dimensions
        }
        truth = {name: means for name in _everyone(scene) if rng.random() < 0.9}
        (folder / "truth.json").write_text(json.dumps({"agents": truth}))
        return scene

    def some(self, *choices: Any) -> Any:
        """One of the choices."""
        return self.rng.choice(choices)

    @property
    def finished(self) -> list[str]:
        """The folders of finished runs."""
        return sorted(path.parent.name for path in self.folder.glob("*/results.json"))

    @property
    def there(self) -> list[str]:
        """The files of dialogues that are there, those that commands wrote included."""
        made = ("replied.jsonl", "replied.jsonl.gz", "made.jsonl", "made.jsonl.gz", "converted.jsonl")
        return [*self.files, *(name for name in made if (self.folder / name).exists())]


def _names(scene: Scene, known: Sequence[str], *, most: int = 3) -> str:
    """Up to `most` of these names, separated by commas."""
    pool = list(known) or ["nobody"]
    return ",".join(scene.rng.choice(pool) for _ in range(scene.rng.randint(1, most)))


def _metric(scene: Scene) -> str:
    pool = [*METRICS, *METRICS, *(NEURAL_METRICS if scene.neural else ())]
    if scene.rng.random() < 0.25:
        return f"rating:{scene.rng.choice(scene.names.dimensions or ['overall'])}"
    if scene.rng.random() < 0.05:
        return f"preference:{scene.rng.choice(scene.names.dimensions or ['overall'])}"
    return scene.rng.choice(pool)


def _metrics(scene: Scene) -> str:
    return ",".join(_metric(scene) for _ in range(scene.some(1, 1, 2, 3)))


def _everyone(scene: Scene) -> list[str]:
    """The names of all agents, each once; without a comma, which separates names."""
    found = dict.fromkeys([*scene.names.agents, *scene.names.agents, *scene.names.alternatives])
    return [name for name in found if "," not in name] or ["nobody"]


def _agents(scene: Scene) -> str:
    everyone = _everyone(scene)
    return ",".join(scene.some(*everyone) for _ in range(scene.some(1, 2, 2, 2, 3)))


def _two_agents(scene: Scene) -> str:
    """Two different agents that held dialogues, mostly."""
    logged = [name for name in scene.names.agents if "," not in name]
    return (
        ",".join(scene.rng.sample(logged, 2))
        if len(logged) > 1 and scene.rng.random() < 0.8
        else _agents(scene)
    )


def _key(scene: Scene) -> str:
    return str(
        scene.some(
            *(f"meta.{key}" for key in scene.names.keys or META_KEYS), "agent", "id", "file", "rubbish"
        )
    )


def _where(scene: Scene) -> str:
    if scene.names.agents and scene.rng.random() < 0.5:
        return f"agent={scene.some(*scene.names.agents)}"
    return f"{_key(scene)}={scene.some('1', 'a', 'nan', '')}"


def _gate(scene: Scene) -> str:
    if scene.rng.random() < 0.2:
        return f"{_metric(scene)} {scene.some('no-worse', 'equal')}{scene.some('', ' 0.1', ' 1e308', ' -1')}"
    sign = scene.some(">=", "<=", ">", "<")
    return f"{scene.some(_metric(scene), 'length', 'robust')} {sign} {scene.some('0', '0.5', '-1e308', '1e308', '3')}"


def _number(*choices: str) -> Callable[[Scene], str]:
    return lambda scene: scene.some(*choices)


POSITIVE = _number("1", "2", "3", "7", "100", "1000000", "99999999999999999999")
SHARE = _number("0", "0.5", "0.01", "0.99", "1", "1e-9", "0.999999999", "nan")
SIZE = _number("0", "1", "0.3", "1e-9", "1e9", "1e100", "1e-300", "1e308", "nan", "inf")

# Parameter -> a value for it; `COMMAND.PARAMETER` where a command has a meaning of its own.
VALUES: Mapping[str, Callable[[Scene], str]] = {
    "reader": lambda scene: scene.some(*["native"] * 8, "openai", "csv", "messages", "nonsense"),
    "agent": lambda scene: scene.some(*ODD_NAMES),
    "respond.agent": lambda scene: (
        f"fuzz_functions:{scene.some('reply', 'reply', 'reply', 'silent', 'broken', 'number')}"
    ),
    "columns": lambda scene: scene.some("id=id,role=role,content=content", "messages=messages", "content=x", "="),
    "split": lambda scene: scene.some("|", "\n", ""),
    "roles": lambda scene: scene.some("*=user", "a=assistant,*=user", "x=tool", "x=nobody"),
    "each": lambda scene: scene.some("[*]", "messages[*]", "x", ""),
    "mapping": lambda scene: scene.some("map.toml", "nowhere.toml"),
    "save_mapping": lambda scene: "map.toml",
    "config": lambda scene: scene.some(*["config.toml"] * 12, "nowhere.toml", scene.files[0]),
    "metrics": _metrics,
    "metric": _metric,
    "train.metric": lambda scene: scene.some("tfidf", "tfidf", "adem", "adem-c", "adem-r", "turnwise", "nothing"),
    "beside": _metric,
    "as_agents": lambda scene: scene.some("@alternatives", _agents(scene), _agents(scene)),
    "agents": _agents,
    "compare.agents": lambda scene: scene.some(_two_agents, _two_agents, _agents)(scene),
    "meta.metrics": lambda scene: _names(scene, METRICS) if scene.rng.random() < 0.8 else _metrics(scene),
    "simulate.agents": _number("1", "2", "4", "5"),
    "where": _where,
    "by": lambda scene: ",".join(_key(scene) for _ in range(scene.some(1, 1, 2))),
    "pair": _key,
    "cluster": _key,
    "limit": _number("1", "2", "5", "100000"),
    "output": lambda scene: scene.some("out", "out", "two", "é"),
    "report.output": lambda scene: scene.some("r.html", "r.md", "r.json", "r.txt", "sub/r.html"),
    "respond.output": lambda scene: scene.some("replied.jsonl", "replied.jsonl.gz", "a.jsonl"),
    "simulate.draw": _number("0", "7", "1000"),
    "simulate.output": lambda scene: scene.some("made.jsonl", "made.jsonl.gz"),
    "train.output": lambda scene: scene.some("model", "model2"),
    "real": lambda scene: scene.some(*scene.there),
    "model": lambda scene: scene.some(*["hashing"] * 20, "wordllama", "wordllama", "nowhere"),
    "db": lambda scene: scene.some(".", "nowhere"),
    "seed": _number("0", "1", "7", "99999999999999999999999"),
    "draws": _number("100", "101", "250"),
    "max_errors": _number("0", "1", "20", "100000"),
    "gates": _gate,
    "junit": lambda scene: "junit.xml",
    "lower_is_better": lambda scene: _names(scene, [*scene.names.dimensions, *DIMENSIONS]),
    "higher_is_better": lambda scene: _names(scene, [*scene.names.dimensions, *METRICS]),
    "margin": lambda scene: scene.some("0.1", "2", "1e-300", "1e308", "0", "nan", f"{_metric(scene)}=0.5", "=", "x=y"),
    "dimension": lambda scene: scene.some("all", *scene.names.dimensions, "nothing"),
    "statistics": lambda scene: _names(scene, ("pearson", "spearman", "kendall", "pairwise"), most=4),
    "precision": _number("0.5", "0.05", "1e-6", "0.999", "1e-300"),
    "to": lambda scene: f"rating:{scene.some(*(scene.names.dimensions or ['overall']))}",
    "labels": lambda scene: scene.some("random", "random", "random", "random", "unknown", f"weights:{_key(scene)}"),
    "plan": POSITIVE,
    "difference": lambda scene: scene.some("0.3", "0", "-1", "1e-9", "1e308", "0.5", "1e-300"),
    "have": POSITIVE,
    "power": SHARE,
    "alpha": SHARE,
    "turns": lambda scene: scene.some("1", "1,2", "3,1000000", "0"),
    "raters": lambda scene: scene.some("1", "1,2,3", "100000", "0"),
    "scored": POSITIVE,
    "people": POSITIVE,
    "rater_icc": SHARE,
    "max_cost": SIZE,
    "calibrate": lambda scene: scene.some("random", "unknown", f"weights:{_key(scene)}", "nothing"),
    "show_prompt": _number("1", "2", "100000"),
    "old": lambda scene: scene.some(*scene.finished, "out", "nowhere"),
    "new": lambda scene: scene.some(*scene.finished, "two", "nowhere"),
    "sd": SIZE,
    "icc": SHARE,
    "rater_sd": SIZE,
    "correlation": _number("-1", "0", "0.5", "1", "-0.999999"),
    "agreement": _number("-1", "0", "0.5", "1", "0.999999"),
    "win_rate": _number("0.5", "0.55", "0.999999", "1e-9", "0.3"),
    "ties": SHARE,
    "cost_dialogue": SIZE,
    "cost_rating": SIZE,
    "cost_judge": SIZE,
    "contexts": lambda scene: scene.some(*scene.files),
    "count": _number("40", "41", "200"),
    "budget": _number("500", "501", "700"),
    "stages": lambda scene: scene.some("baselines", "search", "baselines,search", "nothing"),
    "epochs": _number("1"),
    "updates": _number("1"),
    "batch": _number("2"),
    "repetitions": _number("1"),
    "learning_rate": _number("1e-9", "1", "1e9"),
    "kl": _number("0", "1"),
    "entropy": _number("0", "1"),
    "longest": _number("2"),
    "minutes": _number("0.01"),
    "timeout": _number("5", "60"),
    "settings": lambda scene: scene.some("epochs=1", "x=y", "temperature=0.5", "folds=2", "held_out=0.5"),
    "world": lambda scene: scene.some("booking", "chat", "task"),
    "family": lambda scene: scene.some("graded", "wordings", "behaviour", "stochastic", "failings"),
    "dialogues": _number("1", "2", "3"),
    "samples": _number("1", "2", "3"),
    "truth": lambda scene: scene.some(*["truth.json"] * 5, "made.truth.json", "a.jsonl", "nowhere.json"),
    "simulate.truth": _number("0", "1", "3"),
    "outsiders": lambda scene: f"{scene.some('bot', 'a b')}=fuzz_functions:{scene.some('reply', 'silent', 'broken')}",
    "goals": lambda scene: scene.some(*scene.files),
    "user": lambda scene: scene.some("fuzz_functions:reply", "nowhere:user"),
    "name": lambda scene: scene.some("mine", *ODD_NAMES),
    "self_play": _number("1", "2", "3"),
    "concurrency": _number("1", "2"),
    "tries": _number("1", "2"),
    "targets": lambda scene: scene.some("@alternatives", _agents(scene), _agents(scene)),
    "rating": lambda scene: scene.some("all", "metric:length", *(scene.names.dimensions or ["overall"])),
    "estimators": lambda scene: _names(scene, (*ESTIMATORS, *(NEURAL_ESTIMATORS if scene.neural else ()))),
    "fraction": _number("1", "0.5", "1e-9", "0.99"),
    "challenging": _number("0", "1", "15", "100000"),
    "min_truth": lambda scene: scene.some("0", "overall=3", "1e308", "nothing=1", "x="),
    "seeds": _number("1", "2"),
    "title": lambda scene: scene.some(*ODD_TEXTS),
    "kind": lambda scene: scene.some("metrics", "estimators", "readers", "agents", "worlds", "trainers", "statistics"),
}  # fmt: skip
# Options that a command is mostly given, because it does little without them.
USUAL: Mapping[str, Mapping[str, float]] = {
    "ope": {"model": 1.0, "calibrate": 0.4, "estimators": 0.6, "quiet": 0.5, "config": 0.02},
    "compare": {"metrics": 0.7, "agents": 0.8, "draws": 1.0},
    "meta": {"metrics": 0.9, "draws": 1.0},
    "calibrate": {"level": 0.5},
    "score": {"draws": 1.0},
    "power": {"metrics": 0.4},
    "attack": {"count": 1.0, "budget": 1.0},
    "simulate": {"agents": 1.0, "dialogues": 1.0, "truth": 1.0, "samples": 0.5},
    "train": {"model": 0.9},
}
# Of these parameters of a command exactly one is mostly given, and the others are not.
ONE_OF: Mapping[str, Sequence[Sequence[str]]] = {
    "ope": (("targets", "all_agents"),),
    "power": (("difference", "have"), ("data", "sd", "win_rate")),
}
SAVED = {
    "score",
    "compare",
    "meta",
    "calibrate",
    "power",
    "ope",
    "attack",
}  # commands whose -o is a folder of results


@cache
def commands() -> dict[str, click.Command]:
    """The commands that are tried, by name."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in WEIGHTS}
    return {name: command for name, command in found.items() if command is not None}


def unknown_parameters() -> set[str]:
    """Parameters of the commands that take a value, and for which neither `VALUES` nor their type has one."""
    found = set()
    for name, command in commands().items():
        for parameter in command.params:
            if parameter.name in UNSET or isinstance(
                parameter.type, click.Choice | click.types.BoolParamType
            ):
                continue
            known = {*VALUES, *ARGUMENTS}
            if not known & {f"{name}.{parameter.name}", parameter.name}:
                found.add(f"{name}.{parameter.name}")
    return found


def _data(scene: Scene) -> list[str]:
    """Files of dialogues, mostly those that were written; now and then a folder or something absent."""
    if scene.rng.random() < 0.01:
        return [scene.some("nowhere.jsonl", ".", "-")]
    return scene.rng.sample(scene.there, min(len(scene.there), scene.some(1, 1, 1, len(scene.files))))


def _folders(scene: Scene) -> list[str]:
    return [scene.some(*scene.finished, *scene.finished, ".") for _ in range(scene.some(1, 1, 2))]


def _compared(scene: Scene) -> list[str]:
    if scene.finished and scene.rng.random() < 0.3:
        return [scene.some(*scene.finished), scene.some(*scene.finished)]
    return _data(scene)


def _converted(scene: Scene) -> list[str]:
    return [scene.some("converted.jsonl", "converted.jsonl.gz", "a.jsonl")]


ARGUMENTS: Mapping[str, Callable[[Scene], list[str]]] = {
    "data": _data,
    "compare.data": _compared,
    "source": _data,
    "target": _converted,
    "folders": _folders,
    "ls.names": lambda scene: [scene.some("length", "robust", "rating:overall", "minilm", *ODD_TEXTS)],
}


def command_line(scene: Scene) -> list[str]:
    """A random command line for the files of the scene."""
    rng = scene.rng
    name = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    if scene.finished and rng.random() < 0.4:
        name = "report"
    command = commands()[name]
    chances = _chances(scene, name)
    words: list[str] = []
    placed: list[str] = []
    for parameter in command.params:
        if parameter.name in UNSET:
            continue
        chance = chances.get(parameter.name, chances[""])
        if isinstance(parameter, click.Argument):
            make = ARGUMENTS.get(f"{name}.{parameter.name}", ARGUMENTS.get(parameter.name))
            if parameter.required or rng.random() < chance:
                placed += make(scene) if make else [_value(scene, name, parameter)]
        elif parameter.required or rng.random() < chance:
            words += _option(scene, name, parameter)
    return [name, *placed, *words] if rng.random() < 0.9 else [name, *words, *placed]


def _chances(scene: Scene, name: str) -> dict[str, float]:
    """Parameter -> the chance that it is given; "" has that of all others."""
    rng = scene.rng
    found = {"": rng.choice((0.0, 0.0, 0.03, 0.08)), **USUAL.get(name, {})}
    if name in SAVED:
        found["output"] = 0.6
    for group in ONE_OF.get(name, ()):
        if rng.random() < 0.97:
            found |= dict.fromkeys(group, 0.0) | {rng.choice(group): 1.0}
    return found


def _option(scene: Scene, command: str, parameter: click.Parameter) -> list[str]:
    """The words of one option: a flag, or its name and a value."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.secondary_opts):
        return [scene.some(*parameter.opts, *parameter.secondary_opts)]
    return [parameter.opts[-1], _value(scene, command, parameter)]


def _value(scene: Scene, command: str, parameter: click.Parameter) -> str:
    """A value of a parameter, by its name or else by its type."""
    make = VALUES.get(f"{command}.{parameter.name}", VALUES.get(str(parameter.name)))
    if isinstance(parameter.type, click.Choice):
        return str(scene.rng.choice(list(parameter.type.choices)))
    if make is None:
        raise LookupError(f"no values are known for {command} {parameter.name}")
    return str(make(scene))
