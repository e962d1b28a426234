"""A judge by its provider: address, model and key's variable are known, as for agents."""

from pathlib import Path

import pytest

from tests.judge_server import Exchange, by_length, serving
from turnwise.agents import resolve as resolve_agent
from turnwise.errors import UsageError
from turnwise.llm.providers import PROVIDERS
from turnwise.metrics import resolve
from turnwise.types import Item, Turn

ITEM = Item("d#1", "d", "bot", (Turn("user", "Hi."), Turn("assistant", "Hello.")), 1, "d", "p")
VARIABLES = ("OPENAI_BASE_URL", "OLLAMA_HOST", "TURNWISE_JUDGE_ADDRESS", "TURNWISE_JUDGE_MODEL")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and an environment that names no server."""
    monkeypatch.chdir(tmp_path)
    for name in (*VARIABLES, "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_of_agents_is_one_of_judges(provider: str):
    judge, agent = resolve(f"judge[model={provider}/a.model:1b]"), resolve_agent(f"{provider}/a.model:1b")
    assert judge.client.chat.address == agent.chat.address == PROVIDERS[provider].address
    assert judge.client.model == judge.model == agent.model == "a.model:1b"
    assert judge.client.chat.key == agent.chat.key == PROVIDERS[provider].key


def test_the_page_of_the_judge_has_every_provider():
    page = (Path(__file__).parents[3] / "docs" / "judge.md").read_text()
    for name, one in PROVIDERS.items():
        variable = f", or the variable `{one.address_variable}`" if one.address_variable else ""
        key = f"`{one.key}`" if one.key else "none"
        assert f"| `{name}` | `{one.address}`{variable} | {key} |\n" in page


def test_the_same_model_at_its_address_is_the_same_judge():
    by_address = resolve("judge[model=gpt-4o,address=https://api.openai.com/v1]")
    assert resolve("judge[model=openai/gpt-4o]").signature == by_address.signature


def test_the_variable_for_openais_address_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert resolve("judge[model=openai/gpt-4o]").client.chat.address == "http://127.0.0.1:9/v1"
    assert resolve("judge[model=groq/m]").client.chat.address == PROVIDERS["groq"].address
    assert resolve("judge[model=gpt-4o]").client is None  # nobody said that it is OpenAI's


def test_the_model_of_the_environment_may_have_a_provider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWISE_JUDGE_MODEL", "ollama/llama3.2")
    assert resolve("judge").client.chat.address == PROVIDERS["ollama"].address


def test_at_an_address_of_ones_own_it_is_the_name_of_a_model(monkeypatch: pytest.MonkeyPatch):
    address = PROVIDERS["openrouter"].address
    given = resolve(f"judge[model=openai/gpt-4o,address={address}]")
    monkeypatch.setenv("TURNWISE_JUDGE_ADDRESS", address)
    for judge in (given, resolve("judge[model=openai/gpt-4o]")):
        assert (judge.client.chat.address, judge.model) == (address, "openai/gpt-4o")


def test_a_key_of_ones_own_counts():
    assert resolve("judge[model=openai/gpt-4o,key=MY_KEY]").client.chat.key == "MY_KEY"


def test_the_judges_of_a_panel_may_have_several_providers():
    panel = resolve("panel[models=openai/a+ollama/b]")
    assert [one.client.chat.address for one in panel.members] == [
        PROVIDERS["openai"].address,
        PROVIDERS["ollama"].address,
    ]


def test_it_is_asked_with_the_key_of_env(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def answer(exchange: Exchange) -> None:
        by_length(exchange)

    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        judge = resolve("judge[model=openai/gpt-4o,cache=false]")
        with pytest.raises(UsageError, match="has a key OPENAI_API_KEY"):
            judge.rows([ITEM])
        (folder / ".env").write_text("OPENAI_API_KEY=sk-1\n")
        assert judge.rows([ITEM])[0, 0] >= 1
    (request,) = server.requests
    assert request.body["model"] == "gpt-4o"
    assert request.headers["Authorization"] == "Bearer sk-1"
