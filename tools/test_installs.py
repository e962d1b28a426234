"""`python -m tools.test_installs`: install the wheel without extras and with each extra alone, and try every command.

Each environment is new and contains nothing but what pip installs for the wheel, so that a package that only
developers have is missed here. A trial either succeeds, or names an extra that it needs and that is not installed, and
ends with 2, or with 3 where all that was asked for was skipped. Everything else is wrong: a traceback, another code,
another extra.

At the end a matrix is printed (trial x environment), and every wrong cell with its output; the exit code is 1 if there
is one. Environments are kept in .venv-installs, and made anew when their requirements, the pins or Python change.
`--only none,web` takes some environments. Two more are `demo`, which `make demo` makes and in which the blocks of the
README and of the first pages of the docs are run, and `tests`, without torch, in which the tests of what needs no extra
are run; `--core-tests` runs only these, with the packages of this Python.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, Literal
from urllib.request import urlopen

from tests.small_tables import write_tables

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".venv-installs"
CONSTRAINTS = ROOT / "constraints.txt"
PLAIN = "none"  # the environment without any extra
DEMO, TESTS = "demo", "tests"  # that of `make demo`, and one for the tests without torch
TESTED = ["tables", "pandas", "test"]  # extras of the latter
CORE_TESTS = (
    "-m", "pytest", "-q", "-m", "not slow", "tests/stats", "tests/logs", "tests/ratings", "tests/meta",
    "tests/metrics/reference", "tests/metrics/unreferenced", "tests/test_errors.py", "tests/test_library.py",
    "tests/test_terminal.py", "tests/test_demo_corpus.py", "tests/test_rated_corpus.py",
)  # fmt: skip
FOR_DEVELOPERS = {"dev", "test", "docs"}
LONGEST = 600  # seconds for one trial
DEMO_LONGEST = 3600  # for `make demo`, which installs torch and trains
TIMED_OUT = 124
JOBS = 2  # environments at a time
UNSUITED = (3, 4)  # codes of a name for which the small inputs are too few, or the wrong ones
OK, WRONG = "ok", "WRONG"
KEPT_VARIABLES = {"TURNWISE_CACHE", "TURNWISE_WEIGHTS"}  # where weights are; all others would change results
NAMED_EXTRA = re.compile(r"pip install 'turnwise\[(\w+)\]'")
# Pages of the docs that a newcomer reads first, and that need nothing but what `make demo` installs.
FIRST_PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/score.md",
    "docs/compare.md",
    "docs/meta.md",
    "docs/trust.md",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A command that is run in every environment, after those above it: it may read what they wrote."""

    words: str  # what follows `turnwise`, or a script of Python
    needs: frozenset[str] = frozenset()
    how: Literal["command", "server", "python"] = "command"  # a server runs until it is interrupted
    says: str = ""  # what the error says of a command that asks for more than there is here
    only: str = ""  # the one environment in which it is run; "" for all
    title: str = ""  # how the matrix names it


@dataclass(frozen=True, slots=True)
class Outcome:
    """A cell of the matrix."""

    title: str
    verdict: str  # ok, `needs EXTRA`, WRONG
    output: str = ""  # what was printed, where the verdict is wrong


def trial(words: str, *needs: str, title: str = "", **options: Any) -> Trial:
    """A trial that needs these extras."""
    return Trial(words, frozenset(needs), title=title or words, **options)


