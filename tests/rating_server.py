"""A server of `turnwise rate` for tests."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx2

PATIENCE = 180  # seconds: a busy machine is no failure; httpx gives up after 5


class Server:
    """`turnwise rate` in a process of its own."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        command = [sys.executable, "-m", "turnwise", "rate", *arguments, "--port", "0"]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first, self.process.stderr and self.process.stderr.read()
        self.admin = first.split()[1]
        base = self.admin.split("/admin/")[0]
        self.client = httpx2.Client(base_url=base, follow_redirects=True, timeout=PATIENCE)

    def links(self, count: int) -> dict[str, str]:
        assert self.process.stdout is not None
        return dict(self.process.stdout.readline().split() for _ in range(count))

    def stop(self) -> int:
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code
