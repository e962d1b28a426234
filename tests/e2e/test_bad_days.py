"""Failures of a user's system: a full disk, an unwritable folder, Ctrl-C, no weights, a terminal without UTF-8."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest

CORPUS = str(resources.files("turnwise") / "data" / "demo.jsonl")


def turnwise(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turnwise", *words],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own with these options; not every machine lets a test have one."""
    places = []

    def mount(options: str) -> Path:
        place = tmp_path / f"disk{len(places)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True
        )
        if done.returncode:
            pytest.skip("this user may not mount a file system to fill up")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", str(place)], check=True)


def clean(done: subprocess.CompletedProcess[str]) -> str:
    """What it complained of: never a traceback, nor what Python says at exit."""
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.stderr


def test_a_full_disk_is_a_one_line_error_without_partial_files(mounted: Callable, tmp_path: Path):
    disk = mounted("size=32k")
    score = ("score", CORPUS, "-m", "length,rouge-l", "-o", str(disk / "out"), "-q")
    done = turnwise(*score, cwd=tmp_path)
    assert done.returncode == 2
    assert "No space left" in clean(done)
    assert "the same -o resumes" in done.stderr
    assert not (disk / "out" / "results.json").exists()
    assert not list((disk / "out").glob("*.part"))
    subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
    assert turnwise(*score, cwd=tmp_path).returncode == 0


def test_a_report_on_a_full_disk_leaves_no_file(mounted: Callable, tmp_path: Path):
    assert turnwise("score", CORPUS, "-m", "length,rouge-l", "-o", "out", "-q", cwd=tmp_path).returncode == 0
    disk = mounted("size=16k")
    done = turnwise("report", "out", "-o", str(disk / "report.html"), cwd=tmp_path)
    assert done.returncode == 2
    assert "No space left" in clean(done)
    assert not list(disk.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words", [("ls", "metrics"), ("score", CORPUS, "-m", "length"), ("report", "--schema")]
)
def test_unwritable_standard_output_is_an_error(words: tuple[str, ...], tmp_path: Path):
    command = [sys.executable, "-m", "turnwise", *words]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "No space left" in clean(done)


def test_a_folder_that_cannot_be_written_is_named(mounted: Callable, tmp_path: Path):
    disk = mounted("ro")
    for words in (
        ("demo", "-o", str(disk / "out")),
        ("score", CORPUS, "-m", "length", "-o", str(disk / "out")),
    ):
        done = turnwise(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert f"{disk / 'out'}: Read-only file system" in clean(done)


def test_an_output_below_a_file_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = turnwise("demo", "-o", "file/out", cwd=tmp_path)
    assert done.returncode == 2
    assert "file/out: Not a directory" in clean(done)


def test_a_metric_without_its_weights_is_skipped_with_the_command_that_fetches_them(tmp_path: Path):
    done = turnwise(
        "score", CORPUS, "-m", "length,usr-ret", "--limit", "4", cwd=tmp_path, **no_weights(tmp_path)
    )
    assert done.returncode == 0
    assert "turnwise fetch minilm" in clean(done)
    alone = turnwise("score", CORPUS, "-m", "usr-ret", "--limit", "4", cwd=tmp_path, **no_weights(tmp_path))
    assert alone.returncode == 3
    assert "turnwise fetch minilm" in clean(alone)


def no_weights(folder: Path) -> dict[str, str]:
    """A home without weights, and no way to any."""
    return {
        "TURNWISE_CACHE": str(folder / "cache"),
        "TURNWISE_WEIGHTS": str(folder / "weights"),
        "HF_HUB_OFFLINE": "1",
    }


def test_a_terminal_without_utf_8_gets_every_result(tmp_path: Path):
    attack = (
        "attack",
        "question-rate",
        "--contexts",
        CORPUS,
        "--count",
        "60",
        "--budget",
        "900",
        "--no-perturb",
        "-q",
    )
    poor = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = turnwise(*attack, cwd=tmp_path, **poor)
    assert done.returncode == 0
    clean(done)
    assert done.stdout.isascii()
    assert "\\u201cWhat do you think?\\u201d" in done.stdout
    rich = turnwise(*attack, cwd=tmp_path, PYTHONIOENCODING="utf-8")
    assert rich.stdout.count("\n") == done.stdout.count("\n")


def listen() -> None:
    """A process that was started behind a shell's `&` is deaf to Ctrl-C, and so would be its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_the_demo_resumes_after_an_interrupt_and_needs_no_weights(tmp_path: Path):
    command = [sys.executable, "-m", "turnwise", "demo", "-o", "out"]
    here = {**os.environ, **no_weights(tmp_path), "COLUMNS": "60"}
    with open(tmp_path / "said.txt", "w") as said:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=here, stdout=said, stderr=subprocess.PIPE, text=True, preexec_fn=listen
        )
        while "[10/10]" not in (tmp_path / "said.txt").read_text() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate()
    assert process.returncode == 130, complaint
    assert (
        complaint.strip().splitlines()[-1]
        == "turnwise: interrupted; the same command with the same -o resumes where it stopped"
    )
    made = (tmp_path / "out" / "booking.jsonl").stat().st_mtime_ns

    done = turnwise(*command[3:], cwd=tmp_path, **no_weights(tmp_path), COLUMNS="60")
    assert done.returncode == 0, done.stderr
    clean(done)
    assert (tmp_path / "out" / "booking.jsonl").stat().st_mtime_ns == made
    lines = done.stdout.splitlines()
    assert max(map(len, (line for line in lines if " " in line.strip()))) <= 60 + len("    out/")
    words = " ".join(done.stdout.split())
    assert "left out, because they need a model that is not here: maude,turnwise" in words
    assert "turnwise fetch minilm" in words
    assert sum(line.startswith("-> ") for line in lines) == 9  # every step but the one that makes a world
    assert lines[-1] == f"The report: {Path('out') / 'report.html'}"
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("<figure ") > 12
    assert "biencoder_p" in report
