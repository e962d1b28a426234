"""The formats that `convert` reads, by name; a reader's module is imported when it is used."""

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from turnwise import plugins
from turnwise.errors import DataError, Problem, UsageError, unknown
from turnwise.logs import conversation, native
from turnwise.logs.checks import RuleError, shown
from turnwise.logs.readers.source import Options, decoded, refuse
from turnwise.logs.seen import Seen
from turnwise.types import Dialogue


@dataclass(frozen=True, slots=True)
class Reader:
    module: str  # with a function `read`; of another package: module:function
    summary: str
    example: str  # of what it expects
    tabular: bool = False  # whether a column map means something to it

    def read(self, path: str, options: Options) -> Iterator[Dialogue]:
        if (options.columns or options.split) and not self.tabular:
            tabular = ", ".join(name for name, reader in READERS.items() if reader.tabular)
            raise UsageError(
                f"--map and --split are for tables ({tabular}), not for {self.module.rpartition('.')[2]}"
            )
        if ":" in self.module:
            read = plugins.Offer(self.module, self.summary).load("reader")
        else:
            read = importlib.import_module(self.module).read
        found: Iterator[Dialogue] = read(path, options)
        return found


READERS: Mapping[str, Reader] = {
    "native": Reader(
        "turnwise.logs.native",
        "turnwise's own JSON Lines, to check, merge or compress",
        '{"id": "1", "agent": "bot", "messages": [{"role": "user", "content": "hi"}, ...]}',
    ),
    "openai": Reader(
        "turnwise.logs.readers.openai",
        "OpenAI chat files: JSON Lines or a JSON list",
        '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}',
    ),
    "sharegpt": Reader(
        "turnwise.logs.readers.sharegpt",
        "ShareGPT files: JSON Lines or a JSON list",
        '{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]}',
    ),
    "csv": Reader(
        "turnwise.logs.readers.csv_table",
        "CSV or TSV with a header and --map: one row a message, or a context and a response a row",
        "conv_id,speaker,text,score",
        tabular=True,
    ),
    "parquet": Reader(
        "turnwise.logs.readers.parquet",
        "Parquet: as csv, or with a column `messages` or `conversations`",
        "a file of columns conv_id, speaker, text, score",
        tabular=True,
    ),
    "hf": Reader(
        "turnwise.logs.readers.hf",
        "a folder of Hugging Face datasets: save_to_disk's Arrow files, or Parquet",
        "a folder with state.json or dataset_dict.json",
        tabular=True,
    ),
    "parlai": Reader(
        "turnwise.logs.readers.parlai",
        "ParlAI: conversation logs (JSON Lines) or a task in its text format",
        '{"dialog": [[{"id": "human", "text": "hi"}, {"id": "bot", "text": "hello"}]]}',
    ),
    "multiwoz": Reader(
        "turnwise.logs.readers.multiwoz",
        "MultiWOZ 2.0 and 2.1 data.json, with states, acts and goals",
        '{"SNG01856.json": {"goal": {...}, "log": [{"text": ..., "metadata": {...}}]}}',
    ),
    "convlab": Reader(
        "turnwise.logs.readers.convlab",
        "ConvLab-3's unified format, with states and acts",
        '[{"dialogue_id": ..., "turns": [{"speaker": "user", "utterance": ..., "state": {...}}]}]',
    ),
    "tau2": Reader(
        "turnwise.logs.readers.tau2",
        "results of tau2-bench; the reward becomes a rating",
        '{"info": {...}, "tasks": [...], "simulations": [{"messages": [...], "reward_info": {...}}]}',
    ),
    "enigma": Reader(
        "turnwise.logs.readers.enigma",
        "ENIGMA's off-policy data: a target's data.json, or a folder of targets",
        '{"dialog": [{"text": e}, {"text": a}, {"text": a of the target}], "reward": {...}}',
    ),
}


def all_readers() -> dict[str, Reader]:
    """With those of other packages: the entry point group `turnwise.readers`, functions of a path and options."""
    others = plugins.offered("readers", READERS)
    return dict(READERS) | {
        name: Reader(offer.target, f"of the package {offer.owner}", "see there", tabular=True)
        for name, offer in others.items()
    }


ALIASES = {"convlab-unified": "convlab"}  # other names that are taken and not listed


class Converted(NamedTuple):
    n_dialogues: int
    dropped: Mapping[str, int]  # what could not be kept -> how often


def convert(name: str, source: str, target: str, options: Options | None = None) -> Converted:
    """Write `source`, in the format `name`, to `target` in the native one: all of it, or nothing."""
    readers = all_readers()
    reader = readers.get(ALIASES.get(name, name))
    if reader is None:
        raise unknown("reader", name, list(readers))
    options = options or Options()
    count = native.write(_checked(reader.read(source, options), source), target)
    return Converted(count, Counter(options.dropped))


def _checked(dialogues: Iterator[Dialogue], source: str) -> Iterator[Dialogue]:
    """What is written keeps the native rules, whatever the reader let pass."""
    seen = Seen()
    place = 0
    for place, dialogue in enumerate(dialogues, 1):
        try:
            conversation.checked(decoded(native.dump(dialogue)), default_id="")
        except RuleError as error:
            refuse(error, f"{source}: conversation {place}, as converted")
        if dialogue.id in seen:
            expected = "expected ids that differ"
            raise DataError(Problem(source, None, "", f"has the id {shown(dialogue.id)} twice; {expected}"))
        seen.add(dialogue.id)
        yield dialogue
    if not place:
        raise DataError(Problem(source, None, "", "has no conversation in it"))
