"""The list of people of a crowd for their payment: who they are on the platform, how far they came, and their code.

It is the only export that names people. A cell that a spreadsheet would take for a formula begins with an apostrophe,
because the parameters of a link are written by whoever opens it.
"""

import csv
import io

from turnwise.web.crowd.places import final_code
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.ratings import iso_time

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def standing(rater: Rater) -> str:
    """How far a person came: completed, declined, screened_out, failed_training, timed_out or active."""
    if rater.completed_at is not None:
        return "completed"
    return rater.left or ("timed_out" if rater.place_lost else "active")


def payments(ledger: Ledger) -> str:
    """A CSV table with a row for each person who joined."""
    crowd = ledger.study.crowd
    people = [rater for rater in ledger.raters.values() if rater.joined is not None]
    names = list(dict.fromkeys(name for rater in people for name in rater.joined or {}))
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(
        [
            "rater",
            *names,
            "status",
            "joined",
            "completed",
            "minutes",
            "answers",
            "checks_failed",
            "code",
            "pay",
        ]
    )
    for rater in people:
        ended = rater.completed_at or rater.seen_at
        paid = rater.completed_at is not None and crowd is not None and crowd.pay is not None
        cells = [
            rater.name,
            *((rater.joined or {}).get(name, "") for name in names),
            standing(rater),
            iso_time(rater.joined_at),
            iso_time(rater.completed_at) if rater.completed_at is not None else "",
            f"{max(0.0, ended - rater.joined_at) / 60:.1f}",
            str(rater.done),
            str(sum(slot.failed for slot in rater.slots)),
            final_code(ledger, rater),
            f"{crowd.pay:g} {crowd.currency}".strip() if paid and crowd is not None else "",
        ]
        table.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return out.getvalue()
