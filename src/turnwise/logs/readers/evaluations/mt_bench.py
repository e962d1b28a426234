"""FastChat's MT-bench: questions, models' answers, and a judge's scores, in files of their own.

    turnwise convert --from mt-bench questions.jsonl answers_a.jsonl answers_b.jsonl judgments.jsonl logs.jsonl

Each answer to a question is one dialogue of its model. A judgment of one turn becomes a rating of that reply on the
dimension `score`, 1 to 10, whose rater is the judge; a judgment that failed (-1) is counted as not kept, and one of
a pair of models, which has no `score`, is an error. Models of answers and judgments are matched by the last part of
their names.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.errors import DataError, Problem, UsageError
from turnwise.logs.checks import RuleError, each, integer, number, optional, record, required, text
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers.messages import rating
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, begun, decoded, refuse
from turnwise.types import Dialogue

FAILED = -1  # the score of a judgment that could not be read
Record = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether a JSON Lines file has questions, answers or judgments, by the keys of its first record."""
    return sample.form == "jsonl" and (
        sample.has("question_id", "turns")
        or sample.has("question_id", "choices", "model_id")
        or sample.has("question_id", "model", "judge", "score")
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a choice of each answer, from `path` and `options.more`, whose order does not matter; missing
    questions or answers raise `UsageError`, and a record without a question id `DataError`.
    """
    options = options or Options()
    questions: dict[Any, Record] = {}
    answers: list[tuple[str, int, Record]] = []
    judged: list[tuple[str, int, Record]] = []
    for file in (path, *options.more):
        for line, values in _records(file):
            if not isinstance(values.get("question_id"), str | int):
                raise DataError(
                    Problem(file, line, "$.question_id", "is missing; expected a number or a text")
                )
            if "choices" in values:
                answers.append((file, line, values))
            elif "judge" in values:
                judged.append((file, line, values))
            elif "turns" in values:
                questions[values.get("question_id")] = values
            else:
                raise DataError(Problem(file, line, "", "is no question, answer or judgment of MT-bench"))
    if not questions or not answers:
        missing = "the questions" if answers else "the models' answers"
        raise UsageError(f"{path}: {missing} are missing; give questions, answers and judgments: "
                         "turnwise convert --from mt-bench QUESTIONS ANSWERS... [JUDGMENTS] OUT")  # fmt: skip
    marks = _Judgments(judged, options)
    for file, line, values in answers:
        try:
            yield from _dialogues(values, questions, marks)
        except RuleError as error:
            refuse(error, file, line)
    if marks.unused:
        options.dropped["judgments of answers that are not here"] += marks.unused


def _records(file: str) -> Iterator[tuple[int, Record]]:
    """The line numbers and objects of a JSON Lines file."""
    for number_, line in begun(file)[1]:
        try:
            yield number_, record(decoded(line))
        except RuleError as error:
            refuse(error, file, number_)


class _Judgments:
    """Ratings by question, model and turn (from 1); judgments that failed are counted as dropped."""

    def __init__(self, judged: list[tuple[str, int, Record]], options: Options) -> None:
        self.found: dict[tuple[Any, str, int], list[Record]] = {}
        self.used: set[tuple[Any, str, int]] = set()
        for file, line, values in judged:
            try:
                score = required(values, "score", number)
                if score == FAILED:
                    options.dropped["judgments that failed (score -1)"] += 1
                    continue
                judge = values["judge"]
                rater = str(judge[0]) if isinstance(judge, list) and judge else str(judge)
                turn = required(values, "turn", integer)
                key = (values.get("question_id"), _short(required(values, "model", text)), turn)
                reason = values.get("judgment")
                mark = rating("score", score, rater=rater, scale=(1, 10), turn=2 * turn - 1, reason=reason)
                self.found.setdefault(key, []).append(mark)
            except RuleError as error:
                refuse(error, file, line)

    def take(self, question: Any, model: str, turns: int) -> list[Record]:
        """The ratings of a model's answer to a question at its first `turns` turns, which count as used from now on."""
        keys = [(question, _short(model), turn) for turn in range(1, turns + 1)]
        self.used.update(keys)
        return [mark for key in keys for mark in self.found.get(key, ())]

    @property
    def unused(self) -> int:
        """How many ratings no answer took."""
        return sum(len(marks) for key, marks in self.found.items() if key not in self.used)


def _short(model: str) -> str:
    """The model's name after the last `/`."""
    return model.rsplit("/", 1)[-1]


def _dialogues(values: Record, questions: dict[Any, Record], marks: _Judgments) -> Iterator[Dialogue]:
    """One dialogue a choice of an answer; only the choice with index 0 has the ratings.

    An unknown question raises `RuleError`.
    """
    question = questions.get(values.get("question_id"))
    if question is None:
        raise RuleError(f"names question {values.get('question_id')}, which is not among the questions")
    model = required(values, "model_id", text)
    asked = required(question, "turns", each(text))
    for choice in required(values, "choices", each(record)):
        said = required(choice, "turns", each(text))
        index = optional(choice, "index", integer, default=0)
        messages = [
            {"role": role, "content": content}
            for user, reply in zip(asked, said, strict=False)
            for role, content in (("user", user), ("assistant", reply))
        ]
        native = {
            "id": f"{values['question_id']}-{_short(model)}" + (f"-{index}" if index else ""),
            "agent": model,
            "messages": messages,
            "ratings": marks.take(values["question_id"], model, len(said)) if not index else [],
            "meta": {"question_id": values["question_id"], "category": question.get("category")},
        }
        yield from_record(native, default_id=str(values.get("answer_id")))
