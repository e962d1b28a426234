"""OpenAI's files: chats (`{"messages": [...]}`), batches, stored responses, and threads of the Assistants API.

* Chats are JSON Lines or a JSON list; the first of the `choices` beside the messages, or in `response`, ends the
  dialogue; the others, and what else the response says, are kept in `meta.response`;
* a line of a batch's output has `response.body.choices`, of its input `body.messages`;
* a response (`"object": "response"`) has `input` and `output`, lists of items: messages, calls of functions, results;
  responses that name the one before them (`previous_response_id`) in the same file are one dialogue;
* stored completions are chats with `choices`, one a record or the `data` of a list;
* a thread is a list (`"object": "list"`) of messages (`"object": "thread.message"`), newest first: one dialogue a
  thread.

The native format is a superset of this one, so only other spellings are rewritten: content in parts, the
roles `developer` and `function`, a refusal in place of content; what a rewritten key was is kept beside it.
Messages of threads and items of responses keep their other keys beside them.
Tool calls stay as they are, and so does every key that is not known here.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from turnwise.logs.checks import RuleError, array, each, number, optional, others, record, required, text
from turnwise.logs.dialogue import TEXT_PARTS, from_record, other_entries
from turnwise.logs.readers.messages import as_json, inner, present, text_at, tool_call
from turnwise.logs.readers.sniff import RECORDS, Sample
from turnwise.logs.readers.source import Options, raise_data_error, records
from turnwise.logs.readers.speakers import renamed
from turnwise.types import ROLES as NATIVE_ROLES
from turnwise.types import Dialogue, Role

ROLES = {"developer": "system", "function": "tool"}
# Keys that are kept elsewhere in a dialogue.
ITEMS = ("function_call", "function_call_output", "reasoning")  # items of a response that have no role
BESIDE_A_LIST = "keys of a list of messages (`first_id`, `has_more` and others)"
STORED = ("chat.completion", "response")  # kinds of stored objects
LISTED = frozenset({"object", "data"})
THREAD_MESSAGE = frozenset({"object", "thread_id", "role", "content"})
ITEM = frozenset({"type", "role", "content"})
CALL = frozenset({"type", "name", "arguments", "call_id"})
RESULT = frozenset({"type", "call_id", "output"})


def recognises(sample: Sample) -> bool:
    """Whether the first record is a response, a thread or its message, a chat, or a line of a batch."""
    values = sample.first
    if sample.is_list and _are_items(sample.records):
        return True
    if values.get("object") in (*STORED, "thread.message") or _is_thread(values) or _is_stored(values):
        return True
    for found in (values, values.get("body"), inner(values, "response", "body")):
        said = found.get("messages") if isinstance(found, dict) else None
        if isinstance(said, list) and said and isinstance(said[0], dict) and "role" in said[0]:
            return True
    return isinstance(inner(values, "response", "body", "choices"), list)


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record; messages of threads are gathered, one dialogue a thread, after all others."""
    threads: dict[str, list[dict[str, Any]]] = {}
    responses: list[tuple[dict[str, Any], str]] = []
    options = options or Options()
    stream = records(path)
    ahead = list(islice(stream, RECORDS))
    if _are_items([value for value, _, _ in ahead]):
        with ahead[0][2]():
            items = [record(value) for value, _, _ in chain(ahead, stream)]
            yield dialogue({"object": "response", "input": items, "output": []}, "1", options.roles)
        return
    skip = options.records_to_skip()
    for value, place, located in chain(ahead, stream):
        with located():
            for values, number_ in _each_stored(value, place, options):
                if values.get("object") == "thread.message" or _is_thread(values):
                    _add_to_threads(threads, values, place, options)
                elif values.get("object") == "response":
                    responses.append((values, number_))
                elif skip:
                    skip -= 1
                else:
                    yield dialogue(values, number_, options.roles)
    for linked in _chains(responses):
        if skip:
            skip -= 1
            continue
        try:
            yield _chained(linked, options.roles)
        except RuleError as error:
            raise_data_error(error, f"{path}: response {linked[-1][1]}")
    for identity, several in islice(threads.items(), skip, None):
        try:
            yield _thread(identity, several)
        except RuleError as error:
            raise_data_error(error, f"{path}: thread {identity}")


def _are_items(values: Sequence[Any]) -> bool:
    """Whether records are items of one dialogue, as OpenAI's agents keep it: messages, and calls or reasoning, which
    have no role.
    """
    listed = [value for value in values if isinstance(value, dict)]
    kinds = [value.get("type") for value in listed if "role" not in value]
    return len(listed) == len(values) and bool(kinds) and all(kind in ITEMS for kind in kinds)


def _add_to_threads(
    threads: dict[str, list[dict[str, Any]]], values: dict[str, Any], place: str, options: Options
) -> None:
    """Put a message of a thread, or all of a list of them, to their threads."""
    if _is_thread(values) and (listed := others(values, LISTED)):
        options.dropped[BESIDE_A_LIST] += len(listed)
    for one in values["data"] if _is_thread(values) else [values]:
        threads.setdefault(str(one.get("thread_id") or place), []).append(record(one))


