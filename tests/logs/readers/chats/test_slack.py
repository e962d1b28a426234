"""Slack exports."""

from pathlib import Path

import pytest

from tests.wild_corpora import WILD, converted, needs_wild
from turnwise.errors import UsageError
from turnwise.logs.readers import recognise
from turnwise.logs.readers.source import Options

pytestmark = needs_wild


def test_slack_asks_who_the_agent_is(tmp_path: Path) -> None:
    assert recognise(str(WILD / "slack_export.zip")) == "slack"
    with pytest.raises(UsageError, match=r"roles of these speakers are not known.*--roles"):
        converted("slack_export.zip", tmp_path)
    found = converted("slack_export.zip", tmp_path, Options(roles={"hamza": "assistant", "*": "user"}))
    # 158 messages, of which 8 joined a channel and 3 added an app.
    assert sum(found.account.messages.values()) == 158 - 8 - 3
    assert found.dropped == {
        "notices of Slack (channel_join)": 8,
        "notices of Slack (bot_add)": 3,
        "profiles of users (`users.json`)": 4,
        "entries of `channels.json`": 2,
        "entries of `integration_logs.json`": 30,
    }
    assert found.notes == ("messages outside threads: those of one channel and day are one dialogue",)


def test_a_channel_in_which_the_agent_says_nothing_is_not_asked_for_its_name(tmp_path: Path) -> None:
    found = converted("slack_export.zip", tmp_path, Options(roles={"hamza": "assistant", "*": "user"}))
    assert found.account.agents == {"hamza": 8, "unknown": 8}
    assert not any("--agent" in line for line in found.account.lines())
