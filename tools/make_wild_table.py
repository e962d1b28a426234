"""`python -m tools.make_wild_table [--write] FOLDER...`: the table in docs/convert.md of how real files of other tools
are read. It is printed; `--write` puts it in the page, whose rows are those of all folders that are named.

Each file of the folders goes through `convert`, `validate` and `score -m length,question-rate`; the table says what was
understood. Files whose speakers have no roles are given the options in OPTIONS.
"""

import re
import sys
import tempfile
from pathlib import Path

from turnwise import convert, score, validate
from turnwise.errors import DataError, TurnwiseError

PAGE = Path(__file__).parents[1] / "docs" / "convert.md"
EXAMPLE = re.compile(r', e\.g\. ".*"$')  # of what a role says
BEGIN, END = "<!-- real files -->", "<!-- end of real files -->"
MT_BENCH = ("mt_bench_answers_a.jsonl", "mt_bench_answers_b.jsonl", "mt_bench_judgments_single.jsonl")
OPTIONS: dict[str, dict[str, str]] = {
    "slack_export.zip": {"roles": "hamza=assistant,*=user"},
    "support_tweets.csv": {
        "reader": "csv",
        "columns": "message=tweet_id,reply_to=in_response_to_tweet_id,role=author_id,content=text,time=created_at",
        "roles": "SpotifyCares=assistant,*=user",
    },
    "rasa_tracker.json": {},
}
SKIPPED = (
    "README.md",
    "said.json",
    *MT_BENCH,
)  # MT-bench is read from its questions with the other files beside them


def row(path: Path, folder: Path) -> str:
    sources = (
        [path, *(path.parent / name for name in MT_BENCH)]
        if path.name == "mt_bench_questions.jsonl"
        else [path]
    )
    out = folder / "logs.jsonl"
    shown = path.name + (" + answers and judgments" if len(sources) > 1 else "")
    try:
        done = convert(sources, out, **OPTIONS.get(path.name, {}))
    except TurnwiseError as error:
        return f"| {shown} | not read | - | {_cells(str(error))} | - | - |"
    if not validate(out).ok:
        raise DataError(f"{path.name}: what was written is not valid")
    lines = [
        EXAMPLE.sub("", line).strip() for line in done.understood if not line.startswith("  the records")
    ]
    counts = "; ".join(lines)
    dropped = "; ".join(f"{_cells(what)}: {count}" for what, count in done.dropped.items()) or "nothing"
    try:
        found = score(out, metrics="length,question-rate", figures=False).records()
    except DataError:  # there is nothing to score: no reply has text
        found = []
    first = [one for one in found if one["agent"] == found[0]["agent"] and one["estimate"] is not None]
    numbers = ", ".join(f"{one['metric']} {one['estimate']:.3f}" for one in first)
    options = " ".join(f"--{key.replace('columns', 'map').replace('reader', 'from')} '{value}'"
                    for key, value in OPTIONS.get(path.name, {}).items())  # fmt: skip
    how = f"`{done.reader}`" + (f" with `{options}`" if options else "")
    return f"| {shown} | {how} | {done.n_dialogues} | {_cells(counts)} | {dropped} | {numbers or 'no reply to score'} |"


def _cells(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def table(*folders: Path) -> str:
    names = ("file", "read as", "dialogues", "understood", "not kept", "scores of the first agent")
    head = f"| {' | '.join(names)} |\n{'|---' * len(names)}|"
    with tempfile.TemporaryDirectory() as scratch:
        paths = [path for folder in folders for path in sorted(folder.iterdir()) if path.name not in SKIPPED]
        rows = [row(path, Path(scratch)) for path in paths]
    return "\n".join([head, *rows])


def main() -> None:
    made = table(*(Path(one) for one in sys.argv[1:] if one != "--write"))
    if "--write" not in sys.argv:
        print(made)
        return
    page = PAGE.read_text()
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n\n{made}\n\n{page[end:]}")


if __name__ == "__main__":
    main()