def _chains(responses: list[tuple[dict[str, Any], str]]) -> Iterator[list[tuple[dict[str, Any], str]]]:
    """The responses that no other continues, each after those that it continues, the first one first."""
    known = {values["id"]: (values, place) for values, place in responses if text_at(values, "id")}
    continued = {text_at(values, "previous_response_id") for values, _ in responses}
    for values, place in responses:
        identity = text_at(values, "id")
        if identity is not None and identity in continued:
            continue
        linked, seen = [(values, place)], {identity}
        while (before := known.get(text_at(linked[0][0], "previous_response_id") or "")) is not None:
            if before[0]["id"] in seen:
                break
            seen.add(before[0]["id"])
            linked.insert(0, before)
        yield linked


def _chained(linked: list[tuple[dict[str, Any], str]], roles: Mapping[str, Role]) -> Dialogue:
    """Responses of which each continues the one before as a dialogue, with the keys of the last; what else the others
    say is in `meta.responses`.
    """
    *earlier, (last, place) = linked
    if not earlier:
        return dialogue(last, place, roles)
    before = [_flattened(dict(values)) for values, _ in earlier]
    final = _flattened(dict(last))
    said = list(before[0].pop("messages"))
    for values in (*before[1:], final):
        # Instructions are said anew in each response.
        said += [message for message in values.pop("messages") if message.get("role") != "system"]
    meta = {**optional(final, "meta", record, default={}), "responses": before}
    return dialogue({**final, "object": "chained", "messages": said, "meta": meta}, place, roles)


def _is_stored(values: Any) -> bool:
    """Whether a value is a list of stored completions or of responses."""
    listed = values.get("data") if isinstance(values, dict) else None
    return isinstance(listed, list) and bool(listed) and inner(listed[0], "object") in STORED


def _each_stored(value: Any, place: str, options: Options) -> Iterator[tuple[dict[str, Any], str]]:
    """A record with its place, or each of the stored objects that it lists."""
    values = record(value)
    if not _is_stored(values):
        yield values, place
        return
    if listed := others(values, LISTED):
        options.dropped[BESIDE_A_LIST] += len(listed)
    for number_, stored in enumerate(required(values, "data", each(record)), 1):
        yield stored, f"{place}-{number_}"


def _is_thread(values: Any) -> bool:
    """Whether a value is an object whose `data` is a non-empty list of messages of threads."""
    listed = values.get("data") if isinstance(values, dict) else None
    return (
        isinstance(listed, list)
        and bool(listed)
        and all(isinstance(one, dict) and one.get("object") == "thread.message" for one in listed)
    )


def _thread(identity: str, several: list[dict[str, Any]]) -> Dialogue:
    """A thread as a dialogue, its messages in order of time; the agent is known if there is one assistant."""
    ordered = sorted(several, key=lambda one: optional(one, "created_at", number, default=0.0))
    said = []
    for one in ordered:
        parts = [_thread_part(part) for part in required(one, "content", each(record))]
        only_text = len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["type"] in TEXT_PARTS
        native_content = parts[0]["text"] if only_text else parts
        said.append(
            {"role": one.get("role"), "content": native_content, **other_entries(one, THREAD_MESSAGE)}
        )
    agents = {one["assistant_id"] for one in ordered if text_at(one, "assistant_id")}
    native = {"id": identity, "agent": agents.pop() if len(agents) == 1 else None, "messages": said}
    return from_record(native, default_id=identity)


def _thread_part(part: dict[str, Any]) -> dict[str, Any]:
    """A content part of a thread's message in native form; text is inside `text.value`, or in `text` itself."""
    held = part.get("text")
    if isinstance(held, dict):
        more = {key: one for key, one in others(held, frozenset({"value"})).items() if one != []}
        required(part, "type", text)
        return {**more, **part, "text": required(held, "value", text)}
    kind = required(part, "type", text)
    if kind == "text":
        return {**part, "text": required(part, "text", text)}
    return {**part, "type": "image_url" if kind == "image_file" else kind}


def dialogue(value: Any, default_id: str, roles: Mapping[str, Role] | None = None) -> Dialogue:
    """A chat, a stored response or a line of a batch as a dialogue; without an agent, `model` is the agent.

    `roles` is what --roles gives to role names.
    """
    values = _flattened(dict(record(value)))
    values["messages"] = messages(values, "messages", roles or {})
    if type(values.get("id")) is int:
        values["id"] = str(values["id"])
    if values.get("agent") is None and isinstance(values.get("model"), str):
        values["agent"] = values["model"]
    return from_record(values, default_id=default_id)


