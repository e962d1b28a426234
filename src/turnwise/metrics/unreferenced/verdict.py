"""What a judge decided, read strictly: a doubtful answer is no verdict, and never a number.

Only the last line counts, and only if it is `VERDICT CODE: VALUE` with the code of this very question. Numbers in the
reasons, a verdict that the judged reply contains, and a line that the judge copied from it are thus never taken for
the decision. Asterisks and backquotes around the line are passed over, because chat models write Markdown.
"""

import re
from collections.abc import Collection


def verdict(answer: str, code: str, allowed: Collection[str]) -> str | None:
    """The one value of `allowed` that the answer ends with; None if it does not, or if it decides twice."""
    form = re.compile(rf"VERDICT {re.escape(code)}: (\S+)")
    lines = [line for raw in answer.splitlines() if (line := raw.strip().strip("*`").strip())]
    given = {found[1] for line in lines if (found := form.fullmatch(line))}
    if len(given) != 1 or not form.fullmatch(lines[-1]):
        return None
    (value,) = given
    return value if value in allowed else None
