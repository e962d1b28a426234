"""`python -m papers.flagship.contexts DATA -o DIR [--teaching]`: dialogues for attacks, which no reader was trained on.

Dialogues of three corpora that share a turn of six words or more with a rated item were left out of the training text
(`prepare.py`). After the first hundred of each corpus, on which `frauds.py` measures, every other one is for teaching
(`taught.py`). The rest is written to DIR/NAME.jsonl with the agent `human`, for `turnwise attack`; with `--teaching`,
those for teaching instead, on which an attack may look for frauds to teach.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from papers.flagship.prepare import PROBED, PROBES, dialogues
from papers.rated_corpora import RatedText, rated
from turnwise.encode.text.normalise import plain
from turnwise.types import Dialogue

TAUGHT_FREE = ("personachat",)  # corpora with free text, on which alone the free variant is taught frauds


def held_out(data: Path) -> dict[str, list[Dialogue]]:
    """Corpus -> dialogues that were left out of the training text."""
    texts = RatedText(
        plain(turn.text) for group in rated(data) for item in group.items for turn in item.turns
    )
    return {
        name: [
            one
            for one in dialogues(data, name)
            if len(one.turns) > 1 and texts.shares(plain(turn.text) for turn in one.turns)
        ]
        for name in PROBED
    }


def for_teaching(data: Path, corpora: Sequence[str] = PROBED) -> list[Dialogue]:
    """Those of these corpora that frauds are taught on."""
    found = held_out(data)
    return [one for name in corpora for one in found[name][PROBES::2]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--teaching", action="store_true", help="those that frauds are taught on")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name, some in held_out(given.data).items():
        kept = some[PROBES::2] if given.teaching else [*some[:PROBES], *some[PROBES + 1 :: 2]]
        lines = []
        for dialogue in kept:
            said = [turn.text for turn in dialogue.turns if plain(turn.text)]
            messages = [
                {"role": "assistant" if (len(said) - at) % 2 else "user", "content": text}
                for at, text in enumerate(said)
            ]
            lines.append(json.dumps({"id": dialogue.id, "agent": "human", "messages": messages}))
        (given.out / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        print(f"{name}: {len(lines)} dialogues")


if __name__ == "__main__":
    main()
