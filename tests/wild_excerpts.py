"""Small excerpts of real log files, and what they must become: `python -m tests.wild_excerpts` writes both again.

The real files lie beside the corpora (`../shared/wild`). Whole records are left out; what is kept is as its tool wrote
it. Sources and licences are in `tests/fixtures/wild/README.md`.
"""

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.user_variables import corpora
from turnwise.logs.conversion import Converted, convert
from turnwise.logs.readers.source import Options
from turnwise.types import Role

WILD = corpora().parent / "wild"
FOLDER = Path(__file__).parent / "fixtures" / "wild"
QUESTION = 82  # of MT-bench
DAYS = ("enrique/2016-01-14.json", "enrique/2016-01-15.json", "enrique/2016-01-16.json")
TICKS = 20  # of a voice run


class Excerpt(NamedTuple):
    """A file, or a folder, of the fixtures."""

    name: str
    cut: Callable[[Path, Path], object]
    reader: str
    more: tuple[str, ...] = ()  # further files of the same source
    roles: dict[str, Role] = {}  # noqa: RUF012  # a NamedTuple is never changed

    @property
    def expected(self) -> Path:
        return FOLDER / f"{self.name}.expected.jsonl"

    def converted(self, target: Path) -> Converted:
        options = Options(more=tuple(str(FOLDER / one) for one in self.more), roles=self.roles)
        return convert(None, str(FOLDER / self.name), str(target), options)


def _edited(edit: Callable[[Any], Any]) -> Callable[[Path, Path], object]:
    """A JSON file whose records `edit` leaves out."""

    def cut(source: Path, target: Path) -> None:
        value = edit(json.loads(source.read_bytes()))
        target.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    return cut


def _lines(*numbers: int) -> Callable[[Path, Path], object]:
    """Lines of a file, from 0."""

    def cut(source: Path, target: Path) -> None:
        lines = source.read_bytes().splitlines(keepends=True)
        target.write_bytes(b"".join(lines[number] for number in numbers))

    return cut


def _of_question(source: Path, target: Path) -> None:
    """The lines of JSON Lines that are about one question."""
    lines = source.read_bytes().splitlines(keepends=True)
    target.write_bytes(b"".join(line for line in lines if json.loads(line)["question_id"] == QUESTION))


def _rows(source: Path, target: Path) -> None:
    """The first preference of a table."""
    with source.open(newline="", encoding="utf-8") as file:
        header, first = (row for row, _ in zip(csv.reader(file), range(2), strict=False))
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, first])
    target.write_text(stream.getvalue(), encoding="utf-8", newline="")


def _tau2(results: dict[str, Any]) -> dict[str, Any]:
    simulation = min(results["simulations"], key=lambda one: len(json.dumps(one)))
    tasks = [one for one in results["tasks"] if one["id"] == simulation["task_id"]]
    return {**results, "tasks": tasks, "simulations": [simulation]}


def _tau2_run(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    (target / "simulations").mkdir(parents=True)
    (file,) = (source / "simulations").iterdir()
    simulation = json.loads(file.read_bytes())
    begin = next(
        place for place, tick in enumerate(simulation["ticks"]) if tick["user_chunk"].get("contains_speech")
    )
    simulation["ticks"] = simulation["ticks"][begin : begin + TICKS]
    results = json.loads((source / "results.json").read_bytes())
    results["tasks"] = [one for one in results["tasks"] if one["id"] == simulation["task_id"]]
    for path, value in ((target / "results.json", results), (target / "simulations" / file.name, simulation)):
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _promptfoo(export: dict[str, Any]) -> dict[str, Any]:
    return {**export, "results": {**export["results"], "results": export["results"]["results"][:2]}}


def _slack(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as packed, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as kept:
        days = {name: packed.read(name) for name in DAYS}
        speakers = {
            one["user"] for day in days.values() for one in json.loads(day) if "subtype" not in one
        }  # users who say nothing in these days are left out: one has a telephone number
        users = [one for one in json.loads(packed.read("users.json")) if one["id"] in speakers]
        files = {
            "channels.json": packed.read("channels.json"),
            "users.json": json.dumps(users).encode(),
            **days,
        }
        for name, content in files.items():
            kept.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


MT_BENCH = ("mt_bench_answers_a.jsonl", "mt_bench_answers_b.jsonl", "mt_bench_judgments_single.jsonl")
SLACK: dict[str, Role] = {"hamza": "assistant", "*": "user"}
EXCERPTS = (
    Excerpt("tau_bench_v1_airline.json", _edited(lambda records: records[4:5]), "tau-bench"),
    Excerpt("tau2_results.json", _edited(_tau2), "tau2"),
    Excerpt("tau2_run", _tau2_run, "tau2"),
    Excerpt("parlai_chatlog_blender_2.7B.json", _lines(0, 1), "parlai"),
    Excerpt("parlai_model_chat.json", shutil.copyfile, "parlai"),
    Excerpt("parlai_selfchat_m1.jsonl", _lines(3), "parlai"),
    Excerpt("parlai_tod_example.jsonl", _lines(14), "parlai"),
    Excerpt("parlai_acute_eval.csv", _rows, "acute-eval"),
    Excerpt("inspect_log.json", _edited(lambda log: {**log, "samples": log["samples"][:1]}), "inspect"),
    Excerpt("inspect_log.eval", shutil.copyfile, "inspect"),
    Excerpt("promptfoo_export.json", _edited(_promptfoo), "promptfoo"),
    Excerpt("rasa_tracker.json", shutil.copyfile, "rasa"),
    Excerpt("slack_export.zip", _slack, "slack", roles=SLACK),
    Excerpt("mt_bench_questions.jsonl", _of_question, "mt-bench", more=MT_BENCH),
    Excerpt("hh_rlhf_pairs.jsonl", _lines(8, 9), "preferences"),
    Excerpt("alpaca_eval_annotations.json", _edited(lambda records: records[6:7]), "preferences"),
)


def write() -> None:
    """Cut the excerpts, and convert them."""
    for name in MT_BENCH:
        _of_question(WILD / name, FOLDER / name)
    for excerpt in EXCERPTS:
        excerpt.cut(WILD / excerpt.name, FOLDER / excerpt.name)
        excerpt.converted(excerpt.expected)


if __name__ == "__main__":
    write()
