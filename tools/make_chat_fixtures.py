"""Write chats of agent frameworks and Anthropic's SDK, on which their readers are tested: `python -m
tools.make_chat_fixtures FOLDER`.

The packages need other releases than ours, so this runs in an environment of its own: `pip install livekit-agents
pipecat-ai anthropic langchain-core pydantic-ai-slim llama-index-core openai-agents`. Anthropic's SDK asks a local
server, which answers with thinking blocks as the API does.
`tools/make_vercel_fixture.mjs` does the same for Vercel's AI SDK.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SYSTEM, QUESTION = "You book tables.", "A table for two tonight, please."
REPLY = "Table 7 is free at seven."


def main(folder: Path) -> None:
    """Write one file for each tool."""
    _write(folder / "livekit_history.json", _livekit())
    _write(folder / "pipecat_context.json", _pipecat())
    _write(folder / "anthropic_thinking.json", _anthropic())
    for name, value in _langchain().items():
        _write(folder / f"{name}.json", value)
    (folder / "pydantic_ai.json").write_bytes(_pydantic_ai())
    _write(folder / "llama_index.json", _llama_index())
    _write(folder / "openai_agents.json", _openai_agents())


def _write(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _livekit() -> Any:
    """The history of a session with a call and an interrupted reply."""
    from livekit.agents.llm import ChatContext, FunctionCall, FunctionCallOutput

    history = ChatContext.empty()
    history.add_message(role="system", content=SYSTEM)
    history.add_message(role="user", content=QUESTION)
    arguments = '{"people": 2, "time": "19:00"}'
    history.items.append(FunctionCall(call_id="call_1", name="find_table", arguments=arguments))
    output = FunctionCallOutput(call_id="call_1", name="find_table", output='{"table": 7}', is_error=False)
    history.items.append(output)
    history.add_message(role="assistant", content=f"{REPLY} Shall I", interrupted=True)
    history.add_message(role="user", content="Yes, book it.")
    history.add_message(role="assistant", content="Done.")
    return history.to_dict(exclude_timestamp=False)


def _pipecat() -> Any:
    """The messages of a context with a call."""
    from pipecat.processors.aggregators.llm_context import LLMContext

    call = {"name": "find_table", "arguments": '{"people": 2}'}
    context = LLMContext([{"role": "system", "content": SYSTEM}])
    for message in (
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "function": call, "type": "function"}],
        },
        {"role": "tool", "content": '{"table": 7}', "tool_call_id": "call_1"},
        {"role": "assistant", "content": REPLY},
    ):
        context.add_message(message)
    return context.get_messages()


def _langchain() -> dict[str, Any]:
    """Messages of LangChain in its two written forms."""
    from langchain_core.load import dumpd
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict

    call = {"name": "find_table", "args": {"people": 2}, "id": "call_1"}
    result = ToolMessage('{"table": 7}', tool_call_id="call_1", name="find_table")
    said = [
        SystemMessage(SYSTEM),
        HumanMessage(QUESTION),
        AIMessage("", tool_calls=[call]),
        result,
        AIMessage(REPLY),
    ]
    return {
        "langchain_messages": messages_to_dict(said),
        "langchain_dumpd": [dumpd(message) for message in said],
    }


def _pydantic_ai() -> bytes:
    """Requests and responses of Pydantic AI."""
    from pydantic_ai import messages as parts

    asked = [parts.SystemPromptPart(SYSTEM), parts.UserPromptPart(QUESTION)]
    call = parts.ToolCallPart("find_table", {"people": 2}, "call_1")
    exchanges = [
        parts.ModelRequest(parts=asked),
        parts.ModelResponse(parts=[call], model_name="m1"),
        parts.ModelRequest(parts=[parts.ToolReturnPart("find_table", {"table": 7}, "call_1")]),
        parts.ModelResponse(parts=[parts.TextPart(REPLY)], model_name="m1"),
    ]
    return bytes(parts.ModelMessagesTypeAdapter.dump_json(exchanges))


def _llama_index() -> Any:
    """Messages of LlamaIndex."""
    from llama_index.core.llms import ChatMessage

    said = [ChatMessage(role="user", content=QUESTION), ChatMessage(role="assistant", content=REPLY)]
    return [message.model_dump(mode="json") for message in said]


def _openai_agents() -> Any:
    """The input list of a finished run of OpenAI's agents, which a program keeps to go on with it."""
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    def find_table(people: int) -> str:
        """A free table for this many people."""
        return '{"table": 7}'

    class Scripted(Model):
        """Calls the tool, then replies."""

        calls = 0

        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            self.calls += 1
            call = ResponseFunctionToolCall(
                arguments='{"people": 2}',
                call_id="call_1",
                name="find_table",
                type="function_call",
                id="fc_1",
            )
            text = ResponseOutputText(annotations=[], text=REPLY, type="output_text")
            message = ResponseOutputMessage(
                id="msg_1", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(
                output=[call if self.calls == 1 else message], usage=Usage(), response_id=None
            )

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="tables", instructions=SYSTEM, model=Scripted(), tools=[function_tool(find_table)])
    return Runner.run_sync(agent, QUESTION).to_input_list()


class _Server(BaseHTTPRequestHandler):
    """Answers each request for a message with thinking, redacted thinking and a text."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Answer one request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        content = [
            {"type": "thinking", "thinking": "They want a table.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": REPLY},
        ]
        message = {
            "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 7}, "content": content,
        }  # fmt: skip
        body = json.dumps(message).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _anthropic() -> Any:
    """A dialogue of two replies with thinking blocks, as a program keeps it to send it again."""
    import anthropic

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}")
    messages: list[Any] = []
    for said in (QUESTION, "Book it."):
        messages.append({"role": "user", "content": said})
        thinking = {"type": "enabled", "budget_tokens": 1024}
        reply = client.messages.create(
            model="claude-x", max_tokens=2000, thinking=thinking, system=SYSTEM, messages=messages
        )
        content = [block.model_dump(mode="json") for block in reply.content]
        messages.append({"role": "assistant", "content": content})
    return {"model": "claude-x", "system": SYSTEM, "messages": messages}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
