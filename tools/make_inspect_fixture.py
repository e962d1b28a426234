"""Write the logs of Inspect AI on which its reader is tested: `python -m tools.make_inspect_fixture FOLDER`.

Inspect AI cannot be installed beside the pinned packages (it needs older releases of fsspec and python-dateutil), so
this script runs in an environment of its own: `pip install inspect-ai`. It runs a small task with Inspect's own
`mockllm`, and writes the log as `.json` and as `.eval`, and what was said to `said.json`.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

REPLIES = ("Lima.", "I do not know.", "4")
CALLING = "I add the numbers."
SYSTEM = "Answer in one word."
LONG = "A long question. " * 40  # longer than the texts that Inspect keeps inside messages


def main(folder: Path) -> None:
    """Run the task once for each form of log and write the files."""
    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessageUser,
        ContentImage,
        ContentText,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, system_message, use_tools
    from inspect_ai.tool import Tool, tool

    @tool
    def add() -> Tool:
        async def execute(x: int, y: int) -> str:
            """Add two numbers.

            Args:
                x: The first number.
                y: The second number.
            """
            return str(x + y)

        return execute

    picture = ContentImage(image="data:image/png;base64,iVBORw0KGgo=")
    asked: list[Any] = [
        "What is the capital of Peru?",
        [ChatMessageUser(content=[ContentText(text="What is this?"), picture])],
        f"{LONG}What is 2 + 2?",
    ]
    samples = [
        Sample(id=f"s{number}", input=one, target=target)
        for number, (one, target) in enumerate(zip(asked, ("Lima", "a cat", "4"), strict=True))
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for form in ("json", "eval"):
        outputs = [
            ModelOutput.from_content("mockllm/model", REPLIES[0]),
            ModelOutput.from_content("mockllm/model", REPLIES[1]),
            ModelOutput.for_tool_call("mockllm/model", "add", {"x": 2, "y": 2}, content=CALLING),
            ModelOutput.from_content("mockllm/model", REPLIES[2]),
        ]
        for one in outputs:  # without a usage Inspect counts tokens with a vocabulary from the network
            one.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        task = Task(
            dataset=samples,
            solver=[system_message(SYSTEM), use_tools(add()), generate()],
            scorer=includes(),
            name="questions",
        )
        (log,) = inspect_ai.eval(
            task,
            model=get_model("mockllm/model", custom_outputs=outputs),
            log_dir=str(folder / "logs"),
            log_format=form,
            max_samples=1,
            display="none",
        )
        made = Path(log.location.removeprefix("file://"))
        made.replace(folder / f"inspect_written.{form}")
    (folder / "logs").rmdir()
    said = [
        [["system", SYSTEM], ["user", asked[0]], ["assistant", REPLIES[0]]],
        [["system", SYSTEM], ["user", "What is this?"], ["assistant", REPLIES[1]]],
        [
            ["system", SYSTEM],
            ["user", asked[2]],
            ["assistant", CALLING],
            ["tool", "4"],
            ["assistant", REPLIES[2]],
        ],
    ]
    about = {"inspect_ai": version("inspect_ai"), "said": said, "scores": [1.0, 0.0, 1.0]}
    (folder / "said.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
