"""Datasets of Hugging Face: folders that `save_to_disk` writes (Arrow streams), folders of Parquet files, and datasets
of the hub by their id, `hf://datasets/USER/NAME@REVISION/PATH`.

Rows are read as those of a Parquet file are. Where there are splits, a dialogue has its split in
`meta.split` and before its id, since splits number their rows each from the beginning. A dataset of the hub is
downloaded by `huggingface_hub` into its own cache, where it is found again without a network; its files may be JSON or
CSV too, and then each is read in the format that it has.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from turnwise.errors import DataError, MissingExtra, Problem, UsageError
from turnwise.logs.checks import RuleError, each, name, record, required
from turnwise.logs.readers import parquet
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, raise_data_error, read_json
from turnwise.types import Dialogue, item_id

HUB = "hf://"
ADDRESS = re.compile(
    r"hf://(?:datasets/)?(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^/]+))?(?:/(?P<path>.+))?"
)
STORED = (
    "*.parquet",
    "*.arrow",
    "*.json",
    "*.jsonl",
    "*.csv",
    "*.tsv",
    "*.json.gz",
    "*.jsonl.gz",
    "*.csv.gz",
)
NO_DATA = ("dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json")
SPLIT = re.compile(r"(?:.*[-_.])?(train|validation|valid|dev|test)(?:[-_.].*)?")  # in the name of a file


def recognises(sample: Sample) -> bool:
    """Whether a folder has `state.json` or `dataset_dict.json`, or any Parquet file; or a path is an id of the hub."""
    if sample.path.startswith(HUB):
        return True
    marks = {"state.json", "dataset_dict.json"}
    return sample.form == "folder" and (
        bool(marks & set(sample.names)) or any(name.endswith(".parquet") for name in sample.names)
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of all splits, one split after another."""
    given = options or Options()
    folder = _downloaded(path) if path.startswith(HUB) else Path(path)
    if folder.is_file() or (path.startswith(HUB) and not _is_table(folder)):
        yield from _files(folder, path, given)
        return
    for split, files in _splits(folder).items():
        place = f"{path}/{split}" if split else path
        for dialogue in parquet.dialogues(files, place, given):
            yield _of_split(dialogue, split) if split else dialogue


def _downloaded(address: str) -> Path:
    """The folder or file of a dataset of the hub, after it is in the cache; `UsageError` for what is no id."""
    parts = ADDRESS.fullmatch(address)
    if parts is None:
        raise UsageError(f"{address}: expected hf://datasets/USER/NAME, or with @REVISION and /PATH after it")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("reading a dataset of the Hugging Face hub", "neural") from None
    inside = parts["path"]
    patterns = [inside, *(f"{inside}/{end}" for end in STORED)] if inside else list(STORED)
    try:
        folder = Path(
            snapshot_download(
                parts["name"], repo_type="dataset", revision=parts["revision"], allow_patterns=patterns
            )
        )
    # The hub's library raises errors of several HTTP libraries.
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise DataError(
            Problem(address, None, "", f"cannot be downloaded: {type(error).__name__}: {reason}")
        ) from error
    found = folder / inside if inside else folder
    if not found.exists():
        raise DataError(Problem(address, None, "", f"has no `{inside}`"))
    return found


def _is_table(folder: Path) -> bool:
    """Whether a folder is one of `save_to_disk`, or has Parquet files."""
    marks = (folder / "state.json", folder / "dataset_dict.json")
    return any(mark.is_file() for mark in marks) or any(folder.rglob("*.parquet"))


def _files(place: Path, address: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of a file, or of all JSON and CSV files of a folder, each in the format that it has.

    Of several files each is a split, which has the name that its own has.
    """
    from turnwise.logs.readers import READERS, recognise

    stored = [place] if place.is_file() else sorted({file for end in STORED for file in place.rglob(end)})
    files = [file for file in stored if file.name not in NO_DATA]
    if not files:
        raise DataError(Problem(address, None, "", "has no file of dialogues (Parquet, JSON or CSV) in it"))
    for file in files:
        form = recognise(str(file))
        if form is None and options.columns:
            form = "csv" if file.name.removesuffix(".gz").endswith((".csv", ".tsv")) else "json"
        if form is None:
            unknown = "has a format that is not recognised; say with --map what its columns are"
            raise DataError(Problem(f"{address}/{file.name}", None, "", unknown))
        named = SPLIT.fullmatch(file.name.partition(".")[0])
        split = (
            "" if len(files) == 1 else named[1] if named and len(files) < 4 else file.name.partition(".")[0]
        )
        for dialogue in READERS[form].read(str(file), options):
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
