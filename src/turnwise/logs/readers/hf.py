"""Folders of Hugging Face `datasets`: what `save_to_disk` writes (Arrow streams), or Parquet files.

Rows are read as those of a Parquet file are. Where there are splits, a dialogue has its split in
`meta.split` and before its id, since splits number their rows each from the beginning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, each, name, record, required
from turnwise.logs.readers import parquet
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, raise_data_error, read_json
from turnwise.types import Dialogue, item_id


def recognises(sample: Sample) -> bool:
    """Whether a folder has `state.json` or `dataset_dict.json`, or any Parquet file."""
    marks = {"state.json", "dataset_dict.json"}
    return sample.form == "folder" and (
        bool(marks & set(sample.names)) or any(name.endswith(".parquet") for name in sample.names)
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of all splits, one split after another."""
    for split, files in _splits(Path(path)).items():
        place = f"{path}/{split}" if split else path
        for dialogue in parquet.dialogues(files, place, options or Options()):
            yield _of_split(dialogue, split) if split else dialogue


def _splits(folder: Path) -> Mapping[str, list[str]]:
    """Split -> the paths of its files; a dataset without splits has the one key "".

    A folder without a dataset raises `DataError`.
    """
    if not folder.is_dir():
        raise DataError(Problem(str(folder), None, "", "is not a folder; expected one of `save_to_disk`"))
    if (folder / "dataset_dict.json").is_file():
        names = _listed(folder / "dataset_dict.json", "splits", name)
        return {split: _stored(folder / split) for split in names}
    if (folder / "state.json").is_file():
        return {"": _stored(folder)}
    splits: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        split, dash, _ = file.stem.partition("-")  # the hub names files SPLIT-00000-of-00001.parquet
        splits.setdefault(split if dash else "", []).append(str(file))
    if not splits:
        expected = "expected state.json, dataset_dict.json or Parquet files"
        raise DataError(Problem(str(folder), None, "", f"has no dataset in it; {expected}"))
    return splits


def _stored(folder: Path) -> list[str]:
    """The Arrow files that the `state.json` of a folder lists."""
    return [str(folder / file) for file in _listed(folder / "state.json", "_data_files", _filename)]


def _filename(value: Any) -> str:
    """The `filename` of one entry of `state.json`."""
    return required(record(value), "filename", name)


def _listed(file: Path, key: str, check: Any) -> tuple[str, ...]:
    """The checked list under `key` of a JSON file; a missing or wrong list raises `DataError`."""
    try:
        return required(record(read_json(str(file))), key, each(check))
    except RuleError as error:
        raise_data_error(error, str(file))


def _of_split(dialogue: Dialogue, split: str) -> Dialogue:
    """The dialogue with its split before its id and in `meta.split`.

    Its ratings point to the new id, and its preferences to the new id of the other dialogue of the same split.
    """
    identity = f"{split}-{dialogue.id}"
    ratings = tuple(replace(rating, item=item_id(identity, rating.turn)) for rating in dialogue.ratings)
    preferences = tuple(replace(one, other=f"{split}-{one.other}") for one in dialogue.preferences)
    meta = {"split": split, **dialogue.meta}
    return replace(dialogue, id=identity, ratings=ratings, preferences=preferences, meta=meta)
