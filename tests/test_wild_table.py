"""`tools.make_wild_table`: a row for each file, also for one that is not read."""

import json
from pathlib import Path

from tools.make_wild_table import table


def test_every_row_has_a_cell_for_each_column(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A letter | with a bar.\nIt has two lines.\n")
    events = [{"event": "user", "text": "hi"}, {"event": "action", "name": "utter_hi"}]
    (tmp_path / "b.json").write_text(json.dumps({"sender_id": "x", "events": events}))
    head, line, unread, read = table(tmp_path).splitlines()
    assert {one.count("|") for one in (head, line, unread, read)} == {7}
    assert unread.startswith("| a.txt | not read | - | ")
    assert "| replies whose text is not in the tracker (actions `utter_...`): 1 | no reply to score |" in read
