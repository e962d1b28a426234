"""`python -m tools.make_skill`: writes skills/turnwise/SKILL.md from docs/skill.md and docs/commands.md.

A test holds the skill equal to what this writes.
"""

import posixpath
import re
from pathlib import Path

from tools.written import write

ROOT = Path(__file__).parents[1]
SKILL = ROOT / "skills" / "turnwise" / "SKILL.md"
SITE = "https://turnwise.github.io/turnwise/"
BEGIN, END = "<!-- skill -->\n", "<!-- end of skill -->"
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)([^)\s#]+)(#[^)\s]*)?\)")


def skill() -> str:
    """The text of the skill: what is between the marks of docs/skill.md, and the table of commands."""
    page = (ROOT / "docs" / "skill.md").read_text(encoding="utf-8")
    body = page.partition(BEGIN)[2].partition(END)[0].strip()
    about, _, rest = body.partition("\n\n")
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in commands.splitlines() if line.startswith("|"))
    head = f"---\nname: turnwise\ndescription: >-\n  {' '.join(about.split())}\n---\n\n# turnwise\n"
    return f"{head}\n{_absolute(rest)}\n\n## Commands\n\n{_absolute(table)}\n"


def _absolute(text: str) -> str:
    """The text with links to the site's pages as Markdown."""
    return LINK.sub(lambda link: f"[{link[1]}]({posixpath.join(SITE, link[2])}{link[3] or ''})", text)


if __name__ == "__main__":
    SKILL.parent.mkdir(parents=True, exist_ok=True)
    write(SKILL, skill())
