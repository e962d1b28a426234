"""A whole round with a crowd over the join link: 30 people finish, 10 drop out; `meta` and `power` read the export."""

import csv
import io
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.rating_server import PATIENCE, Server
from tests.visitor import Visitor
from turnwise.cli.common.group import run

pytestmark = pytest.mark.slow

PEOPLE, DROP_OUTS, TASKS, PER_TASK = 30, 10, 50, 6
STUDY = """
per_task = 6
per_rater = 11
minutes = 0.1
consent = "Answers are kept for a **year**."
[[screening]]
text = "Do you read English?"
options = ["yes", "no"]
accepted = ["yes"]
[training]
data = "practice.jsonl"
pass_mark = 0.5
within = 1
[crowd]
quota = 30
return_url = "https://platform.example/complete?cc={code}"
pay = 1.5
currency = "GBP"
[quality]
shared = 1
checks = 1
repeats = 0
"""


def dialogue(k: int, agent: str, good: float, **extra: object) -> dict:
    turns = [
        {"role": "user", "content": f"question {k}"},
        {"role": "assistant", "content": f"reply {k} of {agent}"},
    ]
    return {
        "id": f"{agent}-{k}",
        "agent": agent,
        "messages": turns,
        "meta": {"good": good, "topic": k},
        **extra,
    }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    rng = random.Random(0)
    quality = {"plain": 2.4, "better": 3.6}
    logs = [
        dialogue(k, agent, mean + rng.gauss(0, 0.7))
        for k in range(TASKS // 2 + 1)
        for agent, mean in quality.items()
    ]
    practice = [
        dialogue(k, "practice", 0, ratings=[{"dimension": "overall", "value": value, "turn": 1}])
        for k, value in enumerate((1, 5))
    ]
    for name, records in (("logs.jsonl", logs), ("practice.jsonl", practice)):
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "study.toml").write_text(STUDY)
    started = Server("logs.jsonl", "--study", "study.toml", folder=tmp_path)
    yield started
    if started.process.poll() is None:
        started.stop()


class Person:
    """Somebody who joins; `stays` says after how many steps they go away for good (None: never)."""

    def __init__(
        self, server: Server, name: str, opinions: dict[str, float], stays: int | None = None
    ) -> None:
        self.base, self.name, self.opinions, self.stays = str(server.client.base_url), name, opinions, stays
        self.rng = random.Random(name)
        self.acknowledged: dict[str, int] = {}  # reply -> answer that the server acknowledged
        self.code = ""

    def work(self) -> "Person":
        with httpx2.Client(base_url=self.base, follow_redirects=True, timeout=PATIENCE) as client:
            visitor = Visitor(client, f"/join?PROLIFIC_PID={self.name}&STUDY_ID=s1&SESSION_ID=x{self.name}")
            while (
                "places of this study are taken" in visitor.text
            ):  # all are taken until somebody's time is over
                time.sleep(0.5)
                visitor.look()
            steps = 0
            while self.stays is None or steps < self.stays:
                steps += 1
                if not self._step(visitor):
                    break
        return self

    def _step(self, visitor: Visitor) -> bool:
        """One page; False at the end."""
        text = visitor.text
        if "Your completion code" in text:
            self.code = text.split("Your completion code: ")[1].split()[0]
            assert f"https://platform.example/complete?cc={self.code}" in visitor.html
            return False
        if "places of this study are taken" in text:  # until somebody's time is over
            time.sleep(0.5)
            visitor.look()
        elif "I agree" in text:
            visitor.send({"agreed": "yes"}, form="consent")
        elif "Do you read English?" in text:
            visitor.send({"s0": "yes"}, form="screening")
        elif visitor.is_asked:
            self._answer(visitor)
        else:
            visitor.send()  # take part, begin, continue
        assert visitor.status == 200, visitor.text
        time.sleep(0.4)
        return True

    def _answer(self, visitor: Visitor) -> None:
        shown = visitor.text.split("to rate", 1)[1].split("Show what is judged", 1)[0].strip()
        if "of practice" in shown:
            visitor.send({"q0": "1" if "reply 0" in shown else "5"})
            assert "Our answer" in visitor.text
            return
        if "This line checks" in shown:
            visitor.send({"q0": "5" if "highest" in shown else "1"})
            return
        value = min(5, max(1, round(self.opinions[shown] + self.rng.gauss(0, 0.5))))
        visitor.send({"q0": str(value)})
        self.acknowledged[shown] = value