def _flattened(values: dict[str, Any]) -> dict[str, Any]:
    """A batch's line or a stored response in the shape of a chat; changes `values`.

    Replies without what was asked raise `RuleError`.
    """
    if values.get("object") == "response":
        given = values.pop("input", [])
        asked = [{"role": "user", "content": given}] if isinstance(given, str) else each(record)(given)
        instructions = values.get("instructions")
        items = [*asked, *required(values, "output", each(record))]
        del values["output"]
        if reasoning := [item for item in items if item.get("type") == "reasoning"]:
            values["reasoning_items"] = reasoning
        said = [one for item in items if (one := _item(item)) is not None]
        if isinstance(instructions, str):
            del values["instructions"]
            said.insert(0, {"role": "system", "content": instructions})
        values["messages"] = said
        return values
    if "messages" not in values and isinstance(values.get("body"), dict):  # a line of a batch's input
        values |= values.pop("body")
    _take_reply(values)
    if "custom_id" in values:
        if "id" in values:
            values["source_id"] = values["id"]
        values["id"] = str(values["custom_id"])
    return values


def _take_reply(values: dict[str, Any]) -> None:
    """Append the first of the `choices`, in `response` or beside the messages, to the messages, and move the rest of
    the response to `meta.response`; nothing happens without choices.
    """
    response = values.get("response")
    body = inner(response, "body")
    answered = next((one for one in (body, response, values) if isinstance(one, dict)), values)
    choices = answered.get("choices")
    if not isinstance(choices, list) or not choices:
        return
    if "messages" not in values:
        raise RuleError(
            "has replies without what was asked; join the batch's output with its input by `custom_id`"
        )
    first = record(choices[0])
    values["messages"] = [*array(values["messages"]), required(first, "message", record)]
    if text_at(answered, "model"):
        values.setdefault("model", answered["model"])
    about = others(first, frozenset({"message"}))
    left: dict[str, Any] = {"choices": [*([about] if about else []), *choices[1:]]}
    if answered is values:
        del values["choices"]
    else:
        del values["response"]
        left = {**answered, **left}
        left = {**response, "body": left} if isinstance(response, dict) and answered is body else left
    values["meta"] = {**optional(values, "meta", record, default={}), "response": left}


def _item(item: dict[str, Any]) -> dict[str, Any] | None:
    """An item of the Responses API as a message; None for reasoning, which is kept beside the messages.

    Calls of built-in tools become tool calls named after the type.
    """
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": item.get("role"), "content": item.get("content"), **other_entries(item, ITEM)}
    if kind == "function_call":
        call = tool_call(required(item, "name", text), item.get("arguments") or {}, text_at(item, "call_id"))
        return {"role": "assistant", "content": None, "tool_calls": [call], **other_entries(item, CALL)}
    if kind == "function_call_output":
        content, identity = as_json(item.get("output")), item.get("call_id")
        return {"role": "tool", "content": content, "tool_call_id": identity, **other_entries(item, RESULT)}
    if kind == "reasoning":
        return None
    call = tool_call(
        str(kind),
        {key: one for key, one in item.items() if key not in ("type", "id", "status")},
        text_at(item, "id"),
    )
    kept = {key: item[key] for key in ("status",) if key in item}
    return {"role": "assistant", "content": None, "tool_calls": [call], **kept}


def messages(values: dict[str, Any], key: str, roles: Mapping[str, Role]) -> list[dict[str, Any]]:
    """The messages under a key in native spelling, with the roles that --roles gives to role names."""
    return list(
        required(values, key, each(lambda one: message(renamed(one, roles, known=(*NATIVE_ROLES, *ROLES)))))
    )


def message(value: Any) -> dict[str, Any]:
    """A message in native spelling: OpenAI's other roles are renamed, a single text part becomes a text, and a
    refusal is the content if there is no other.
    """
    values = dict(record(value))
    role = values.get("role")
    if isinstance(role, str) and role in ROLES:
        values |= {"role": ROLES[role], "source_role": role}
    if isinstance(values.get("content"), dict) and isinstance(values["content"].get("answer"), str):
        answer = values["content"]  # of Arena-hard
        values |= {"content": answer["answer"], **other_entries(answer, frozenset({"answer"}))}
    if isinstance(values.get("content"), list):
        parts = required(values, "content", each(_part))
        only_text = (
            len(parts) == 1
            and parts[0].keys() == {"type", "text"}
            and isinstance(parts[0]["text"], str)
            and parts[0]["type"] in TEXT_PARTS
        )
        values["content"] = parts[0]["text"] if only_text else list(parts)
    elif values.get("content") is None and values.get("refusal") is not None:
        values["content"] = optional(values, "refusal", text, default=None)
    return values


def _part(value: Any) -> dict[str, Any]:
    """A content part in native spelling: plain strings and refusals become parts of text, others stay."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    values = record(value)
    if required(values, "type", text) == "refusal":
        return {"type": "text", "text": required(values, "refusal", text), "source_type": "refusal"}
    return present(values)
