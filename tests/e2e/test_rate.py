"""`turnwise rate` on the command line, and the use of its export by the other commands."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.corpus import WORDS, corpus, write
from tests.rating_server import Server
from tests.visitor import Visitor
from turnwise.cli.common.group import run

VAGUE = ["well", "hm", "perhaps", "sorry", "dunno", "pardon"]  # what an agent says that does not know


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def begin(*arguments: str) -> Server:
        started.append(Server(*arguments, folder=tmp_path))
        return started[-1]

    yield begin
    for server in started:
        if server.process.poll() is None:
            server.stop()


def work(server: Server, link: str, opinion: Callable[[str], int]) -> int:
    """A rater who goes by the rated reply and passes every check; how many tasks they had."""
    visitor = Visitor(server.client, link)
    visitor.send()
    done = 0
    while visitor.is_asked:
        shown = visitor.text.split("to rate", 1)[1].split("Show what is judged", 1)[0].strip()
        value = {"lowest": 1, "highest": 5}.get(shown.partition("give the ")[2].partition(" ")[0])
        time.sleep(0.06)  # nobody is faster, and the server does not let them
        visitor.send({"q0": str(value or opinion(shown))})
        assert visitor.status == 200
        done += 1
    return done


def answers(path: Path, *, agents: int = 6, questions: int = 12) -> Path:
    """Agents of growing skill on the same questions, and what would have been right."""
    rng, records = np.random.default_rng(0), []
    skills = {f"agent-{k}": (k + 0.5) / agents for k in range(agents)}
    for number in range(questions):
        right = rng.choice(WORDS, n := int(rng.integers(6, 11)))
        said = {
            name: " ".join(np.where(rng.random(n) < skill, right, rng.choice(VAGUE, n)))
            for name, skill in skills.items()
        }
        for agent, text in said.items():
            asked = {"role": "user", "content": f"question {number} about {' '.join(right[:3])}"}
            reply = {"role": "assistant", "content": text, "references": [" ".join(right)]}
            records.append(
                {
                    "id": f"{number}-{agent}",
                    "agent": agent,
                    "messages": [asked, {**reply, "alternatives": said}],
                }
            )
    return write(path, records)


def opinions(data: Path, *, shift: int = 0) -> Callable[[str], int]:
    """What somebody thinks who knows the references: the share of words in place, on 1 to 5."""
    known = {}
    for line in data.read_text().splitlines():
        reply = json.loads(line)["messages"][1]
        pairs = list(zip(reply["content"].split(), reply["references"][0].split(), strict=True))
        share = sum(a == b for a, b in pairs) / len(pairs)
        known[reply["content"]] = min(5, max(1, round(1 + 4 * share) + shift))
    return lambda shown: known[shown]


@pytest.mark.slow
def test_the_loop_from_raters_through_the_export_to_meta_to_training_adem_to_ope(
    serve, tmp_path: Path, capsys
):
    data = answers(tmp_path / "logs.jsonl")
    (tmp_path / "study.toml").write_text("per_task = 3\n[quality]\nshared = 2\nmin_shared = 12\n")
    server = serve("logs.jsonl", "--study", "study.toml", "--raters", "anna,ben,careless")
    links = server.links(3)
    assert work(server, links["anna"], opinions(data)) == 72 + 2 + 1
    work(server, links["ben"], opinions(data, shift=1))
    work(server, links["careless"], lambda shown: 1 + len(shown) % 2 * 4)
    assert server.stop() == 0
    rated, model = str(tmp_path / "rated.jsonl"), str(tmp_path / "adem")
    asked = ["--study", str(tmp_path / "study.toml"), "--store", str(tmp_path / "logs.ratings.db")]
    assert run(["rate", str(data), *asked, "--export", rated]) == 0
    assert run(["validate", rated]) == 0

    capsys.readouterr()
    assert run(["meta", rated, "--format", "json"]) == 0
    agreement = {row["statistic"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert agreement["alpha-ordinal"]["n_raters"] == 2  # the careless one is apart
    assert run(["meta", rated, "-m", "rouge-l,length", "--level", "turn", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    by_metric = {row["metric"]: row["estimate"] for row in found if row["statistic"] == "spearman"}
    assert by_metric["rouge-l"] > 0.8
    assert by_metric["rouge-l"] > by_metric["length"]

    # People's ratings, then those that a metric trained on them foretells: both say what each agent is worth.
    assert validation(capsys, rated, "overall")["pearson"] > 0.9
    assert run(["train", "adem", rated, "-o", model, "--model", "hashing", "-q"]) == 0
    predicted = validation(capsys, rated, f"metric:adem[trained={model}]")
    assert (predicted["n_agents"], predicted["refused"]) == (6, 0)
    assert predicted["pearson"] > 0.9


def validation(capsys, rated: str, rating: str) -> dict:
    """How well `ope`, leaving out each agent in turn, foretells what the others' logs say of it."""
    capsys.readouterr()
    asked = [
        "--all",
        "--rating",
        rating,
        "--estimator",
        "direct",
        "--model",
        "hashing",
        "--format",
        "json",
        "-q",
    ]
    assert run(["ope", rated, *asked]) == 0
    (found,) = json.loads(capsys.readouterr().out)["validation"]
    return found