def test_thirty_people_finish_ten_drop_out_and_nothing_is_lost(server: Server, tmp_path: Path, capsys):
    (join,) = server.links(1).values()
    assert join.startswith(
        str(server.client.base_url).rstrip("/") + "/join?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID="
    )
    records = [json.loads(line) for line in (tmp_path / "logs.jsonl").read_text().splitlines()]
    opinions = {one["messages"][1]["content"]: one["meta"]["good"] for one in records}
    stays = [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        12,
    ]  # at the consent page, in the practice, in the middle of the tasks
    leaving = [Person(server, f"leaves-{k}", opinions, steps) for k, steps in enumerate(stays)]
    staying = [Person(server, f"stays-{k}", opinions) for k in range(PEOPLE)]
    with ThreadPoolExecutor(PEOPLE + DROP_OUTS) as pool:
        gone = [pool.submit(one.work) for one in leaving]
        time.sleep(0.5)
        done = [future.result(timeout=900) for future in [pool.submit(one.work) for one in staying]]
        assert all(future.result(timeout=PATIENCE) for future in gone)

    assert all(one.code for one in done)
    assert len({one.code for one in done}) == PEOPLE
    page = Visitor(server.client, "/join?PROLIFIC_PID=too-late")
    assert "All places of this study are taken" in page.text

    table = list(csv.DictReader(io.StringIO(server.client.get(f"{server.admin}/payments.csv").text)))
    assert Counter(row["status"] for row in table) == {"completed": PEOPLE, "timed_out": DROP_OUTS}
    by_person = {row["PROLIFIC_PID"]: row for row in table}
    assert all(by_person[one.name]["code"] == one.code for one in done)
    assert {row["pay"] for row in table if row["status"] == "completed"} == {"1.5 GBP"}
    assert all(row["SESSION_ID"] == f"x{row['PROLIFIC_PID']}" for row in table)

    export = server.client.get(f"{server.admin}/export.jsonl").content
    everything = [
        json.loads(line)
        for line in server.client.get(f"{server.admin}/export.jsonl?everything=yes").text.splitlines()
    ]
    assert server.stop() == 0
    names = {row["rater"]: row["PROLIFIC_PID"] for row in table}
    stored = {
        (names[r["rater"]], one["messages"][1]["content"]): r["value"]
        for one in everything
        if one["agent"] != "check"
        for r in one.get("ratings", ())
    }
    acknowledged = {
        (one.name, shown): value for one in (*leaving, *staying) for shown, value in one.acknowledged.items()
    }
    assert stored == acknowledged  # nothing is lost, and nothing comes from nowhere
    assert not any("stays-" in json.dumps(one) or "leaves-" in json.dumps(one) for one in everything)
    shared = Counter(shown for _, shown in stored)
    ordinary = [count for shown, count in shared.items() if count < PEOPLE]
    assert set(ordinary) == {PER_TASK}  # every task has exactly as many raters as it wants
    assert len(ordinary) == TASKS

    rated = tmp_path / "rated.jsonl"
    rated.write_bytes(export)
    capsys.readouterr()
    assert run(["meta", str(rated), "--format", "json"]) == 0
    found = {row["statistic"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert found["alpha-ordinal"]["n_raters"] >= PEOPLE
    assert found["alpha-ordinal"]["estimate"] > 0.5
    command = [
        "power",
        str(rated),
        "-m",
        "rating:overall",
        "--difference",
        "0.3",
        "--pair",
        "meta.topic",
        "--format",
        "json",
    ]
    assert run([*command, "--turns", "1", "--raters", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["results"]
