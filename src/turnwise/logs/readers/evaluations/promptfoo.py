"""Exports of promptfoo: `{"results": {"results": [...]}}`, or the list of results alone.

Each result is one reply of one provider. The prompt is the context: a chat where it is a JSON list of messages, else
one user message. `score` (0 to 1) and `pass` become ratings of the reply, with the reason beside them, and so does
every named score. Where an evaluation has several prompts, an agent is a provider with a prompt.

The variables of a test are its `task`, by their hash, because promptfoo gives each repetition (`--repeat`) a test
number of its own; repetitions with one provider and prompt are its trials. A result that promptfoo could not get
(`failureReason` 2, an error of the provider) has the error as its `failure` and no ratings. Another result without an
output is counted as not kept.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import RuleError, array, each, number, optional, others, record, required
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers.messages import as_json, inner, present, rating, text_at, trial_of
from turnwise.logs.readers.openai import message
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, build_each, raise_data_error, read_json
from turnwise.types import Dialogue, digest

RATER = "promptfoo"
LABEL = 40  # letters of a prompt's label in an agent's name
BROKEN = 2  # `failureReason` of an error that is no failed assertion
RESULT = frozenset(
    {"id", "score", "success", "namedScores", "prompt", "response"}
)  # kept elsewhere in a dialogue


def recognises(sample: Sample) -> bool:
    """Whether the first record has a list `results.results`, and `evalId` or `config`."""
    found = inner(sample.first, "results", "results")
    return isinstance(found, list) and bool({"evalId", "config"} & sample.first.keys())


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a result that has an output; the others are counted as dropped."""
    options = options or Options()
    try:
        export = record(read_json(path))
        results = required(export, "results", _results)
        kept = [
            (index, one)
            for index, one in enumerate(results)
            if _output(record(one)) is not None or _failure(record(one)) is not None
        ]
        marks = [optional(record(one), "namedScores", record, default={}) for _, one in kept]
        if wordy := sum(not _is_number(one) for named in marks for one in named.values()):
            options.dropped["named scores that are no number"] += wordy
        yield from build_each(
            kept, _Builder(_prompts([record(one) for _, one in kept])), "results", "results"
        )
    except RuleError as error:
        raise_data_error(error, path)
    about = export["results"]
    if export.keys() - {"results"} or (isinstance(about, dict) and about.keys() - {"results"}):
        options.dropped["settings and totals of the whole evaluation"] += 1
    if lost := len(results) - len(kept):
        options.dropped["results without an output"] += lost


def _results(value: Any) -> list[Any]:
    """The list of results, given itself or under `results`."""
    return array(value) if isinstance(value, list) else required(record(value), "results", array)


def _output(values: dict[str, Any]) -> str | None:
    """The output of a result, as JSON text if it is no text; None if there is none."""
    found = inner(values, "response", "output")
    return None if found is None else as_json(found)


def _failure(values: dict[str, Any]) -> str | None:
    """The error of a result that promptfoo could not get; None for any other."""
    return text_at(values, "error") if values.get("failureReason") == BROKEN else None


class _Builder:
    """Makes a dialogue of a result and its place, and numbers the trials of each test."""

    def __init__(self, prompts: list[str]) -> None:
        self.prompts = prompts  # by which agents of one provider differ; empty if they do not
        self.trials: Counter[str] = Counter()  # of a test with one provider and prompt

    def __call__(self, value: Any, place: str) -> Dialogue:
        """One result as a dialogue; `place` is the id of a result without one."""
        values = record(value)
        said, failure = _output(values), _failure(values)
        messages = [*_asked(values), *([] if said is None else [{"role": "assistant", "content": said}])]
        provider, prompt, answer = (values.get(key) for key in ("provider", "prompt", "response"))
        agent = (
            provider if isinstance(provider, str) else text_at(provider, "label") or text_at(provider, "id")
        )
        if self.prompts:
            agent = f"{agent or 'unknown'} ({self._prompt_name(values)})"
        task = digest(as_json(values["vars"])) if isinstance(values.get("vars"), dict) else None
        test = digest(as_json([task, provider, values.get("promptIdx"), prompt]))
        trial = self.trials[test]
        self.trials[test] += 1
        native = {
            "id": text_at(values, "id") or place,
            "agent": agent,
            "messages": messages,
            "ratings": [] if failure else list(_ratings(values, len(messages) - 1)),
            "meta": present(
                {
                    **others(values, RESULT),
                    "prompt": others(prompt, frozenset({"raw"})) if isinstance(prompt, dict) else None,
                    "response": others(answer, frozenset({"output"})) if isinstance(answer, dict) else None,
                }
            ),
            **trial_of(task, trial, failure),
        }
        return from_record(native, default_id=place)

    def _prompt_name(self, values: dict[str, Any]) -> str:
        """The label of a prompt, if it is short, else its number, from 1."""
        label = _prompt(values)
        short = len(label) <= LABEL and "\n" not in label and "{{" not in label
        return label if short else f"prompt {self.prompts.index(label) + 1}"


def _prompts(results: list[dict[str, Any]]) -> list[str]:
    """The prompts in their order, if a provider has several; else none. Each has a column of its own (`promptIdx`)
    with each provider.
    """
    columns: dict[str, set[Any]] = {}
    for one in results:
        columns.setdefault(as_json(one.get("provider")), set()).add(one.get("promptIdx"))
    several = any(len(own) > 1 for own in columns.values())
    return list(dict.fromkeys(map(_prompt, results))) if several else []


def _prompt(values: dict[str, Any]) -> str:
    """What tells a prompt from others: its label, which is its template where it has none, else its column."""
    return text_at(values, "prompt", "label") or str(values.get("promptIdx"))


def _asked(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of the prompt: those of a JSON list of messages, else one user message; a missing prompt, or
    a bad message in the list, raises `RuleError`.
    """
    prompt = values.get("prompt")
    raw = prompt if isinstance(prompt, str) else text_at(prompt, "raw")
    if raw is None:
        raise RuleError("is missing").inside("raw").inside("prompt")
    said = _chat(raw)
    if said is None:
        return [{"role": "user", "content": raw}]
    try:
        return list(each(message)(said))
    except RuleError as error:
        raise error.inside("raw").inside("prompt") from None


def _chat(raw: str) -> list[Any] | None:
    """The messages in a prompt that is a non-empty JSON list of objects with `role`; None for any other text."""
    try:
        said = json.loads(raw) if raw.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return None
    is_chat = isinstance(said, list) and said and all(isinstance(one, dict) and "role" in one for one in said)
    return said if is_chat else None


def _ratings(values: dict[str, Any], turn: int) -> Iterator[dict[str, Any]]:
    """`score`, `pass` and the named scores as ratings of turn `turn`; those that are absent are left out."""
    reason = text_at(values, "gradingResult", "reason")
    score = optional(values, "score", number, default=None)
    if score is not None:
        yield rating("score", score, rater=RATER, scale=(0, 1), turn=turn, reason=reason, automatic=True)
    passed = values.get("success", inner(values, "gradingResult", "pass"))
    if isinstance(passed, bool):
        yield rating("pass", float(passed), rater=RATER, scale=(0, 1), turn=turn, automatic=True)
    for name, found in optional(values, "namedScores", record, default={}).items():
        if _is_number(found):
            yield rating(name, found, rater=RATER, turn=turn, automatic=True)


def _is_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
