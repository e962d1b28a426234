"""A Python function as a judge of replies."""

from typing import Any

from turnwise.settings.option import Function


def judge(function: Function, **settings: Any) -> str:
    """The name of a judge that asks a function: `metrics=[judge(ask, rubric="grounded")]`.

    Parameters:
        function: Gets the messages of a question, a list of `{"role", "content"}`, and returns the answer as text; it
            may be async.
        settings: Settings of the metric `judge`, such as `rubric`, `dimension` or `scale`.
    """
    from turnwise.session_functions import named

    written = {"address": named(function), **settings}
    return f"judge[{','.join(f'{key}={_written(value)}' for key, value in written.items())}]"


def _written(value: Any) -> str:
    """A setting as it stands in the brackets of a metric's name."""
    return str(value).lower() if isinstance(value, bool) else str(value)
