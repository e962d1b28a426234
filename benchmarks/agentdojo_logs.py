"""Logs of AgentDojo's own solutions, as held-out data for the metrics of tool calls (Debenedetti et al. 2024).

    pip install agentdojo==0.1.35      # in an environment of its own: it brings 50 packages
    python benchmarks/agentdojo_logs.py > agentdojo.jsonl

AgentDojo has 97 tasks for four sets of tools (workspace, travel, banking, slack), each with the calls that solve it and
for some the right answer. The calls are executed in AgentDojo's environments, so arguments, results and JSON schemas
are all its own; none of our rules was written while looking at them. The text before the calls is the task's prompt,
the reply after them is the right answer where there is one.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

VERSION = "v1.2.1"


def records() -> Iterator[dict[str, Any]]:
    """A record for each task, in the native format with the schemas of all tools of its set."""
    for name, suite in get_suites(VERSION).items():
        schemas = [
            {
                "type": "function",
                "function": {"name": tool.name, "parameters": tool.parameters.model_json_schema()},
            }
            for tool in suite.tools
        ]
        for number, task in suite.user_tasks.items():
            environment = suite.load_and_inject_default_environment({})
            environment = task.init_environment(environment)
            runtime = FunctionsRuntime(suite.tools)
            messages: list[dict[str, Any]] = [{"role": "user", "content": task.PROMPT}]
            for at, call in enumerate(task.ground_truth(environment.model_copy(deep=True))):
                result, error = runtime.run_function(environment, call.function, call.args)
                function = {"name": call.function, "arguments": json.dumps(dict(call.args), default=str)}
                calls = [{"id": f"c{at}", "type": "function", "function": function}]
                content = f"Error: {error}" if error else tool_result_to_str(result)
                messages.append({"role": "assistant", "content": None, "tool_calls": calls})
                messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": content})
            if task.GROUND_TRUTH_OUTPUT:
                messages.append({"role": "assistant", "content": task.GROUND_TRUTH_OUTPUT})
            yield {"id": f"{name}-{number}", "agent": "solution", "tools": schemas, "messages": messages}


if __name__ == "__main__":
    for record in records():
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
