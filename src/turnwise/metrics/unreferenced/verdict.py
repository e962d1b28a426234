"""Strict parser of a judge's answer; an ambiguous answer has no verdict.

Only the last line counts, and only if it is `VERDICT CODE: VALUE` with the code of this question. So numbers in the
explanation, a verdict inside the scored reply, or a line copied from it are never taken for the verdict. Asterisks and
backquotes around the line are ignored, because chat models write Markdown.
"""

import re
from collections.abc import Collection


def verdict(answer: str, code: str, allowed: Collection[str]) -> str | None:
    """The value in the answer's last line; None if that is not a verdict, not allowed, or contradicted before."""
    form = re.compile(rf"VERDICT {re.escape(code)}: (\S+)")
    lines = [line for raw in answer.splitlines() if (line := raw.strip().strip("*`").strip())]
    given = {found[1] for line in lines if (found := form.fullmatch(line))}
    if len(given) != 1 or not form.fullmatch(lines[-1]):
        return None
    (value,) = given
    return value if value in allowed else None