CORE_METRICS = "bleu-4,chrf,ter,rouge-l,meteor,average,distinct-2,length,question-rate,specificity"
BOOKING = "simulate booking --agents 6 --dialogues 12 --samples 1 --truth 0 -o booking.jsonl"
SCORES = "tw.score('demo/demo.jsonl', metrics='length')"
ADDRESS = "postgresql://nobody@127.0.0.1:1/ratings"  # no server answers there
TRIALS = (
    trial("--version"),
    trial("demo --corpus -o demo"),
    trial("doctor"),
    trial("doctor --format json"),
    trial("ls"),
    *(
        trial(f"ls {kind}")
        for kind in (
            "metrics", "metrics -v", "estimators", "readers", "agents", "worlds", "trainers", "statistics", "weights",
            "rubrics", "judges", "schemas",
        )
    ),
    trial("ls schemas config"),
    trial("init --into begun demo/demo.jsonl"),
    trial("fetch minilm"),
    trial("validate demo/demo.jsonl"),
    trial("convert --redact demo/demo.jsonl redacted.jsonl.gz"),
    trial("convert fixtures/wild/tau2_results.json tools.jsonl"),
    trial("convert --from parquet --map id=id,role=role,content=content table.parquet table.jsonl", "tables"),
    trial("convert table.parquet table.jsonl", "tables"),
    trial("convert fixtures/written/inspect_written.eval inspect.jsonl", "tables"),
    trial(f"score demo/demo.jsonl -m {CORE_METRICS} -o scored"),
    trial("score demo/demo.jsonl -m rouge-l -o second --jobs 2"),
    trial("score demo/demo.jsonl -m length --on ray --jobs 1", "cluster"),
    trial("score demo/demo.jsonl -m bertscore,turnwise", "models"),
    trial("score demo/demo.jsonl -m usr-ret,maude,att,guarded,fbd,prd,mmd,relatedness", "models"),
    trial("score demo/demo.jsonl -m turnwise-large", "neural"),
    trial("score tools.jsonl -m tool-invalid[tools=schemas.json]", "tools"),
    trial("score demo/demo.jsonl -m bleu-paper", "nltk"),
    trial("compare demo/demo.jsonl -m rouge-l --agents good,rude -o compared"),
    trial("compare demo/demo.jsonl -m turnwise --agents good,rude", "models"),
    trial("diff scored second"),
    trial("meta demo/demo.jsonl -m rouge-l,length -o agreement"),
    trial("meta demo/demo.jsonl -m usr-ret", "models"),
    trial("calibrate half.jsonl -m rouge-l --labels random -o calibrated"),
    trial("calibrate half.jsonl -m turnwise --labels random", "models"),
    trial("power demo/demo.jsonl --difference 0.5"),
    trial("reliability demo/demo.jsonl -m rating:overall --cluster meta.topic --threshold 3"),
    trial("attack rouge-l --contexts demo/demo.jsonl -o attacked"),
    trial("attack usr-ret --contexts demo/demo.jsonl --count 40 --budget 500", "models"),
    trial("train turnwise demo/demo.jsonl -o trained", "neural"),
    trial(BOOKING),
    trial("simulate chat --agents 2 --dialogues 2 --truth 0 -o chat.jsonl"),
    trial("simulate task --agents 2 --dialogues 4 --truth 0 -o task.jsonl"),
    trial("respond demo/demo.jsonl --agent bot:reply --name mine --limit 4 -o replies.jsonl"),
    trial("play world:booking --limit 2 --user rules --agent bot:reply --max-turns 2 -o played.jsonl"),
    trial("respond demo/demo.jsonl --agent smollm2 --name smollm2 --limit 1 -o more.jsonl", "neural"),
    trial("ope booking.jsonl --target noise-03 --rating reward --model hashing --estimator balance,fqe -o estimated"),
    trial("ope booking.jsonl --target noise-03 --rating reward --estimator balance", "models"),
    trial("export scored -o scores.csv"),
    trial("report scored compared agreement attacked calibrated estimated -o report.html"),
    trial("rate demo/demo.jsonl --port 0", "web", how="server"),
    trial("rate demo/demo.jsonl --export exported.jsonl", says="no ratings yet"),
    trial(f"rate demo/demo.jsonl --port 0 --store {ADDRESS}", "web", "postgres", says="connection failed"),
    trial(f"rate demo/demo.jsonl --export exported.jsonl --store {ADDRESS}", "postgres", says="connection failed"),
    trial("view scored --port 0", "web", how="server"),
    trial("demo -o whole", only=PLAIN),
    trial("import sys, turnwise; sys.exit('numpy' in sys.modules)", how="python"),
    trial(f"import sys, turnwise as tw; sys.exit('<svg' not in {SCORES}._repr_html_())", how="python"),
    trial(f"import turnwise as tw; {SCORES}.to_pandas()", "pandas", how="python"),
    trial(f"import turnwise as tw; {SCORES}.to_polars()", "tables", how="python"),
    trial("import turnwise as tw; print(tw.list_available('metrics'), tw.doctor())", how="python"),
)  # fmt: skip
# A script of Python as a command: an error that a user can mend is a message and an exit code.
AS_COMMAND = """
import sys
from turnwise import TurnwiseError
try:
    exec(sys.argv[1])
except TurnwiseError as error:
    print(error)
    sys.exit(error.exit_code)
"""
BOT = 'def reply(messages):\n    return "I see. " + messages[-1]["content"]\n'


# --------------------------------------------------------------------------------------------- environments


def extras() -> dict[str, list[str]]:
    """The requirements of each extra for users, as pyproject.toml has them."""
    optional: dict[str, list[str]] = _project()["optional-dependencies"]
    return {name: required for name, required in optional.items() if name not in FOR_DEVELOPERS}


