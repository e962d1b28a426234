"""Zip files that something is wrong with."""

import zipfile
from pathlib import Path

import pytest

from turnwise.errors import DataError
from turnwise.logs.archive import unpacked
from turnwise.logs.files import Packed


def test_a_zip_file_whose_member_has_no_name_is_damaged(tmp_path: Path) -> None:
    """Found by the fuzzer: the library raises IndexError."""
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("x", "{}")
    data = path.read_bytes()
    at = data.rindex(
        b"PK\x01\x02"
    )  # the entry of the directory: its name is 46 bytes on, the length 28 bytes on
    data = data[: at + 28] + b"\0\0" + data[at + 30 : at + 46] + data[at + 47 :]
    size = len(data) - at - 22  # of the directory, in the last record
    path.write_bytes(data[:-10] + size.to_bytes(4, "little") + data[-6:])
    with zipfile.ZipFile(path) as packed:
        assert packed.namelist() == [""]
    with pytest.raises(DataError, match="damaged"), unpacked(str(path)):
        pass
    with Packed(str(path)) as opened, pytest.raises(DataError):
        opened.read("")
