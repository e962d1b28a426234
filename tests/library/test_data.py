"""Every form of data gives the scores that its file gives."""

import io
import json
from pathlib import Path

import pytest

import turnwise as tw
from tests.corpus import corpus
from turnwise.library.data import files
from turnwise.logs.files import lines
from turnwise.logs.native import read
from turnwise.records import plain
from turnwise.report.results import to_json


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return corpus(tmp_path / "logs.jsonl", 6)


@pytest.fixture
def records(logs: Path) -> list[dict]:
    return [json.loads(line) for line in logs.read_text().splitlines()]


def scores(data) -> str:
    return json.dumps(tw.score(data, metrics="length,bleu-2", draws=100, figures=False).records())


class Dataset:
    """A dataset of Hugging Face as far as it is read: columns, and rows that are dicts."""

    def __init__(self, rows: list[dict]) -> None:
        self.column_names = list(dict.fromkeys(key for row in rows for key in row))
        self._rows = [{name: row.get(name) for name in self.column_names} for row in rows]

    def __iter__(self):
        return iter(self._rows)


def test_paths_records_and_dialogue_objects_are_the_same_data(logs, records):
    expected = scores(logs)
    for data in (str(logs), [logs], (str(logs),), records, iter(records), list(read(str(logs)))):
        assert scores(data) == expected


def test_data_frames_are_the_same_data(logs, records):
    import pandas
    import polars

    expected = scores(logs)
    assert scores(pandas.DataFrame(records)) == expected
    frame = polars.DataFrame(records, infer_schema_length=None, strict=False)
    assert scores(frame) == expected
    assert scores(frame.lazy()) == expected


def test_tables_of_arrow_are_the_same_data(logs, records):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    texts = [{key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in one.items()}
             for one in records]  # fmt: skip
    assert scores(pyarrow.Table.from_pylist(texts)) == scores(logs)


def test_missing_cells_of_a_data_frame_are_absent_keys(records):
    import pandas

    bare = {"messages": records[0]["messages"]}
    frame = pandas.DataFrame([{**records[0], "year": 2020}, bare])
    with files(frame) as given:
        first, second = (json.loads(line) for _, line in lines(given.paths[0]))
    assert first["year"] == 2020
    assert second == bare


def test_datasets_are_the_same_data(logs, records):
    assert scores(Dataset(records)) == scores(logs)


def test_a_dataset_of_the_library_itself_is_the_same_data(logs, records):
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    texts = [{key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in one.items()}
             for one in records]  # fmt: skip
    assert scores(datasets.Dataset.from_list(texts)) == scores(logs)


@pytest.mark.parametrize("kind", ["pandas", "polars", "datasets"])
def test_a_table_without_messages_is_an_error_that_names_the_column(kind: str):
    rows = [{"id": "1", "text": "hello"}]
    data = Dataset(rows) if kind == "datasets" else __import__(kind).DataFrame(rows)
    with pytest.raises(tw.UsageError, match=r"no column `messages`.*its columns are `id`, `text`"):
        tw.score(data, metrics="length")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "not a list with a int"),
        ([], "data is empty"),
        (7, "not a int"),
        ({"messages": []}, "not a dict"),
        (["logs.jsonl", {"messages": []}], "not a list with"),
    ],
)
def test_other_data_is_an_error_that_names_what_is_accepted(data, message):
    with pytest.raises(tw.UsageError, match=message):
        tw.score(data, metrics="length")


def test_errors_and_results_call_records_dialogues_jsonl(records):
    found = tw.score(records, metrics="length", draws=100)
    assert [one.path for one in found.document.origin.inputs] == ["dialogues.jsonl"]
    with pytest.raises(tw.DataError, match=r"^dialogues.jsonl:2: "):
        tw.score([records[0], {"messages": []}], metrics="length", draws=100)


@pytest.mark.parametrize("command", [tw.score, tw.compare])
def test_reference_dialogues_may_be_in_memory(logs, records, command):
    given = [command(logs, metrics="specificity", real=real) for real in (logs, [str(logs)], records)]
    assert [[plain(one) for one in found.findings] for found in given[1:]] == [
        [plain(one) for one in given[0].findings]
    ] * 2
    names = [found.document.origin.settings.real for found in given]
    assert names == [str(logs), str(logs), "dialogues.jsonl"]
    assert all(json.loads(to_json(found.document)) for found in given)


def test_dialogues_in_memory_are_converted_also_beside_a_file_of_their_name(
    logs, records, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("dialogues.jsonl").write_text("no dialogue")
    for target in ("out.jsonl", "dialogues.jsonl"):
        assert tw.convert(records, target).n_dialogues == len(records)
        assert list(read(target)) == list(read(str(logs)))
    done = tw.convert([{"prompt": "a", "completion": "b"}], "rows.jsonl", agent="x")
    assert (done.reader, [one.agent for one in read("rows.jsonl")]) == ("json", ["x"])
    done = tw.convert([{"q": "a", "a": "b"}], "map.jsonl", columns={"context": "q", "response": "a"})
    assert [turn.text for one in read("map.jsonl") for turn in one.turns] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "reader", "said"),
    [
        ("a,b\n1,2\n", "openai", "-: cannot be read as openai (is not JSON"),
        ("a,b\n1,2\n", "csv", "-: has the columns a, b; expected `response`"),
        ('{"messages": 3}\n', "messages", "-:1: is "),
    ],
)
def test_errors_of_standard_input_name_it_and_no_copy_of_it(tmp_path, monkeypatch, content, reader, said):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    with pytest.raises(tw.TurnwiseError) as raised:
        tw.score("-", metrics="length", reader=reader)
    assert str(raised.value).startswith(said)
    assert str(tmp_path) not in str(raised.value)
