"""The shipped readers: equal numbers in every batch, what they say of frauds, and models made with another reader."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import turnwise as tw
from turnwise.encode.models.catalogue import NotFetched, locate
from turnwise.encode.models.folder import load, shipped
from turnwise.encode.truncation import collect_truncations
from turnwise.errors import MissingExtra, UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.trained import encoder_of
from turnwise.metrics.learned.turnwise.metric import is_copy
from turnwise.metrics.learned.turnwise.reader import ReplyReader, Text, _network, readers_of
from turnwise.metrics.learned.turnwise.signals import Signals, signals_folder
from turnwise.networks.replies.pairs import WORDS
from turnwise.types import Item, Turn

CONTEXT = ("my dog died yesterday and i feel awful", "hi how are you today")  # newest turn first
FITS = "i am so sorry to hear that how old was he"
SHUFFLED = "old so hear he to am sorry i how was that"
OTHER = "the train to boston leaves at nine from platform two"
COPY = CONTEXT[0]
TEXTS: list[Text] = [
    (FITS, CONTEXT), (SHUFFLED, CONTEXT), (OTHER, CONTEXT), (COPY, CONTEXT), ("yes", ("do you like tea",)),
    ("i like it a lot", ("do you like tea", "i just had breakfast", "good morning")),
]  # fmt: skip


@pytest.fixture(params=[("reader-small", "fp32"), ("reader-small", "int8"), ("reader-large", "fp32")])
def reader(request: pytest.FixtureRequest) -> ReplyReader:
    name, precision = request.param
    made = ReplyReader(load(shipped(name) or "", name), precision)
    try:
        locate(made.folder.config["base"])
    except NotFetched as absent:
        pytest.skip(str(absent))
    return made


@pytest.mark.slow
def test_a_reply_is_read_in_the_same_way_in_every_batch(reader: ReplyReader) -> None:
    network = _network(reader.folder, reader.precision)
    together = network.read(TEXTS)
    backwards = network.read(TEXTS[::-1])[::-1]
    alone = np.concatenate([network.read([text]) for text in TEXTS])
    assert together.shape == (len(TEXTS), len(reader.columns))
    # The large reader pads a batch, which changes the last digits.
    most = 1e-4 if reader.folder.kind == "reader-large" else 0
    assert np.abs(together - backwards).max() <= most
    assert np.abs(together - alone).max() <= most


def test_the_small_reader_in_whole_numbers_is_near_float32_and_has_its_own_signature() -> None:
    folder = load(shipped("reader-small") or "", "reader-small")
    whole, exact = (ReplyReader(folder, precision) for precision in ("int8", "fp32"))
    try:
        assert str(whole.signature) != str(exact.signature)
    except NotFetched as absent:
        pytest.skip(str(absent))
    spread = np.array(folder.config["spread"])
    gap = np.abs(whole.table(TEXTS) - exact.table(TEXTS)) / spread
    assert 0 < gap.mean() < 0.1  # .04 on rated replies (papers/learned.md)


def test_a_reader_that_cannot_be_computed_here_leaves_the_other_metrics_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def absent(extra: str, what: str) -> None:
        if extra == "neural":
            raise MissingExtra(what, extra)

    monkeypatch.setattr("turnwise.metrics.learned.turnwise.reader.require", absent)
    log = tmp_path / "log.jsonl"
    said = [{"role": "user", "content": "my dog died"}, {"role": "assistant", "content": "i am so sorry"}]
    log.write_text(json.dumps({"messages": said}) + "\n")
    found = {one.metric: one for one in tw.score(log, metrics="length,turnwise-large").findings}
    assert found["length"].estimate == 4
    assert found["turnwise-large"].status == "skipped"
    assert "pip install 'turnwise[neural]'" in str(found["turnwise-large"].reason)


def test_whole_numbers_without_onnx_runtime_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.metrics.learned.turnwise.reader.runs_graphs", lambda: False)
    with pytest.raises(MissingExtra, match=r"in whole numbers needs the extra `models`"):
        _ = resolve("turnwise[precision=int8]").signature


def test_torch_and_onnx_runtime_give_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwise.networks.replies.small_reader import SmallReader

    folder = load(shipped("reader-small") or "", "reader-small")
    try:
        base = locate(folder.config["base"])
    except NotFetched as absent:
        pytest.skip(str(absent))
    by_graph = SmallReader(folder, base, "fp32").read(TEXTS)
    monkeypatch.setattr("turnwise.encode.transformer.plain_bert.runs_graphs", lambda: False)
    by_torch = SmallReader(folder, base, "fp32").read(TEXTS)
    assert np.abs(by_graph - by_torch).max() < 1e-5 * np.array(folder.config["spread"]).max() * 10


def test_ranges_of_other_weights_are_refused() -> None:
    folder = load(shipped("reader-small") or "", "reader-small")
    with pytest.raises(UsageError, match="precision=fp32"):
        str(ReplyReader(replace(folder, digest="another"), "int8").signature)


def test_the_kinds_of_replies_are_told_apart(reader: ReplyReader) -> None:
    rows = dict(zip((FITS, SHUFFLED, OTHER, COPY), reader.table(TEXTS[:4]), strict=True))

    def chance(reply: str, kind: str) -> float:
        return float(np.exp(rows[reply][reader.columns.index(f"log p({kind})")]))

    assert chance(COPY, "copy") > 0.5 > chance(FITS, "copy")
    assert chance(SHUFFLED, "salad") > 0.5 > chance(FITS, "salad")
    assert chance(FITS, "right") > chance(OTHER, "right")
    score = reader.columns.index("score")
    assert rows[FITS][score] > max(rows[text][score] for text in (SHUFFLED, OTHER, COPY))


@pytest.mark.slow
def test_a_long_text_is_cut(reader: ReplyReader) -> None:
    long = " ".join(["word"] * 5000)
    assert np.isfinite(
        _network(reader.folder, reader.precision).read([(FITS, (long,)), (long, CONTEXT)])
    ).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["turnwise", "turnwise-large"])
def test_replies_of_which_only_the_beginning_is_read_are_counted_once(name: str) -> None:
    model = load(shipped(name) or "", name)
    long = " ".join(["really"] * (WORDS + 1))
    items = [said(CONTEXT[::-1], reply) for reply in (long, f"{long} and rude", FITS)]
    try:
        signals, encoder = Signals.load(model), encoder_of(model)
        read = [at for at, column in enumerate(signals.columns) if column.endswith("score")]
        with collect_truncations() as counts:
            table = signals.table(items, encoder)[:, read]
    except NotFetched as absent:
        pytest.skip(str(absent))
    assert counts == [2]
    assert len(read) == len(signals.readers)
    assert np.allclose(table[0], table[1], atol=1e-4)


def test_a_reply_that_fits_anywhere_is_not_informed() -> None:
    reader = ReplyReader(load(shipped("reader-large") or "", "reader-large"))
    try:
        rows = reader.table([(FITS, CONTEXT), ("i do not know", CONTEXT), (FITS, ("do you like tea",))])
    except NotFetched as absent:
        pytest.skip(str(absent))
    fits, generic, elsewhere = rows[:, reader.columns.index("informed")]
    assert 0 > fits > max(generic, elsewhere)


@pytest.mark.parametrize("name", ["turnwise", "turnwise[precision=fp32]", "turnwise-large"])
def test_a_reply_that_fits_scores_above_frauds(name: str) -> None:
    metric = resolve(name)
    try:
        str(metric.signature)
    except NotFetched as absent:
        pytest.skip(str(absent))

    def scored(reply: str) -> float:
        roles = ("assistant", "user", "assistant")
        turns = tuple(Turn(role, text) for role, text in zip(roles, (*reversed(CONTEXT), reply), strict=True))
        item = Item(id="1", dialogue="1", agent="a", turns=turns, turn=2, cluster="1", pair="1")
        return float(metric.rows([item])[0, 0])

    assert scored(FITS) > max(scored(reply) for reply in (SHUFFLED, OTHER, COPY))


@pytest.mark.parametrize(("said", "reply", "known"), [
    ("I lost my dog yesterday and I am very sad.", "I am sorry. How old was he?", True),
    ("Can you book me a table at Curry Garden at 18:45?", "Booked! Reference number is 00000013.", True),
    ("Ich habe gestern meinen Hund verloren und bin sehr traurig.", "Das tut mir leid, wie alt war er denn?", False),
    ("J'ai perdu mon chien hier et je suis très triste.", "Je suis désolé, quel âge avait-il ?", False),
    ("Ayer perdí a mi perro y estoy muy triste.", "Lo siento mucho, ¿cuántos años tenía?", False),
    ("我昨天失去了我的狗，非常难过。", "我很抱歉，它多大了？", False),
    ("昨日、犬が死んでとても悲しいです。", "それはお気の毒に。何歳でしたか？", False),
    ("I lost my dog yesterday and I am very sad.", "Das tut mir leid, wie alt war er denn?", False),
    ("Ik heb gisteren mijn hond verloren en ben erg verdrietig.", "Wat erg, hoe oud was hij?", False),
])  # fmt: skip
def test_a_reply_in_another_language_is_not_scored(said: str, reply: str, known: bool) -> None:
    metric = resolve("turnwise")
    try:
        str(metric.signature)
    except NotFetched as absent:
        pytest.skip(str(absent))
    turns = (Turn("user", said), Turn("assistant", reply))
    item = Item(id="1", dialogue="1", agent="a", turns=turns, turn=1, cluster="1", pair="1")
    assert np.isfinite(metric.rows([item])[0, 0]) == known


def test_float32_is_another_metric_with_a_score_nearby() -> None:
    metrics = [resolve(f"turnwise[precision={one}]") for one in ("int8", "fp32")]
    items = [said(CONTEXT[::-1], reply) for reply in (FITS, SHUFFLED, OTHER)]
    try:
        signatures = {str(metric.signature) for metric in (*metrics, resolve("turnwise"))}
        scores = np.array([metric.rows(items)[:, 0] for metric in metrics])
    except NotFetched as absent:
        pytest.skip(str(absent))
    assert len(signatures) == 2  # the default is int8
    assert 0 < np.abs(scores[0] - scores[1]).max() < 0.3


def test_without_onnx_runtime_the_metric_is_that_of_float32(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from turnwise.metrics.learned import trained

    exact = resolve("turnwise[precision=fp32]").signature
    trained._say_float32.cache_clear()
    monkeypatch.setattr(trained, "runs_graphs", lambda: False)
    assert str(resolve("turnwise").signature) == str(exact)
    assert "computed by torch in float32" in caplog.text


def test_without_onnx_runtime_and_torch_nothing_is_said_of_float32(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from turnwise.metrics.learned import trained

    trained._say_float32.cache_clear()
    monkeypatch.setattr(trained, "runs_graphs", lambda: False)
    monkeypatch.setattr(trained, "has_module", lambda module: module != "torch")
    trained.load_trained("turnwise", "")
    assert "float32" not in caplog.text


def test_a_precision_that_a_model_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="is computed in fp32, not in int8"):
        _ = resolve("turnwise-large[precision=int8]").signature


def test_a_model_made_with_another_reader_is_refused() -> None:
    model = load(shipped("turnwise") or "", "turnwise")
    try:
        assert len(readers_of(model)) == 1
    except NotFetched as absent:
        pytest.skip(str(absent))
    stated = {"name": "reader-small", "signature": "reader-small|weights:another"}
    with pytest.raises(UsageError, match="train it anew"):
        readers_of(replace(model, config={**model.config, "readers": [stated]}))
    # Models that were trained before there were two readers name theirs in another way.
    with pytest.raises(UsageError, match="train it anew"):
        readers_of(replace(model, config={**without_readers(model.config), "reader": stated}))


def without_readers(config: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in config.items() if key != "readers"}


def said(context: tuple[str, ...], reply: str) -> Item:
    """An item with this context, oldest turn first."""
    turns = [Turn("assistant" if at % 2 else "user", text) for at, text in enumerate((*context, reply))]
    return Item(id="1", dialogue="1", agent="a", turns=tuple(turns), turn=len(context), cluster="1", pair="1")


@pytest.mark.parametrize(("context", "reply", "copied"), [
    (("It is a dog.", "What is it?"), "Is it a dog?", False),
    (("i do", "yes"), "yes i do", False),
    (("i have two dogs and a cat at home", "that is nice what are their names"),
     "i have two dogs and a cat at home that is nice what are their names", True),
    (("i have two dogs and a cat at home",), "two dogs and a cat at home", True),
])  # fmt: skip
def test_only_long_replies_are_copies_of_several_turns(
    context: tuple[str, ...], reply: str, copied: bool
) -> None:
    assert is_copy(said(context, reply)) == copied


def test_the_large_edition_with_other_signals_is_refused() -> None:
    model = load(shipped("turnwise-large") or "", "turnwise-large")
    assert signals_folder(model).kind == "turnwise"
    with pytest.raises(UsageError, match="train it anew"):
        signals_folder(replace(model, config={**model.config, "signals": "another"}))


def test_a_model_of_version_0_2_has_no_reader() -> None:
    model = load(shipped("turnwise") or "", "turnwise")
    assert readers_of(replace(model, config=without_readers(model.config))) == ()