def _project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def build_wheel() -> Path:
    """The wheel of the working tree, built anew."""
    folder = PLACE / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    _must(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(name: str, wheel: Path) -> Path:
    """The folder of an environment with the wheel and an extra; one that is up to date is used again."""
    folder = PLACE / name
    asked = {PLAIN: [], TESTS: TESTED}.get(name, [name])
    optional = _project()["optional-dependencies"]
    requirements = [requirement for extra in asked for requirement in optional[extra]]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = json.dumps([_project()["dependencies"], requirements, CONSTRAINTS.read_text(), sys.version])
    key = hashlib.sha256(wanted.encode()).hexdigest()
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--disable-pip-version-check",
        "-c",
        CONSTRAINTS,
    ]
    if (folder / "key").exists() and (folder / "key").read_text() == key:
        _must(*pip, "--no-deps", "--force-reinstall", wheel)
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    _must(sys.executable, "-m", "venv", "--without-pip", folder)
    _must(*pip, f"{wheel}[{','.join(asked)}]" if asked else wheel)
    (folder / "key").write_text(key)
    return folder


def installed(folder: Path) -> dict[str, str]:
    """The packages of an environment and their versions."""
    code = (
        "from importlib.metadata import distributions as all\nfor one in all(): print(one.name, one.version)"
    )
    printed = _must(_program(folder, "python"), "-c", code)
    return {_plain(name): version for name, version in (line.split() for line in printed.splitlines())}


def _plain(name: str) -> str:
    """A package's name in the one spelling that pip compares."""
    return re.sub("[-_.]+", "-", name).lower()


def available(packages: Iterable[str]) -> frozenset[str]:
    """The extras all of whose requirements are among these packages: also those that another extra brings along."""
    there = set(packages)
    names = {
        extra: {_plain(re.split(r"[\[><=~! ]", requirement)[0]) for requirement in requirements}
        for extra, requirements in extras().items()
    }
    return frozenset(extra for extra, needed in names.items() if needed <= there)


def other_versions(packages: Mapping[str, str]) -> list[str]:
    """Packages whose version is not the pinned one, which may have a local label (`2.13.0+cpu`)."""
    pins = dict(line.split("==") for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#"))
    pins = {_plain(name): version for name, version in pins.items()} | {"turnwise": _project()["version"]}
    return [
        f"{name} {version}, not {pins.get(name, 'pinned')}"
        for name, version in packages.items()
        if pins.get(name) != version.partition("+")[0]
    ]


def _program(folder: Path, name: str) -> Path:
    """A program of an environment."""
    return folder / "Scripts" / f"{name}.exe" if os.name == "nt" else folder / "bin" / name


def _must(*command: str | Path) -> str:
    """What a command prints that has to succeed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env=_variables())
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}")
    return done.stdout


def _variables() -> dict[str, str]:
    """The variables of a trial: those of a user who has set none of ours, and no path to this working tree."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    return {
        name: value
        for name, value in os.environ.items()
        if name not in hidden and (not name.startswith("TURNWISE_") or name in KEPT_VARIABLES)
    } | {"COLUMNS": "80", "OMP_NUM_THREADS": "1"}


# -------------------------------------------------------------------------------------------------- trials


def prepare(folder: Path) -> None:
    """Write what the trials read into an empty folder."""
    import polars

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "tests" / "fixtures", folder / "fixtures")
    write_tables(folder / "multiwoz_db")
    (folder / "bot.py").write_text(BOT)
    (folder / "schemas.json").write_text('{"calculate": {"type": "object"}}')
    lines = (ROOT / "src" / "turnwise" / "data" / "demo.jsonl").read_text().splitlines()
    dialogues = [json.loads(line) for line in lines]
    rows = [
        {"id": dialogue["id"], "role": message["role"], "content": message["content"]}
        for dialogue in dialogues
        for message in dialogue["messages"]
    ]
    polars.DataFrame(rows).write_parquet(folder / "table.parquet")
    for dialogue in dialogues[::2]:
        del dialogue["ratings"]
    (folder / "half.jsonl").write_text("".join(json.dumps(dialogue) + "\n" for dialogue in dialogues))


