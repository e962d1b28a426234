"""Who else is encoded, in what order and in what batches, does not matter."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_models import WORDS, write_bert, write_llama

from turnwise.encode import TextInContext
from turnwise.encode.batches import by_shape, distinct
from turnwise.types import Turn

texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
several = st.lists(texts, min_size=1, max_size=12)
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_llama(tmp_path_factory.mktemp("llama"))


@FEW
@given(several, st.integers(1, 200), st.randoms())
def test_a_vector_depends_on_its_own_text_only(
    bert: Path, given: list[str], budget: int, random: object
) -> None:
    from turnwise.encode.transformer.encoder import Transformer

    one = Transformer(bert, "t@0")  # reading the model takes longer than all texts
    alone = {text: one.encode([text])[0] for text in given}
    order = given + given
    random.shuffle(order)  # type: ignore[attr-defined]
    vectors = Transformer(bert, "t@0", budget=budget).encode(order)
    np.testing.assert_allclose(vectors, [alone[text] for text in order], atol=1e-5)


@FEW
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=8), st.integers(1, 200))
def test_a_log_probability_depends_on_its_own_pair_only(
    llama: Path, given: list[tuple[str, str]], budget: int
) -> None:
    from turnwise.encode.neural.causal import CausalLM

    said = [TextInContext(text, (Turn("user", context),)) for context, text in given]
    together = CausalLM(llama, "t@0", budget=budget).score(said * 2)
    model = CausalLM(llama, "t@0")  # reading the model takes longer than all texts
    alone = np.vstack([model.score([one]) for one in said])
    np.testing.assert_allclose(together, np.vstack([alone, alone]), atol=1e-5)


@given(st.lists(st.integers(0, 5)))
def test_distinct_values_and_their_places_give_the_values_back(values: list[int]) -> None:
    different, inverse = distinct(values)
    assert [different[place] for place in inverse] == values
    assert len(set(different)) == len(different)


@given(st.lists(st.integers(1, 9)), st.integers(1, 40))
def test_batches_hold_everything_once_in_one_shape_within_the_budget(shapes: list[int], budget: int) -> None:
    batches = list(by_shape(shapes, cost=shapes, budget=budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(shapes)))
    for batch in batches:
        assert len({shapes[index] for index in batch}) == 1
        assert len(batch) == 1 or sum(shapes[index] for index in batch) <= budget
