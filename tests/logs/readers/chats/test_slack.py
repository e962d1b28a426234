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
    # 158 messages, of which 8 joined a channel and 3 added an app; 4 users with a profile.
    assert sum(found.account.messages.values()) == 158 - 8 - 3
    assert sum(found.dropped.values()) == 8 + 3 + 4