def outcomes(name: str, folder: Path) -> Iterator[Outcome]:
    """The column of an environment."""
    packages = installed(folder)
    here = available(packages)
    unexpected = other_versions(packages)
    yield Outcome("versions as constraints.txt has them", WRONG if unexpected else OK, "\n".join(unexpected))
    expected = here >= {name} if name in extras() else not here
    yield Outcome("its extra is installed, and none without one", OK if expected else WRONG, str(set(here)))
    work = PLACE / "work" / name
    prepare(work)
    commands = re.findall(r"^  (\w+)  ", _must(_program(folder, "turnwise"), "--help"), re.MULTILINE)
    for command in commands:
        yield tried(trial(f"{command} --help"), folder, work, here)
    for each in (*TRIALS, *other_trials(commands)):
        if each.only in ("", name):
            yield tried(each, folder, work, here)
    yield from swept(folder, work, here)


def other_trials(commands: Iterable[str]) -> list[Trial]:
    """A trial of each command that has none in `TRIALS`: with the dialogues of the demo, an answer or a message."""
    known = {each.words.split()[0] for each in TRIALS}
    return [trial(f"{command} demo/demo.jsonl", says="error") for command in commands if command not in known]


def tried(trial: Trial, folder: Path, work: Path, here: frozenset[str]) -> Outcome:
    """The outcome of a trial in an environment that has these extras."""
    words = [str(_program(folder, "turnwise")), *shlex.split(trial.words)]
    if trial.how == "python":
        words = [str(_program(folder, "python")), "-c", AS_COMMAND, trial.words]
    run = _served if trial.how == "server" else _ran
    code, output = run(words, work)
    return Outcome(trial.title, verdict(trial, here, code, output), output)


def verdict(trial: Trial, here: frozenset[str], code: int, output: str) -> str:
    """Whether a trial came out as it must where these extras are installed."""
    missing = trial.needs - here
    named = set(NAMED_EXTRA.findall(output)) if code else set()
    if "Traceback" in output:
        return WRONG
    if trial.says and trial.says in output:
        return OK if code == 2 and not named else WRONG
    if missing == {"neural"} and "models" in here and code == 0:
        return OK  # what the network gave is in the cache of an environment before this one
    if missing:
        # `neural` holds all of `models`, whose part may be the first that is found missing.
        accepted = missing | ({"models"} - here if "neural" in missing else set())
        return f"needs {min(named)}" if code in (2, 3) and len(named) == 1 and named <= accepted else WRONG
    return OK if code == 0 else WRONG


