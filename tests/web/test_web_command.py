"""`turnwise rate` on the command line: one server a store, exports without identities, open addresses."""

import json
import signal
from pathlib import Path

from tests.corpus import corpus
from tests.rating_server import PATIENCE, Server
from tests.visitor import Visitor
from turnwise.cli.common.group import run


def test_a_second_command_on_a_store_is_refused_and_an_export_is_possible(tmp_path: Path, capsys):
    corpus(tmp_path / "logs.jsonl", n=2)
    server = Server("logs.jsonl", "--raters", "ruth", folder=tmp_path)
    try:
        (link,) = server.links(1).values()
        visitor = Visitor(server.client, link)
        visitor.send()
        visitor.send({"q0": "3"})
        data, store = str(tmp_path / "logs.jsonl"), ["--store", str(tmp_path / "logs.ratings.db")]
        assert run(["rate", data, *store, "--port", "0"]) == 2
        assert f"process {server.process.pid} writes to this store already" in capsys.readouterr().err
        named, anonymous = tmp_path / "named.jsonl", tmp_path / "anonymous.jsonl"
        assert run(["rate", data, *store, "--export", str(named)]) == 0
        assert run(["rate", data, *store, "--export", str(anonymous), "--anonymous"]) == 0
    finally:
        assert server.stop() == 0
    texts = [path.read_text() for path in (named, anonymous)]
    assert ["ruth" in text for text in texts] == [True, False]
    for text in texts:
        assert [r["value"] for line in text.splitlines() for r in json.loads(line).get("ratings", ())] == [3]
    assert '"at"' not in texts[1]
    assert run(["rate", data, *store, "--anonymous"]) == 2
    assert "--anonymous is an option of --export" in capsys.readouterr().err


def test_an_open_address_says_that_it_can_be_read(tmp_path: Path):
    corpus(tmp_path / "logs.jsonl", n=2)
    server = Server("logs.jsonl", "--raters", "1", "--host", "0.0.0.0", folder=tmp_path)
    assert "0.0.0.0" not in server.admin
    server.client.close()
    server.process.terminate()
    _, errors = server.process.communicate(timeout=PATIENCE)
    assert "everyone on the way can read the links" in errors


def test_an_interrupt_while_the_server_starts_prints_no_traceback(tmp_path: Path):
    corpus(tmp_path / "logs.jsonl", n=2)
    server = Server("logs.jsonl", "--raters", "1", folder=tmp_path)
    server.client.close()
    server.process.send_signal(signal.SIGINT)  # the links are printed before the server listens
    _, errors = server.process.communicate(timeout=PATIENCE)
    assert server.process.returncode == 0
    assert "Traceback" not in errors
