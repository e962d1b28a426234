"""LangSmith's exports of runs: JSON, or JSON Lines, with `run_type`, `inputs` and `outputs`.

Runs of type `llm` are model calls; a root run of another type is one where the file has no `llm` run of its trace.
Calls of one thread (`session_id` or `thread_id` in the metadata), else of one trace, are joined to dialogues
(`exchanges.py`). Messages are read in LangChain's and in OpenAI's spelling. Feedback with a number becomes a rating
of the run's reply, any other is counted. Other keys of a run are kept beside its reply, in `call`.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import RuleError, each, optional, others, record
from turnwise.logs.readers.messages import FURTHER, beside_rating, present, rating, text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, raise_data_error, records
from turnwise.logs.readers.traces.exchanges import Call, dialogues, seconds, split_repeated
from turnwise.logs.readers.traces.logged import messages
from turnwise.types import LARGEST, Dialogue

# Keys that are kept elsewhere in a dialogue.
RUN = frozenset({"id", "name", "inputs", "outputs", "feedback_stats", "feedback"})
EVALUATORS = frozenset({"model", "auto_eval"})  # sources of feedback by a program; others are "app" and "api"
FEEDBACK = frozenset({"key", "score", "comment"})
THREADS = ("session_id", "thread_id", "conversation_id")


def recognises(sample: Sample) -> bool:
    """Whether the first record has `run_type` and `inputs`."""
    return sample.has("run_type", "inputs")


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of all model calls in the file, which are held in memory to be joined; other runs are
    counted as dropped.
    """
    options = options or Options()
    runs: list[dict[str, Any]] = []
    calls: list[Call] = []
    places = []
    for value, place, located in records(path):
        with located():
            runs.append(record(value))
            places.append((place, located))
    with_model = {_trace(one) for one in runs if one.get("run_type") == "llm"}
    for one, (place, located) in zip(runs, places, strict=True):
        root = not one.get("parent_run_id")
        if one.get("run_type") == "llm" or (root and _trace(one) not in with_model):
            with located():
                calls.append(_call(one, place, options))
        else:
            options.dropped["runs that are no model call"] += 1
    try:
        yield from dialogues(calls, options)
    except RuleError as error:
        raise_data_error(error, path)


def _trace(values: dict[str, Any]) -> str:
    """The id of the run's trace, else of the run, as text; the text "None" if it has neither."""
    return str(values.get("trace_id") or values.get("id"))


def _call(values: dict[str, Any], place: str, options: Options) -> Call:
    """A run as a call. All messages of the output are kept, without those of the input if it repeats them.

    Of several candidates of one reply (`generations`, `choices`) the first is kept, and the others are counted as
    dropped.
    """
    sent = messages(values.get("inputs"), role="user", notes=options.notes)
    returned = messages(values.get("outputs"), role="assistant", notes=options.notes)
    held = values.get("outputs")
    if isinstance(held, dict) and any(isinstance(held.get(key), list) for key in ("generations", "choices")):
        if len(returned) > 1:
            options.dropped[FURTHER] += len(returned) - 1
        returned = returned[:1]
    sent, returned = split_repeated(sent, returned)
    about = optional(optional(values, "extra", record, default={}), "metadata", record, default={})
    group = next(
        (str(about[key]) for key in THREADS if about.get(key)),
        _trace(values) if _trace(values) != "None" else place,
    )
    # The session of a run is its project; that of one on an example of a dataset is an experiment.
    experiment = text_at(values, "session_name") if values.get("reference_example_id") else None
    model = text_at(about, "ls_model_name") or text_at(values, "extra", "invocation_params", "model")
    return Call(
        group,
        seconds(values.get("start_time")),
        sent,
        returned,
        model,
        experiment,
        list(_ratings(values, options)),
        present({"name": values.get("name"), "run": values.get("id"), "experiment": experiment}),
        others(values, RUN),
    )


def _ratings(values: dict[str, Any], options: Options) -> Iterator[dict[str, Any]]:
    """Mean scores (`feedback_stats`) and single scores (`feedback`) of a run in native form; those without a
    number are counted as dropped, and values of another form raise `RuleError`.
    """
    for key, about in optional(values, "feedback_stats", record, default={}).items():
        average = about.get("avg") if isinstance(about, dict) else None
        if isinstance(average, int | float) and not isinstance(average, bool):
            rater = "mean" if about.get("n", 1) != 1 else None
            yield rating(key, average, rater=rater, **beside_rating(about, frozenset({"avg"})))
        else:
            options.dropped["feedback that is no number"] += 1
    for one in optional(values, "feedback", each(record), default=()):
        score = one.get("score")
        if isinstance(score, int | float):
            source = text_at(one, "feedback_source", "type")
            more = {**beside_rating(one, FEEDBACK), "comment": one.get("comment")}
            if source in EVALUATORS:
                more["automatic"] = True
            yield rating(
                str(one.get("key")),
                float(score) if abs(score) <= LARGEST else score,  # the checker names what is too large
                rater=source,
                **more,
            )
        else:
            options.dropped["feedback that is no number"] += 1
