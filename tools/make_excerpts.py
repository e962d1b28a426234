"""Write src/turnwise/data/assistants.jsonl.gz or airline.jsonl.gz, two excerpts for `turnwise demo`.

`python -m tools.make_excerpts assistants FILE` reads what `turnwise convert` made of OpenAssistant's trees
(LAION-AI/Open-Assistant, Apache-2.0). The rule:

1. The replies to the first message of a tree are taken, each as a dialogue of two messages, if people ranked them.
2. A tree is left out if the rules of `turnwise convert --redact` find personal data in one of these dialogues, or
   if a reader found some that rules do not know, such as somebody's health (`LEFT_OUT`: the first digits of the
   sha256 of its id).
3. Ids are numbered anew, in order. Only texts and ranks are kept.

`python -m tools.make_excerpts airline FILE` reads what `turnwise convert --agent gpt-4o` made of the published
trials of gpt-4o on the 50 airline tasks of tau-bench (sierra-research/tau-bench, MIT). All 200 are taken; of each,
the user's first message and the last one of the agent. The people in them are invented.
"""

import gzip
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from turnwise.logs import native
from turnwise.logs.redact import redact
from turnwise.types import Dialogue, Turn

LEFT_OUT = frozenset(["8c9d461a24"])
DATA = Path(__file__).parents[1] / "src/turnwise/data"


def main() -> None:
    """Write the excerpt that is asked for, and say what is in it."""
    name, file = sys.argv[1:]
    chosen = list(CHOOSE[name](file))
    lines = b"".join(native.dump(dialogue) + b"\n" for dialogue in chosen)
    target = DATA / f"{name}.jsonl.gz"
    target.write_bytes(
        gzip.compress(lines, mtime=0)
    )  # without a time, so that the same dialogues are the same bytes
    print(f"{target.name}: {len(chosen)} dialogues, {target.stat().st_size / 1000:.0f} KB")


def assistants(file: str) -> Iterator[Dialogue]:
    """Ranked replies to first messages."""
    trees: dict[str, dict[str, Dialogue]] = defaultdict(dict)
    for path in native.read(file):
        trees[path.meta["tree"]][path.id] = path
    number = 0
    for name, tree in trees.items():
        if sha256(name.encode()).hexdigest()[:10] in LEFT_OUT:
            continue
        # A reply has one id, that of the path through it which is judged; longer paths are cut after it.
        first = {
            key: _cut(path) for key, path in tree.items() if any(one.turn == 1 for one in path.preferences)
        }
        first |= {
            key: _cut(tree[key]) for path in first.values() for key in (one.other for one in path.preferences)
        }
        if any(redact(dialogue).counts for dialogue in first.values()):
            continue
        anew = {key: f"oa{number + place:03}" for place, key in enumerate(first, start=1)}
        number += len(first)
        for key, dialogue in first.items():
            votes = tuple(replace(one, other=anew[one.other]) for one in dialogue.preferences)
            yield replace(dialogue, id=anew[key], preferences=votes)


def _cut(path: Dialogue) -> Dialogue:
    """The first message and the reply to it, with the preferences of that reply."""
    turns = tuple(Turn(turn.role, turn.content) for turn in path.turns[:2])
    votes = tuple(one for one in path.preferences if one.turn == 1)
    return Dialogue(path.id, path.agent, turns, preferences=votes, meta={"source": "OpenAssistant"})


def airline(file: str) -> Iterator[Dialogue]:
    """First and last message of every trial, with its reward."""
    for trial in native.read(file):
        said = [turn for turn in trial.turns if turn.content and turn.role in ("user", "assistant")]
        first = next(turn for turn in said if turn.role == "user")
        last = next(turn for turn in reversed(said) if turn.role == "assistant")
        turns = tuple(Turn(turn.role, turn.content) for turn in (first, last))
        yield replace(trial, turns=turns, goal=None, meta={"source": "tau-bench"})


CHOOSE: dict[str, Callable[[str], Iterator[Dialogue]]] = {"assistants": assistants, "airline": airline}

if __name__ == "__main__":
    main()
