"""The prompt of a language model: a dialogue up to the words that it predicts.

chat     the model's own chat template, cut where the speaker's words begin: the role mark belongs to the context. So a
         follow-up by the user is scored as the user's, and an empty context still has the opening of a turn.
plain    the beginning-of-text token if the model has one, then one line a turn.
"""

from dataclasses import dataclass
from typing import Any, Literal

from jinja2 import TemplateError

from turnwise.encode.encoder import TextInContext
from turnwise.errors import DataError, UsageError

Form = Literal["auto", "chat", "plain"]
_MARK = "\N{OBJECT REPLACEMENT CHARACTER}words\N{OBJECT REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """How texts in their contexts become tokens, by the chat template or as plain lines."""

    tokenizer: Any
    form: Literal["chat", "plain"]

    @classmethod
    def of(cls, tokenizer: Any, form: Form) -> "Prompt":
        """The prompt for this tokenizer; `auto` is `chat` if it has a template.

        `chat` without one is a `UsageError`.
        """
        has_template = bool(tokenizer.chat_template)
        if form == "chat" and not has_template:
            raise UsageError("this model has no chat template: choose the form `plain`")
        return cls(tokenizer, "chat" if has_template and form != "plain" else "plain")

    def encode(self, one: TextInContext) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The token ids of the context (never empty) and of the text."""
        before = self._chat(one) if self.form == "chat" else self._plain(one)
        context = tuple(self.tokenizer(before, add_special_tokens=False)["input_ids"])
        text = tuple(self.tokenizer(one.text, add_special_tokens=False)["input_ids"])
        return context or (self._first,), text

    def _chat(self, one: TextInContext) -> str:
        """The chat template up to the words of the text; a `DataError` if it refuses or drops the turns."""
        messages = [{"role": turn.role, "content": turn.text} for turn in one.context]
        messages.append({"role": one.role, "content": _MARK})
        try:
            rendered = self.tokenizer.apply_chat_template(messages, tokenize=False)
        except TemplateError as error:
            raise DataError(  # concerns this dialogue only
                f"the model's chat template refuses this dialogue ({error}): choose the form `plain`"
            ) from error
        before, found, _ = rendered.rpartition(_MARK)
        if not found:
            raise DataError(f"the model's chat template drops turns of `{one.role}`: choose the form `plain`")
        return str(before)

    def _plain(self, one: TextInContext) -> str:
        """The beginning-of-text token, if any, and the context, one line a turn."""
        begin = self.tokenizer.bos_token or ""
        return begin + "".join(f"{turn.text}\n" for turn in one.context)

    @property
    def _first(self) -> int:
        """The end-of-text token, as an empty context of a model without a beginning-of-text token.

        Raises `UsageError` if the model has none either.
        """
        token = self.tokenizer.eos_token_id
        if token is None:
            raise UsageError(
                "this model has neither a beginning- nor an end-of-text token: give it a context"
            )
        return int(token)
