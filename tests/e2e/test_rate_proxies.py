"""The proxies of docs/rate-serve.md with the real nginx and Caddy: raters get through, and no log names a link."""

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.rating_server import Server
from tests.studies import short_dialogue
from turnwise.logs import native
from turnwise.types import Dialogue, Turn

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "rate-serve.md"
HOST = "rate.example.org"
SNI = {"sni_hostname": HOST}
BOT = """
import pathlib
import time


def writes(messages):
    yield "one"
    while not pathlib.Path("heard").exists():
        time.sleep(0.05)
    yield " two"
"""


def example(heading: str) -> str:
    """The configuration under this heading of the page."""
    found = re.search(rf"^## {heading}\n\n```text\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for the host of the page, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl is installed")
    pem, key = tmp_path / "rate.pem", tmp_path / "rate.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"),
            *("-keyout", str(key), "-out", str(pem)),
        ],
        check=True,
        capture_output=True,
    )
    return pem, key


class Proxy:
    """A running proxy: its port, and all that it has written."""

    def __init__(self, command: list[str], folder: Path, port: int) -> None:
        self.port, self.folder = port, folder
        self.output = folder / "output.txt"
        with self.output.open("w") as out:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=out, stderr=out, env=os.environ | {"HOME": str(folder)}
            )
        while self.process.poll() is None:  # until it listens
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    return
        raise RuntimeError(self.output.read_text())

    def written(self) -> str:
        """All logs of the proxy."""
        return "\n".join(
            path.read_text(errors="replace") for path in self.folder.rglob("*") if path.is_file()
        )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(180)


def nginx(folder: Path, certificate: tuple[Path, Path], upstream: int, port: int) -> Proxy:
    block = example("nginx").replace("443", str(port)).replace("8765", str(upstream))
    block = block.replace("/etc/ssl/rate.pem", str(certificate[0])).replace(
        "/etc/ssl/rate.key", str(certificate[1])
    )
    block = block.replace("/var/log/nginx/rate.log", str(folder / "rate.log"))
    temporary = "".join(
        f"{kind}_temp_path {folder};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # As in the file that systems ship, the log of all requests is on; the example has to switch it off.
    rest = f"access_log {folder}/access.log;\nerror_log {folder}/error.log;\n{temporary}"
    (folder / "nginx.conf").write_text(
        f"daemon off;\npid {folder}/pid;\nevents {{}}\nhttp {{\n{rest}{block}}}\n"
    )
    return Proxy(["nginx", "-e", "stderr", "-p", str(folder), "-c", "nginx.conf"], folder, port)


def caddy(folder: Path, certificate: tuple[Path, Path], upstream: int, port: int) -> Proxy:
    text = example("Caddy").replace("8765", str(upstream))
    ours = f"admin off\nhttps_port {port}\nhttp_port {free_port()}\nauto_https disable_redirects\n"
    text = text.replace("{\n", "{\n" + ours, 1)
    text = text.replace(f"{HOST} {{\n", f"{HOST} {{\ntls {certificate[0]} {certificate[1]}\n")
    (folder / "Caddyfile").write_text(text)
    return Proxy(["caddy", "run", "--config", "Caddyfile"], folder, port)


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
def start(
    request: pytest.FixtureRequest, tmp_path: Path, certificate: tuple[Path, Path]
) -> Iterator[Callable[[int, int], Proxy]]:
    """Starts the proxy before a port."""
    if shutil.which(request.param.__name__) is None:
        pytest.skip(f"no {request.param.__name__} is installed")
    started: list[Proxy] = []

    def begin(upstream: int, port: int) -> Proxy:
        folder = tmp_path / "proxy"
        folder.mkdir()
        folder.chmod(0o777)
        started.append(request.param(folder, certificate, upstream, port))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


class Rater:
    """A client that finds the host of the page on this machine, behind a proxy at this port."""

    def __init__(self, port: int, certificate: Path, link: str) -> None:
        self.path = link.removeprefix(f"https://{HOST}")
        trusted = ssl.create_default_context(cafile=str(certificate))
        self.client = httpx2.Client(
            base_url=f"https://127.0.0.1:{port}", verify=trusted, headers={"host": HOST}, timeout=180
        )

    def get(self, after: str = "") -> httpx2.Response:
        return self.client.get(self.path + after, extensions=SNI)

    def post(self, after: str = "", **fields: str) -> httpx2.Response:
        sent = {"proof": proof(self.get().text), **fields}
        return self.client.post(self.path + after, data=sent, extensions=SNI)


def proof(page: str) -> str:
    found = re.search(r'name="proof" value="([0-9a-f]+)"', page)
    assert found is not None
    return found[1]


def test_raters_get_through_and_no_log_names_a_link(start, certificate: tuple[Path, Path], tmp_path: Path):
    native.write([short_dialogue(number, "a") for number in range(3)], str(tmp_path / "data.jsonl"))
    port = free_port()
    server = Server("data.jsonl", "--raters", "anna", "--url", f"https://{HOST}", folder=tmp_path)
    proxy = start(listening_port(server.process.pid), port)
    rater = Rater(port, certificate[0], server.links(1)["anna"])
    assert rater.get().status_code == 200
    assert rater.post().status_code == 303
    assert "question" in rater.get().text
    assert rater.get("x").status_code == 404
    server.stop()
    assert rater.get().status_code == 502  # an error that proxies write down
    rater.client.close()
    proxy.stop()
    assert rater.path.rpartition("/")[2] not in proxy.written()


def test_replies_of_agents_are_shown_while_they_are_written(
    start, certificate: tuple[Path, Path], tmp_path: Path
):
    native.write(
        [Dialogue("goal", "none", (Turn("system", "sell"),), goal={"x": 1})], str(tmp_path / "data.jsonl")
    )
    (tmp_path / "bots.py").write_text(BOT)
    port = free_port()
    options = ("--mode", "chat", "--agent", "bots:writes", "--raters", "anna", "--url", f"https://{HOST}")
    server = Server("data.jsonl", *options, folder=tmp_path)
    start(listening_port(server.process.pid), port)
    rater = Rater(port, certificate[0], server.links(1)["anna"])
    assert rater.post().status_code == 303
    assert rater.post("/1/say", text="hello", heard="0", live="1").status_code == 202
    seen = ""
    with rater.client.stream("GET", f"{rater.path}/1/live", extensions=SNI) as stream:
        for text in stream.iter_text():
            seen += text
            if "one" in seen:  # a proxy that waits for the whole reply would never pass this on
                (tmp_path / "heard").touch()
    assert "done" in seen
    assert "one two" in rater.get().text
    rater.client.close()
    server.stop()


def listening_port(process: int) -> int:
    """The port on which a process listens, from /proc."""
    inodes = {
        found[1]
        for one in Path(f"/proc/{process}/fd").iterdir()
        if (found := re.fullmatch(r"socket:\[(\d+)\]", str(one.readlink())))
    }
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] in inodes and fields[3] == "0A":  # listening
            return int(fields[1].rpartition(":")[2], 16)
    raise RuntimeError("the process does not listen")
