"""Files of results are written whole or not at all."""

import pytest

from turnwise.report.results import replacing


def _half(path, error):
    with replacing(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_file_that_could_not_be_finished_leaves_nothing_and_the_old_one_stays(tmp_path, error):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with pytest.raises(error):
        _half(path, error)
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("results.json", b"old")]


def test_a_place_that_cannot_be_taken_is_left_clean(tmp_path):
    (tmp_path / "results.json").mkdir()
    with pytest.raises(OSError, match=r"results\.json"), replacing(tmp_path / "results.json") as file:
        file.write(b"whole")
    assert [found.name for found in tmp_path.iterdir()] == ["results.json"]
