"""A language model as a policy: replies drawn from it, and how likely it finds them, with a gradient."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from turnwise.agents.language_model import LanguageModelAgent
from turnwise.agents.sampling import sample_tokens
from turnwise.attacks.context import Context


@dataclass(frozen=True, slots=True)
class Drawn:
    """Replies of a batch, as tokens with the end of text, padded with -1."""

    texts: list[str]
    tokens: Tensor  # (b, longest)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the policy thinks of replies, in full precision."""

    log_prob: Tensor  # (b,) of the whole reply
    per_token: Tensor  # (b, longest), 0 where there is no token
    entropy: Tensor  # (b,) mean over its tokens
    value: Tensor  # (b,) the score it expects in this context
    length: Tensor  # (b,) tokens


class Policy(nn.Module):
    """A causal or encoder-decoder model with a value head on its last state of the context."""

    def __init__(self, agent: LanguageModelAgent) -> None:
        super().__init__()
        self.agent = agent
        self.model = agent.model.float()
        size = agent.config.hidden_size if hasattr(agent.config, "hidden_size") else agent.config.d_model
        self.head = nn.Linear(size, 1).to(agent.device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @property
    def two_parts(self) -> bool:
        return bool(getattr(self.agent.config, "is_encoder_decoder", False))

    @property
    def ends(self) -> Tensor:
        """Tokens that end a reply."""
        stated = [self.agent.tokenizer.eos_token_id, getattr(self.agent.config, "eos_token_id", None)]
        flat = [one for value in stated for one in (value if isinstance(value, list) else [value])]
        return torch.tensor(sorted({one for one in flat if one is not None}), device=self.agent.device)

    @torch.no_grad()
    def draw(
        self, contexts: Sequence[Context], generator: torch.Generator, *, temperature: float = 1.0
    ) -> Drawn:
        """One reply a context, word by word."""
        self.eval()
        read, there = self._read(contexts)
        longest = self.agent.longest
        tokens = torch.full((len(contexts), longest), -1, device=read.device)
        over = torch.zeros(len(contexts), dtype=torch.bool, device=read.device)
        step = self.agent.steps(read, there)
        logits = next(step)
        for place in range(longest):
            uniform = torch.rand(len(contexts), generator=generator, dtype=torch.float64)
            words = sample_tokens(logits.float(), uniform.to(logits.device), temperature=temperature)
            tokens[:, place] = torch.where(over, -1, words)
            over = over | torch.isin(words, self.ends)
            if bool(over.all()):
                break
            logits = step.send(words.unsqueeze(1))
        tokens = self._first_lines(tokens)
        return Drawn([self._text(row) for row in tokens.tolist()], tokens)

    def encoded(self, replies: Sequence[str]) -> Tensor:
        """Given replies as `Drawn.tokens`: people's, whose likelihood is the policy's language loss."""
        end = self.agent.tokenizer.eos_token_id
        rows = [
            [*self.agent.tokenizer(text, add_special_tokens=False)["input_ids"], end][: self.agent.longest]
            for text in replies
        ]
        width = max(map(len, rows))
        return torch.tensor([row + [-1] * (width - len(row)) for row in rows], device=self.agent.device)

    def judge(self, contexts: Sequence[Context], tokens: Tensor) -> Judgement:
        read, there = self._read(contexts)
        given = tokens.clamp(min=0)
        spoken = tokens >= 0
        if self.two_parts:
            start = torch.full_like(given[:, :1], self.model.config.decoder_start_token_id or 0)
            out = self.model(
                input_ids=read,
                attention_mask=there,
                decoder_input_ids=torch.cat([start, given[:, :-1]], dim=1),
                output_hidden_states=True,
            )
            final = there.sum(dim=1) - 1
            logits = out.logits
            state = out.encoder_last_hidden_state[torch.arange(len(final), device=final.device), final]
        else:
            whole = torch.cat([read, given], dim=1)
            mask = torch.cat([there, spoken.long()], dim=1)
            places = (mask.cumsum(dim=1) - 1).clamp(min=0)
            width = read.shape[1]
            # A logit for each word of the vocabulary at each place of the context would fill a GPU, for nothing.
            out = self.model(
                input_ids=whole, attention_mask=mask, position_ids=places, output_hidden_states=True,
                logits_to_keep=given.shape[1] + 1,
            )  # fmt: skip
            logits, state = out.logits[:, :-1], out.hidden_states[-1][:, width - 1]
        return self._judged(logits.float(), state.float(), given, spoken)

    def _judged(self, logits: Tensor, state: Tensor, given: Tensor, spoken: Tensor) -> Judgement:
        log_probs = torch.log_softmax(logits, dim=-1)
        per_token = log_probs.gather(2, given.unsqueeze(2)).squeeze(2) * spoken
        entropy = -(log_probs.exp() * log_probs).sum(dim=-1) * spoken
        length = spoken.sum(dim=1).clamp(min=1)
        value = self.head(state.detach()).squeeze(1)  # the baseline is fitted and does not shape the policy
        return Judgement(per_token.sum(dim=1), per_token, entropy.sum(dim=1) / length, value, length)

    def _read(self, contexts: Sequence[Context]) -> tuple[Tensor, Tensor]:
        """(b, width) tokens of the contexts, and which of them are there."""
        return self.agent.padded([self.agent.read(context.turns) for context in contexts])

    def _first_lines(self, tokens: Tensor) -> Tensor:
        """What follows a line's end is cut off where the model has no chat template: it would speak for the user."""
        if self.two_parts or self.agent.prompt.form == "chat":
            return tokens
        for row in tokens:
            for place in range(len(row)):
                if row[place] >= 0 and "\n" in self._raw(row[: place + 1].tolist()).lstrip():
                    row[place + 1 :] = -1
                    break
        return tokens

    def _raw(self, tokens: list[int]) -> str:
        return str(self.agent.tokenizer.decode([token for token in tokens if token >= 0]))

    def _text(self, tokens: list[int]) -> str:
        known = [token for token in tokens if token >= 0]
        return str(self.agent.tokenizer.decode(known, skip_special_tokens=True)).strip()
