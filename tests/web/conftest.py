"""Studies on both databases. PostgreSQL is a real server from the system's package, where that is installed."""

import getpass
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.studies import Running, Starting, short_dialogue
from turnwise.types import Dialogue
from turnwise.web.study.definition import read_study


@pytest.fixture
def dialogues() -> list[Dialogue]:
    return [
        short_dialogue(number, agent, f"{agent} says {number}") for number in range(6) for agent in ("a", "b")
    ]


@pytest.fixture
def start(store: str, dialogues: list[Dialogue]) -> Iterator[Starting]:
    """Starts a study; keywords are the study's, and `on` its data."""
    running: list[Running] = []

    def begin(on: list[Dialogue] | None = None, file: str | None = None, **changes: object) -> Running:
        options = {key: changes.pop(key) for key in ("agents", "selection") if key in changes}
        running.append(Running(store, read_study(file, **changes), on or dialogues, **options))
        return running[-1]

    yield begin
    for one in running:
        one.recorder.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where answers are kept, new for every test, in each of the two kinds."""
    if request.param == "sqlite":
        return str(tmp_path / "ratings.db")
    address: str = request.getfixturevalue("postgres")()
    return address


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes a new database each time it is called, and drops the one before."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is absent: pip install 'turnwise[postgres]'")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    here = str(found[-1]) if found else shutil.which("initdb")
    if here is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    user, become = getpass.getuser(), []
    memory = (
        "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    )  # a database is made in a fifth of the time there
    folder = Path(tempfile.mkdtemp(prefix="turnwise-postgres-", dir=memory))
    if os.getuid() == 0:  # the server refuses to run as root; Debian's package has a user for it
        user, become = "postgres", ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, user)

    def call(program: str, *arguments: str) -> None:
        command = [*become, str(Path(here).parent / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    data = str(folder / "data")
    call("initdb", "-D", data, "-A", "trust", "-U", user, "-E", "UTF8", "--no-sync")
    flags = f"-k {folder} -c listen_addresses='' -c fsync=off"
    call("pg_ctl", "-D", data, "-o", flags, "-l", f"{folder}/log", "-w", "start")
    names = (f"study{count}" for count in itertools.count())

    made: list[str] = []

    def database() -> str:
        with psycopg.connect(f"postgresql://{user}@/postgres?host={folder}", autocommit=True) as connection:
            while made:  # of a test that has ended: each is 10 MB
                connection.execute(f"DROP DATABASE {made.pop()} WITH (FORCE)")
            made.append(next(names))
            connection.execute(f"CREATE DATABASE {made[-1]}")
        return f"postgresql://{user}@/{made[-1]}?host={folder}"

    try:
        yield database
    finally:
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)
