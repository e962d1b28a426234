"""Once fetched, everything runs without network: in a process whose sockets are refused."""

import os
import subprocess
import sys

import pytest

from turnwise.encode import weights

BLOCKED = """
import socket, sys

class Refused(socket.socket):
    def connect(self, *_): raise RuntimeError("the network was touched")
    connect_ex = connect

def refuse(*_, **__): raise RuntimeError("the network was touched")

socket.socket, socket.create_connection, socket.getaddrinfo = Refused, refuse, refuse
from turnwise.encode import Utterance, load, load_lm, load_pairs
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
likely, odd = model.score([Utterance("The capital of France is Paris."), Utterance("The capital of France is soup.")])
assert likely[0] > odd[0]
""",
}


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


def test_hashing_and_static_vectors_import_no_torch() -> None:
    code = "import sys; from turnwise.encode import load; load('hashing').encode(['a']); import turnwise.encode.static"
    check = "; assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
