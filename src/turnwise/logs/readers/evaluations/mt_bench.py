"""FastChat's MT-bench: questions, models' answers, and a judge's scores, in files of their own.

    turnwise convert --from mt-bench questions.jsonl answers_a.jsonl answers_b.jsonl judgments.jsonl logs.jsonl

Each answer to a question is one dialogue of its model. A judgment of one turn becomes a rating of that reply on the
dimension `score`, 1 to 10, whose rater is the judge; a judgment that failed (-1) is counted as not kept. A judgment
of a pair (`model_1`, `model_2`, `g1_winner`, `g2_winner`: the answers in both orders) becomes a preference, a tie if
the two orders do not agree. Models of answers and judgments are matched by their names, else by the last part of their
names if it belongs to one model. References of a question become references of the replies. Questions that no model
answers are counted. A question is a `task`, and a choice its `trial`; of several judgments of one reply by one judge,
each is a `sitting`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from turnwise.errors import DataError, Problem, WrongForFile
from turnwise.logs.checks import (
    RuleError,
    each,
    integer,
    number,
    optional,
    others,
    record,
    required,
    shown,
    text,
)
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers.messages import rating, sittings, trial_of
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, decoded, first_line_and_lines, raise_data_error
from turnwise.types import AUTOMATIC, Dialogue

FAILED = -1  # the score of a judgment that could not be read
# Keys that are kept elsewhere in a dialogue.
QUESTION = frozenset({"question_id", "turns", "category", "reference"})
ANSWER = frozenset({"question_id", "model_id", "choices"})
CHOICE = frozenset({"index", "turns"})
JUDGMENT = frozenset({"question_id", "model", "judge", "user_prompt", "judgment", "score", "turn"})
PROMPTS = frozenset({"g1_user_prompt", "g2_user_prompt"})  # judge's prompts in both orders
PAIR = frozenset({"question_id", "model_1", "model_2", "judge", "turn"}) | PROMPTS
REPEATED = "prompts of the judge, which repeat question and answer (`user_prompt`)"
WINNERS = {"model_1": "this", "model_2": "other"}
Record = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether a JSON Lines file has questions, answers or judgments, by the keys of its first record."""
    return sample.form == "jsonl" and (
        sample.has("question_id", "turns")
        or sample.has("question_id", "choices", "model_id")
        or sample.has("question_id", "model", "judge", "score")
        or sample.has("question_id", "model_1", "model_2", "judge")
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a choice of each answer, from `path` and `options.more`, whose order does not matter; missing
    questions or answers raise `UsageError`, and a record without a question id `DataError`.
    """
    options = options or Options()
    questions: dict[Any, Record] = {}
    answers: list[tuple[str, int, Record]] = []
    judgments: list[tuple[str, int, Record]] = []
    for file in (path, *options.more):
        for line, values in _records(file):
            if not isinstance(values.get("question_id"), str | int):
                raise DataError(
                    Problem(file, line, "$.question_id", "is missing; expected a number or a text")
                )
            if "choices" in values:
                answers.append((file, line, values))
            elif "judge" in values:
                judgments.append((file, line, values))
            elif "turns" in values:
                if questions.setdefault(values["question_id"], values) != values:
                    about = f"is another question with the id {values['question_id']}"
                    raise DataError(Problem(file, line, "$.question_id", about))
            else:
                raise DataError(Problem(file, line, "", "is no question, answer or judgment of MT-bench"))
    if not questions or not answers:
        missing = "the questions" if answers else "the models' answers"
        raise WrongForFile(
            path,
            f"{missing} are missing; give questions, answers and judgments: "
            "turnwise convert --from mt-bench QUESTIONS ANSWERS... [JUDGMENTS] OUT",
        )
    models = _Models(str(one.get("model_id")) for _, _, one in answers)
    marks = _Judgments(judgments, models, options)
    ids = frozenset(models.id(one["question_id"], str(one.get("model_id"))) for _, _, one in answers)
    seen: dict[tuple[Any, str], str] = {}
    for file, line, values in answers:
        try:
            key = (values["question_id"], str(values.get("model_id")))
            if key in seen:
                raise RuleError(
                    f"is a second answer of {shown(key[1])} to question {key[0]}; the first is in {seen[key]}"
                )
            seen[key] = f"{file}:{line}"
            yield from _dialogues(values, questions, marks, models, ids, options)
        except RuleError as error:
            raise_data_error(error, file, line)
    if unanswered := questions.keys() - {question for question, _ in seen}:
        options.dropped["questions that no model answers"] += len(unanswered)
    if marks.unused:
        options.dropped["judgments of answers that are not here"] += marks.unused


def _records(file: str) -> Iterator[tuple[int, Record]]:
    """The line numbers and objects of a JSON Lines file."""
    for number_, line in first_line_and_lines(file)[1]:
        try:
            yield number_, record(decoded(line))
        except RuleError as error:
            raise_data_error(error, file, number_)


class _Models:
    """The models of the answers, by their full names and by the last part of their names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.short: dict[str, list[str]] = {}
        for name in sorted(self.names):
            self.short.setdefault(_short(name), []).append(name)

    def find(self, name: str) -> str:
        """The model that a judgment names; the name itself if no answer is of it. A short name of several models raises
        `RuleError`.
        """
        if name in self.names:
            return name
        alike = self.short.get(_short(name), [name])
        if len(alike) > 1:
            raise RuleError(f"names the model {shown(name)}, which may be {' or '.join(alike)}")
        return alike[0]

    def id(self, question: Any, model: str) -> str:
        """The id of a model's dialogue about a question, with the short name if no other model has it."""
        name = _short(model)
        return f"{question}-{name if len(self.short.get(name, ())) < 2 else model}"


class _Judgments:
    """Ratings by question, model and turn (from 1), and preferences by question and first model; judgments that
    failed are counted as dropped.
    """

    def __init__(self, judgments: list[tuple[str, int, Record]], models: _Models, options: Options) -> None:
        self.models = models
        self.found: dict[tuple[Any, str, int], list[Record]] = {}
        self.used: set[tuple[Any, str, int]] = set()
        self.pairs: dict[tuple[Any, str], list[Record]] = {}
        for file, line, values in judgments:
            try:
                if "model_1" in values:
                    self._add_pair(values, options)
                    continue
                score = required(values, "score", number)
                if score == FAILED:
                    options.dropped["judgments that failed (score -1)"] += 1
                    continue
                turn = required(values, "turn", integer)
                key = (values.get("question_id"), models.find(required(values, "model", text)), turn)
                reason = values.get("judgment")
                mark = rating("score", score, scale=(1, 10), turn=2 * turn - 1, reason=reason,
                              **{**others(values, JUDGMENT), **_judge(values["judge"])})  # fmt: skip
                if "user_prompt" in values:
                    options.dropped[REPEATED] += 1
                self.found.setdefault(key, []).append(mark)
            except RuleError as error:
                raise_data_error(error, file, line)

    def _add_pair(self, values: Record, options: Options) -> None:
        """Add the judgment of a pair as a preference of the first model's answer."""
        winners = {required(values, key, text) for key in ("g1_winner", "g2_winner")}
        if "error" in winners:
            options.dropped["judgments that failed (winner error)"] += 1
            return
        winner = WINNERS.get(winners.pop(), "tie") if len(winners) == 1 else "tie"
        first, second = (self.models.find(required(values, key, text)) for key in ("model_1", "model_2"))
        found = {
            **others(values, PAIR),
            "other": self.models.id(values["question_id"], second),
            "winner": winner,
            "turn": 2 * optional(values, "turn", integer, default=1) - 1,
            **_judge(values["judge"]),
        }
        if repeated := len(PROMPTS & values.keys()):
            options.dropped[REPEATED] += repeated
        self.pairs.setdefault((values["question_id"], first), []).append(found)

    def take_pairs(self, question: Any, model: str, ids: frozenset[str]) -> list[Record]:
        """The preferences of a model's answer over the answers with these ids, which are removed from those left."""
        mine = self.pairs.pop((question, model), [])
        found = [one for one in mine if one["other"] in ids]
        if left := [one for one in mine if one["other"] not in ids]:
            self.pairs[question, model] = left
        return found

    def take(self, question: Any, model: str, turns: int) -> list[Record]:
        """The ratings of a model's answer to a question at its first `turns` turns, which count as used from now on."""
        keys = [(question, model, turn) for turn in range(1, turns + 1)]
        self.used.update(keys)
        return [mark for key in keys for mark in sittings(self.found.get(key, ()))]

    @property
    def unused(self) -> int:
        """How many ratings and preferences no answer took."""
        ratings = sum(len(marks) for key, marks in self.found.items() if key not in self.used)
        return ratings + sum(map(len, self.pairs.values()))


def _judge(judge: Any) -> Record:
    """The rater, a language model, and `judge` as it is if it is a list: its name and the template of its prompt."""
    if isinstance(judge, list) and judge:
        return {"rater": str(judge[0]), "judge": judge, AUTOMATIC: True}
    return {"rater": str(judge), AUTOMATIC: True}


def _short(model: str) -> str:
    """The model's name after the last `/`."""
    return model.rsplit("/", 1)[-1]


def _dialogues(
    values: Record,
    questions: dict[Any, Record],
    marks: _Judgments,
    models: _Models,
    ids: frozenset[str],
    options: Options,
) -> Iterator[Dialogue]:
    """One dialogue a choice of an answer; only the choice with index 0 has the ratings and preferences, the latter
    over answers with one of `ids`.

    The question's `reference` has a reference for each turn, or for the first ones. An unknown question raises
    `RuleError`; a turn with a question or an answer only is counted as dropped.
    """
    question = questions.get(values.get("question_id"))
    if question is None:
        raise RuleError(f"names question {values.get('question_id')}, which is not among the questions")
    model = required(values, "model_id", text)
    asked = required(question, "turns", each(text))
    right = optional(question, "reference", each(text), default=())
    for choice in required(values, "choices", each(record)):
        said = required(choice, "turns", each(text))
        index = optional(choice, "index", integer, default=0)
        if len(asked) != len(said):
            options.dropped["turns that have a question or an answer only"] += abs(len(asked) - len(said))
        messages: list[Record] = []
        for position, (user, reply) in enumerate(zip(asked, said, strict=False)):
            references = [one for one in right[position : position + 1] if one.strip()]
            messages.append({"role": "user", "content": user})
            messages.append({"role": "assistant", "content": reply, "references": references})
        native = {
            "id": models.id(values["question_id"], model) + (f"-{index}" if index else ""),
            "agent": model,
            "messages": messages,
            "ratings": marks.take(values["question_id"], model, len(said)) if not index else [],
            "preferences": marks.take_pairs(values["question_id"], model, ids) if not index else [],
            "meta": {
                "question_id": values["question_id"],
                "category": question.get("category"),
                **others(question, QUESTION),
                **others(values, ANSWER),
                **({"choice": more} if (more := others(choice, CHOICE)) else {}),
            },
            **trial_of(values["question_id"], index),
        }
        yield from_record(native, default_id=str(values.get("answer_id")))