def _ran(words: list[str], work: Path, longest: float = LONGEST) -> tuple[int, str]:
    """The exit code of a command and what it printed; 124 for one that ran too long and was stopped."""
    try:
        done = subprocess.run(
            words,
            cwd=work,
            env=_variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=longest,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return TIMED_OUT, f"{error.stdout or ''}\nstopped after {longest:.0f} s"
    return done.returncode, done.stdout


def _served(words: list[str], work: Path) -> tuple[int, str]:
    """The exit code of a server that is interrupted once its first page was fetched, and what it printed."""
    process = subprocess.Popen(
        words,
        cwd=work,
        env=_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    printed = ""
    with process:
        watchdog = Timer(LONGEST, process.kill)
        watchdog.start()
        for line in process.stdout or ():
            printed += line
            if link := re.search(r"http://127\.0\.0\.1:\S+", line):
                with urlopen(link[0], timeout=LONGEST) as answer:
                    printed += f"{answer.status} {len(answer.read())} bytes\n"
                process.send_signal(signal.SIGINT)
                break
        printed += process.communicate()[0]
        watchdog.cancel()
    return process.returncode, printed


# --------------------------------------------------------------------------------------------------- sweeps

# Kind of `turnwise ls` -> the command that tries one of its names.
SWEPT = {
    "metrics": "score demo/demo.jsonl tools.jsonl task.jsonl --real demo/demo.jsonl --draws 100 -m {}",
    "estimators": "ope booking.jsonl --target noise-05 --rating reward --no-calibrate --estimator {}",
    "trainers": "train {} demo/demo.jsonl -o model",
}
# Settings that shorten a training.
SHORT = {
    "critic-paper": "critic-paper[drawn=32,hidden=8]",
    "enigma": "enigma[epochs=1]",
    "fqe-neural": "fqe-neural[epochs=1]",
    "lstdq-neural": "lstdq-neural[epochs=1]",
}
# Names that ask for more than data, and what the error says.
ASK_FOR_MORE = {
    "regression": "needs a checkpoint",
    "judge": "needs the address and the name of a model",
    "panel": "needs the address and the name of a model",
    "spe": "needs self-play dialogues",
}
SWEEP = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from turnwise.cli.common.group import run
for words in json.load(sys.stdin):
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = run(words)
    print(json.dumps([code, printed.getvalue()]), flush=True)
"""


def swept(folder: Path, work: Path, here: frozenset[str]) -> Iterator[Outcome]:
    """Every metric, estimator and trainer, in one process: each needs what `ls` says that is missing, and no more.

    Trainers are tried only where they must be refused; the tests train them all.
    """
    trials = []
    for kind, words in SWEPT.items():
        listed = json.loads(_must(_program(folder, "turnwise"), "ls", kind, "--format", "json"))
        for entry in listed:
            name, needs = entry["name"], [entry["missing"]] if entry["missing"] else []
            if needs or kind != "trainers":
                title = f"{words.split()[0]} {name}"
                trials.append(
                    trial(
                        words.format(SHORT.get(name, name)),
                        *needs,
                        title=title,
                        says=ASK_FOR_MORE.get(name, ""),
                    )
                )
    commands = json.dumps([shlex.split(each.words) for each in trials])
    done = subprocess.run(
        [_program(folder, "python"), "-c", SWEEP],
        cwd=work,
        env=_variables(),
        input=commands,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    answers += [(done.returncode, "Traceback: the process ended")] * (len(trials) - len(answers))
    for each, (code, output) in zip(trials, answers, strict=True):
        is_answered = code in UNSUITED and not NAMED_EXTRA.search(output)
        yield Outcome(each.title, verdict(each, here, 0 if is_answered else code, output), output)


# ---------------------------------------------------------------------------------------- pages, core tests


def pages() -> Iterator[Outcome]:
    """The blocks of the first pages, in the environment that `make demo` makes, after it has run."""
    folder = PLACE / "demo"
    yield outcome("make demo", ["make", "demo", f"VENV={folder}"], DEMO_LONGEST)
    for page in FIRST_PAGES:
        yield outcome(page, [_program(folder, "python"), "-m", "tests.console", "--check", page])


def core_tests(folder: Path) -> Iterator[Outcome]:
    """The tests of what needs no extra, in an environment without torch."""
    yield outcome("core tests", [_program(folder, "python"), *CORE_TESTS])


def outcome(title: str, words: Sequence[str | Path], longest: float = LONGEST) -> Outcome:
    """The outcome of a program of the repository, which ends with 0 if all is well."""
    code, output = _ran([str(word) for word in words], ROOT, longest)
    return Outcome(title, OK if code == 0 else WRONG, output)


def main() -> None:
    """Make the environments, try everything in two of them at a time, and print the matrix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names of environments, separated by commas")
    parser.add_argument("--core-tests", action="store_true", help="only the core tests, with this Python")
    options = parser.parse_args()
    if options.core_tests:
        sys.exit(subprocess.call([sys.executable, *CORE_TESTS], cwd=ROOT))
    names = [PLAIN, *extras(), TESTS, DEMO] if options.only is None else options.only.split(",")
    PLACE.mkdir(exist_ok=True)
    wheel = build_wheel()

    def column(name: str) -> list[Outcome]:
        start = time.monotonic()
        if name == DEMO:
            cells = list(pages())
        elif name == TESTS:
            cells = list(core_tests(environment(name, wheel)))
        else:
            cells = list(outcomes(name, environment(name, wheel)))
        print(f"{name}: {len(cells)} trials in {time.monotonic() - start:.0f} s", flush=True)
        return cells

    with ThreadPoolExecutor(JOBS) as pool:
        longest_first = sorted(names, key=[*extras(), PLAIN, TESTS, DEMO].index, reverse=True)
        running = {name: pool.submit(column, name) for name in longest_first}
    columns = {name: running[name].result() for name in names}
    print_matrix(columns)
    wrong = [(name, cell) for name, cells in columns.items() for cell in cells if cell.verdict == WRONG]
    for name, cell in wrong:
        print(f"\n{name}: {cell.title}\n{cell.output[-2000:]}")
    print(f"\n{sum(map(len, columns.values()))} trials, {len(wrong)} wrong")
    sys.exit(bool(wrong))


def print_matrix(columns: Mapping[str, list[Outcome]]) -> None:
    """Print a row for each trial and a column for each environment."""
    cells = {name: {cell.title: cell.verdict for cell in column} for name, column in columns.items()}
    titles = dict.fromkeys(cell.title for column in columns.values() for cell in column)
    widths = [max(len(name), *map(len, column.values())) for name, column in cells.items()]
    rows = [
        (list(cells), ""),
        *(([column.get(title, "") for column in cells.values()], title) for title in titles),
    ]
    for row, title in rows:
        print(*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)), title, sep="  ")


if __name__ == "__main__":
    main()
