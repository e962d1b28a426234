"""Once fetched, everything runs without network: in a process whose sockets are refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_models import write_llama, write_regression
from turnwise.encode.models import catalogue as weights

BLOCKED = """
import socket, sys

class Refused(socket.socket):
    def connect(self, *_): raise RuntimeError("the network was touched")
    connect_ex = connect

def refuse(*_, **__): raise RuntimeError("the network was touched")

socket.socket, socket.create_connection, socket.getaddrinfo = Refused, refuse, refuse
from turnwise.encode import TextInContext, load, load_lm, load_pairs
"""
USES = {
    "minilm": """
encoder = load("minilm")
assert encoder.encode(["hello there"]).shape == (1, 384)
assert str(encoder.signature) == "minilm@53aa5117|pool:mean|norm:l2|max:256|v:1"
assert encoder.tokens(["hello there"])[0].vectors.shape == (4, 384)
""",
    "word2vec": """
encoder = load("word2vec")
king, queen, guitar = encoder.encode(["king", "queen", "guitar"])
assert abs((king ** 2).sum() - 1) < 1e-3 and king @ queen > .5 > king @ guitar
""",
    "wordllama": """
hello, hi, tax = load("wordllama").encode(["hello there", "hi there", "tax return"])
assert hello @ hi > hello @ tax
""",
    "smollm2": """
model = load_lm("smollm2")
assert str(model.signature).startswith("smollm2@b179c952|form:chat")
texts = [TextInContext(f"The capital of France is {word}.") for word in ("Paris", "soup")]
likely, odd = model.score(texts)
assert likely[0] > odd[0]
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_a_fetched_model_works_without_network(name: str) -> None:
    if not (weights.folder_of(name) / weights.MANIFEST).is_file():
        pytest.skip(f"not fetched: turnwise fetch {name}")
    if name in ("minilm", "smollm2"):
        pytest.importorskip("torch")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + USES[name]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


SCORED = """
from turnwise.cli import main
main(sys.argv[1:])
"""
METRICS = ("bertscore", "fbd[fewest=10]", "prd[fewest=10]", "mmd[fewest=10]", "ppl", "meteor", "relatedness",
           "average")  # fmt: skip


@pytest.mark.slow
def test_every_kind_of_metric_scores_without_network(tmp_path: Path) -> None:
    """With models loaded, not with vectors that the cache has kept: only the weights are those of before."""
    pytest.importorskip("torch")
    for name in ("minilm", "smollm2", "word2vec"):
        if not (weights.folder_of(name) / weights.MANIFEST).is_file():
            pytest.skip(f"not fetched: turnwise fetch {name}")
    models = weights.cache_home() / "models"
    llama = write_llama(tmp_path / "llama", chat=True)
    asked = [*METRICS, f"regression[model={write_regression(tmp_path / 'bleurt')}]"]
    asked += [f"pmi[model={llama}]", f"fed[model={llama}]"]  # they ask much of a language model
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "models").symlink_to(models)
    nouns = "sea bike tea rain cat dog book song train road".split()
    with (tmp_path / "logs.jsonl").open("w") as file:
        for noun, other in zip(nouns, reversed(nouns), strict=True):
            turns = [
                {"role": "user", "content": f"Do you like the {noun}?"},
                {"role": "assistant", "content": f"I like my {noun}.", "references": [f"No, the {other}."]},
            ]
            file.write(json.dumps({"agent": "bot", "messages": turns}) + "\n")
    given = ["score", str(tmp_path / "logs.jsonl"), "-m", ",".join(asked)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TURNWISE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + SCORED, *given, "--jobs", "1", "--format", "json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = {record["metric"]: record for record in json.loads(done.stdout)["results"]}
    assert set(found) == set(asked)
    assert {name for name, record in found.items() if record["estimate"] is None} == set()


def test_hashing_and_static_vectors_import_no_torch() -> None:
    code = "import sys; from turnwise.encode import load; load('hashing').encode(['a']); import turnwise.encode.static"
    check = "; assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
