"""The exact prompts that a judge is sent for items of real logs: tool calls and results, system prompts, an image.

`python -m tests.golden.test_judge_prompts` writes them again; a change of them changes every judge's signature.
"""

import contextlib
import io
from pathlib import Path

import pytest

from turnwise.cli.common.group import run

FOLDER = Path(__file__).parent / "judge_prompts"
FIXTURES = Path(__file__).parents[1] / "fixtures"
TAU2 = "2f4ef373-24b3-47ad-9360-b7a8b3b075dc"
# Name of the golden file -> reader, fixture, judge and item.
CASES = {
    "tau2_reply": ("tau2", "wild/tau2_results.json", "judge[model=m,rubric=grounded]", f"{TAU2}#4"),
    "tau2_dialogue": ("tau2", "wild/tau2_results.json", "judge[model=m,rubric=task-done]", TAU2),
    "tau_bench_reply": ("tau-bench", "wild/tau_bench_v1_airline.json", "judge[model=m,result=300]", "4-0#18"),
    "tau_bench_policy_unseen": (
        "tau-bench", "wild/tau_bench_v1_airline.json", "judge[model=m,system=false,tools=false]", "4-0#18",
    ),
    "inspect_image": ("inspect", "written/inspect_written.json", "judge[model=m]", "s1-1#2"),
    "inspect_schema": ("inspect", "written/inspect_written.json", "judge[model=m,form=schema]", "s1-1#2"),
}  # fmt: skip


def shown(name: str) -> str:
    reader, fixture, judge, item = CASES[name]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(["score", str(FIXTURES / fixture), "--from", reader, "-m", judge, "--show-prompt", item])
    assert code == 0
    return out.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_the_prompt_is_the_one_that_was_written_down(name: str) -> None:
    assert shown(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_what_is_not_shown_is_counted_in_the_prompt() -> None:
    image, hidden = shown("inspect_image"), shown("tau_bench_policy_unseen")
    assert "[an image was shown]" in image
    assert "Not shown to you: 1 image." in image
    assert "Not shown to you: 1 system prompt, 5 tool calls, 5 tool results." in hidden


if __name__ == "__main__":
    for each in CASES:
        (FOLDER / f"{each}.txt").write_text(shown(each), encoding="utf-8")
