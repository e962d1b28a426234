"""The order of the data: lines, files, workers and shards change no number of any command."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from benchmarks.faults.crashes import Cell
from tests.e2e.test_order import COMMANDS, differences, matters, result, small_shards, words, write_data

WAYS = {
    "lines": "lines in another order",
    "files": "two files",
    "jobs": "two workers",
    "shards": "small shards",
}


def order_cells(folder: Path) -> Iterator[Cell]:
    """Every command with the data given in every way."""
    folder.mkdir()
    write_data(folder)
    for kind, command in COMMANDS.items():
        expected = result(folder, words(command, kind, "whole"))
        for way, fault in WAYS.items():
            if not matters(kind, way):
                continue
            with small_shards() if way == "shards" else nullcontext():
                found = result(folder, words(command, kind, way))
            yield Cell(kind, fault, not list(differences(expected, found)), "same numbers", 1)
