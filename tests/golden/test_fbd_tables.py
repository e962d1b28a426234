"""The published figures of Xiang et al. 2021 and ours beside them, on the released corpora.

Sources: Table 1 of the paper for BLEU; papers/fbd-prd.md for what we measured, where the figures of FBD need the MiniLM
weights. Tests skip where corpora or weights are absent.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from turnwise.cli.common.group import run
from turnwise.encode.models.catalogue import NotFetched, locate

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "papers" / "fbd_prd.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fbd_prd", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fbd_prd"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def minilm() -> None:
    pytest.importorskip("torch")
    try:
        locate("minilm")
    except NotFetched:
        pytest.skip("turnwise fetch minilm")


def test_one_command_gives_all_12_published_correlations_of_bleu_and_two_corpora_have_them_negative(
    corpora: Path, tmp_path: Path
) -> None:
    tables = script()
    command = (
        f"meta {corpora / tables.FILES['fbd']} --by meta.corpus --level system --statistic spearman,pearson"
    )
    assert run([*command.split(), "--no-intervals", "-m", "bleu-paper", "-q", "-o", str(tmp_path)]) == 0
    found = {
        (record["group"], record["statistic"]): record["estimate"] for record in tables.records(tmp_path)
    }
    for group, published in tables.PUBLISHED.items():
        here = np.array([found[group, statistic] for statistic in ("spearman", "pearson")])
        assert np.abs(here) == pytest.approx(published, abs=0.001)
        assert (here < 0).all() == (here < 0).any() == (group in ("dailyh", "empathetic"))


def test_the_empathetic_corpus_is_dailyh_reshuffled(corpora: Path) -> None:
    tables = script()
    corpus = tables.Corpus.read(corpora / tables.FILES["fbd"], "meta.corpus")

    def triples(group: str) -> set[tuple[str, str, float]]:
        return {
            (item.context[0].text, item.reply, corpus.ratings[item.id, "coherence"])
            for item in corpus.items
            if item.group == group
        }

    assert triples("dailyh") == triples("empathetic")
    assert len(triples("dailyh")) == 298


def test_three_of_the_four_systems_of_the_released_convai2_answer_contexts_of_another(corpora: Path) -> None:
    tables = script()
    released = tables.Corpus.read(corpora / tables.FILES["fbd"], "meta.corpus").items
    original = tables.Corpus.read(corpora / tables.FILES["grade"], "meta.corpus").items

    def plain(*texts: str) -> str:
        return "".join("".join(texts).lower().split())

    said = {}
    for item in original:
        if item.group == "convai2":
            contexts = said.setdefault((item.agent, plain(item.reply)), set())
            contexts.add(plain(*(turn.text for turn in item.context)))
    kept: dict[str, list[bool]] = {}
    for item in released:
        name = str(item.meta.get("system_name"))
        if item.group == "convai2" and (name, plain(item.reply)) in said:
            right = plain(item.context[0].text) in said[name, plain(item.reply)]
            kept.setdefault(name, []).append(right)
    shares = {name: np.mean(rights) for name, rights in kept.items()}
    assert all(len(rights) > 140 for rights in kept.values())
    assert shares.pop("bert_ranker") > 0.4
    assert max(shares.values()) < 0.05


@pytest.mark.usefixtures("minilm")
@pytest.mark.parametrize(
    ("name", "spearman", "pearson", "tolerance"),
    [("fbd", 0.898, 0.933, 0.005), ("fbd-paper", 0.619, 0.650, 0.02)],
)
def test_frechet_distances_agree_with_people_as_much_as_was_measured(
    corpora: Path, name: str, spearman: float, pearson: float, tolerance: float
) -> None:
    """Goals: .89 and .92 for `fbd`; .619 and .650 for the paper's recipe with MiniLM."""
    tables = script()
    corpus = tables.Corpus.read(corpora / tables.FILES["fbd"], "meta.corpus")
    found = tables.correlations(corpus, tables.numbers(corpus, name))
    assert np.mean(list(found.values()), axis=0) == pytest.approx((spearman, pearson), abs=tolerance)


@pytest.mark.usefixtures("minilm")
def test_the_papers_prd_agrees_as_much_as_was_measured_within_the_noise_of_its_clusters(
    corpora: Path,
) -> None:
    """Absolute means of six files: .52 and .56 with our seed.

    The authors' method has .399 and .563; two of its seeds deviate from each other by .1.
    """
    tables = script()
    corpus = tables.Corpus.read(corpora / tables.FILES["fbd"], "meta.corpus")
    found = tables.correlations(corpus, tables.numbers(corpus, "prd-paper"))
    assert np.mean(np.abs(list(found.values())), axis=0) == pytest.approx((0.522, 0.561), abs=0.03)