def test_the_loop_from_raters_of_whole_conversations_to_ope(serve, tmp_path: Path, capsys):
    data = answers(tmp_path / "logs.jsonl")
    opinion = opinions(data)
    (tmp_path / "study.toml").write_text(
        "per_task = 1\nper_rater = 24\n[quality]\nshared = 0\nchecks = 0\nrepeats = 0\n"
    )
    server = serve("logs.jsonl", "--study", "study.toml", "--mode", "dialogue")
    for link in server.links(3).values():
        visitor = Visitor(server.client, link)
        visitor.send()
        while visitor.is_asked:
            shown = visitor.text.split("Assistant", 1)[1].split("How good", 1)[0].strip()
            visitor.send({"q0": str(opinion(shown))})
    export = server.client.get(f"{server.admin}/export.jsonl")
    rated = tmp_path / "rated.jsonl"
    rated.write_bytes(export.content)
    ratings = [r for line in export.text.splitlines() for r in json.loads(line)["ratings"]]
    assert len(ratings) == 72
    assert not any("turn" in r for r in ratings)
    assert validation(capsys, str(rated), "overall")["pearson"] > 0.9


def test_the_same_command_resumes_a_study_with_the_same_links(serve, tmp_path: Path):
    corpus(tmp_path / "logs.jsonl", n=2)
    first = serve("logs.jsonl", "--raters", "2")
    links = {name: link.split("/r/")[1] for name, link in first.links(2).items()}
    visitor = Visitor(first.client, f"/r/{links['rater-1']}")
    visitor.send()
    visitor.send({"q0": "3"})
    shown = visitor.text
    assert first.stop() == 0
    second = serve("logs.jsonl", "--raters", "2")
    assert {name: link.split("/r/")[1] for name, link in second.links(2).items()} == links
    assert Visitor(second.client, f"/r/{links['rater-1']}").text == shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mode", "chat"], "--agent and --mode chat need each other"),
        (["--agent", "a:b"], "--agent and --mode chat need each other"),
        (["--mode", "pairwise", "--pair", "meta.nothing"], "meta.nothing"),
        (["--export", "out.jsonl"], "there are no ratings yet"),
        (["--study", "absent.toml"], "absent.toml: cannot be read"),
        (["--mode", "chat", "--agent", "no.such:thing"], "cannot import"),
        (["--host", "203.0.113.1"], "cannot listen on 203.0.113.1"),
        (["--raters", "mean"], "cannot be a rater's name"),
        (["--raters", "admin"], "cannot be a rater's name"),
        (["--raters", "20000"], "at most 10000"),
        (["--store", "logs.jsonl"], "is no file of ratings"),
        (["--store", "."], "is no file of ratings"),
        (["--store", "nowhere/x.db"], "nowhere/x.db: No such file"),
        (["--url", "rate.example.org"], "expected https://HOST"),
        (["--url", "https://example.org/rate"], "expected https://HOST"),
        (["--everything"], "--everything is an option of --export"),
        (["--whole"], "`whole` is an option of --mode pairwise"),
        (["--store", "postgresql://me:secret@localhost:1/none"], "error: postgresql://localhost:1/none"),
    ],
)
def test_impossible_requests_are_errors_with_a_reason(arguments, words, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path / "logs.jsonl", n=2)
    assert run(["rate", "logs.jsonl", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
    assert "secret" not in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mode = 'sing'", "mode"),
        ("[[question]]\nname = 'x'\nscale = [5, 1]", "expected two numbers in order"),
        ("[[question]]\nname = 'x'\nscale = [1, inf]", "expected two numbers in order"),
        ("[[question]]\nname = 'x'\nscale = [1, 5]\nstep = 3", "do not lead from 1 to 5"),
        ("[[question]]\nname = 'x'\nscale = [0, 100]", 'need kind = "slider"'),
        ("[[question]]\nname = 'x'\nlabels = ['a', 'b', 'c']", "expected 2 for the ends, or 5"),
        ("[[question]]\nname = 'x'\n[[question]]\nname = 'x'", "the same name twice"),
        ("per_task = 0", "expected 1 or more"),
        ("[chat]\nseconds = 0", "chat.seconds"),
        ("[quality]\nkappa = nan", "quality.kappa"),
        ("unknown = 1", "unknown"),
        ("mode = 'write'\n[[question]]\nname = 'x'", "takes no questions"),
        ("mode = ", "cannot be read"),
    ],
)
def test_a_study_that_is_wrong_is_refused_with_its_place(text, words, tmp_path: Path, capsys):
    data = corpus(tmp_path / "logs.jsonl", n=2)
    study = tmp_path / "study.toml"
    study.write_text(text)
    assert run(["rate", str(data), "--study", str(study)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "study.toml" in error or "takes no questions" in error
