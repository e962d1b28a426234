"""A language model as a policy: samples replies, and computes their log probabilities with a gradient."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from turnwise.agents.language_model import LanguageModelAgent
from turnwise.agents.sampling import sample_tokens
from turnwise.attacks.context import Context


@dataclass(frozen=True, slots=True)
class SampledReplies:
    """Sampled replies of a batch, as stripped texts and as tokens with the end-of-text token, padded with -1."""

    texts: list[str]
    tokens: Tensor  # (b, longest)


@dataclass(frozen=True, slots=True)
class ReplyEvaluation:
    """Log probability, entropy and expected score of replies under the policy, in 32-bit precision."""

    log_prob: Tensor  # (b,) of the whole reply
    per_token: Tensor  # (b, longest) log probability of each token, 0 for padding
    entropy: Tensor  # (b,) mean over the tokens
    value: Tensor  # (b,) expected score in this context: the value head
    length: Tensor  # (b,) number of tokens
    divergence: Tensor | None = None  # (b, longest) KL(policy || reference) of each token, 0 for padding


class Policy(nn.Module):
    """A language model with a value head, initially 0, on its hidden state at the last token of the context.

    The model is causal or an encoder-decoder, whose encoder's state is used.
    """

    def __init__(self, agent: LanguageModelAgent) -> None:
        super().__init__()
        self.agent = agent
        self.model = agent.model.float()
        size = agent.config.hidden_size if hasattr(agent.config, "hidden_size") else agent.config.d_model
        self.head = nn.Linear(size, 1).to(agent.device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model is an encoder-decoder, by its configuration; otherwise it is causal."""
        return bool(getattr(self.agent.config, "is_encoder_decoder", False))

    @property
    def end_tokens(self) -> Tensor:
        """Sorted ids of the tokens that end a reply, stated by the tokeniser or the model's configuration."""
        stated = [self.agent.tokenizer.eos_token_id, getattr(self.agent.config, "eos_token_id", None)]
        flat = [one for value in stated for one in (value if isinstance(value, list) else [value])]
        return torch.tensor(sorted({one for one in flat if one is not None}), device=self.agent.device)

    @torch.no_grad()
    def sample_replies(
        self,
        contexts: Sequence[Context],
        generator: torch.Generator,
        *,
        temperature: float = 1.0,
        beginnings: Tensor | None = None,
    ) -> SampledReplies:
        """Sample one reply of at most `agent.longest` tokens for each context; greedy at temperature 0.

        `beginnings` (b, t) are tokens that the replies begin with, padded with -1. A reply of a causal model without a
        chat template is cut after the first line.
        """
        self.eval()
        context_tokens, mask = self._context_tokens(contexts)
        longest = self.agent.longest
        tokens = torch.full((len(contexts), longest), -1, device=context_tokens.device)
        finished = torch.zeros(len(contexts), dtype=torch.bool, device=context_tokens.device)
        step = self.agent.steps(context_tokens, mask)
        logits = next(step)
        for index in range(longest):
            uniform = torch.rand(len(contexts), generator=generator, dtype=torch.float64)
            next_tokens = sample_tokens(logits.float(), uniform.to(logits.device), temperature=temperature)
            if beginnings is not None and index < beginnings.shape[1]:
                given = beginnings[:, index]
                next_tokens = torch.where(given >= 0, given, next_tokens)
            tokens[:, index] = torch.where(finished, -1, next_tokens)
            finished = finished | torch.isin(next_tokens, self.end_tokens)
            if bool(finished.all()):
                break
            logits = step.send(next_tokens.unsqueeze(1))
        tokens = self._cut_after_first_line(tokens)
        return SampledReplies([self._text(row) for row in tokens.tolist()], tokens)

    def encode_replies(self, replies: Sequence[str]) -> Tensor:
        """Tokens (b, width) of given replies with the end-of-text token, cut to `agent.longest`, padded with -1."""
        end = self.agent.tokenizer.eos_token_id
        rows = [
            [*self.agent.tokenizer(text, add_special_tokens=False)["input_ids"], end][: self.agent.longest]
            for text in replies
        ]
        width = max(map(len, rows))
        return torch.tensor([row + [-1] * (width - len(row)) for row in rows], device=self.agent.device)

    def evaluate(
        self, contexts: Sequence[Context], tokens: Tensor, reference: nn.Module | None = None
    ) -> ReplyEvaluation:
        """Evaluate replies, given as tokens padded with -1, in their contexts; the results have a gradient.

        With a reference model, the divergence of each token's distribution from the reference's is computed too.
        """
        logits, state = self._logits_and_state(self.model, contexts, tokens)
        log_probs = torch.log_softmax(logits, dim=-1)
        is_token = tokens >= 0
        per_token = log_probs.gather(2, tokens.clamp(min=0).unsqueeze(2)).squeeze(2) * is_token
        entropy = -(log_probs.exp() * log_probs).sum(dim=-1) * is_token
        length = is_token.sum(dim=1).clamp(min=1)
        value = self.head(state.detach()).squeeze(1)  # detached: the value loss must not train the policy
        divergence = None
        if reference is not None:
            with torch.no_grad():
                before = torch.log_softmax(self._logits_and_state(reference, contexts, tokens)[0], dim=-1)
            divergence = (log_probs.exp() * (log_probs - before)).sum(dim=-1) * is_token
        return ReplyEvaluation(
            per_token.sum(dim=1), per_token, entropy.sum(dim=1) / length, value, length, divergence
        )

    def _logits_and_state(
        self, model: nn.Module, contexts: Sequence[Context], tokens: Tensor
    ) -> tuple[Tensor, Tensor]:
        """A model's logits (b, longest, vocabulary) of the replies' tokens, and its hidden state (b, d) of the context.

        Both are in 32-bit precision.
        """
        context_tokens, mask = self._context_tokens(contexts)
        reply_tokens = tokens.clamp(min=0)
        if self.is_encoder_decoder:
            start = torch.full_like(reply_tokens[:, :1], self.agent.config.decoder_start_token_id or 0)
            out = model(
                input_ids=context_tokens,
                attention_mask=mask,
                decoder_input_ids=torch.cat([start, reply_tokens[:, :-1]], dim=1),
                output_hidden_states=True,
            )
            final = mask.sum(dim=1) - 1
            state = out.encoder_last_hidden_state[torch.arange(len(final), device=final.device), final]
            return out.logits.float(), state.float()
        context_and_reply = torch.cat([context_tokens, reply_tokens], dim=1)
        mask = torch.cat([mask, (tokens >= 0).long()], dim=1)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        # Logits of the context are not needed and would fill the GPU's memory.
        out = model(
            input_ids=context_and_reply, attention_mask=mask, position_ids=positions, output_hidden_states=True,
            logits_to_keep=reply_tokens.shape[1] + 1,
        )  # fmt: skip
        return out.logits[:, :-1].float(), out.hidden_states[-1][:, context_tokens.shape[1] - 1].float()

    def _context_tokens(self, contexts: Sequence[Context]) -> tuple[Tensor, Tensor]:
        """Tokens of the contexts (b, width) as the agent's prompt writes them, and their attention mask."""
        return self.agent.padded([self.agent.read(context.turns) for context in contexts])

    def _cut_after_first_line(self, tokens: Tensor) -> Tensor:
        """Put -1 after the first line of each reply, in place, because the model would continue as the user.

        Return `tokens`. Tokens of encoder-decoders and of models with a chat template are not changed.
        """
        if self.is_encoder_decoder or self.agent.prompt.form == "chat":
            return tokens
        for row in tokens:
            for index in range(len(row)):
                if row[index] >= 0 and "\n" in self._raw(row[: index + 1].tolist()).lstrip():
                    row[index + 1 :] = -1
                    break
        return tokens

    def _raw(self, tokens: list[int]) -> str:
        """The decoded text with special tokens; -1 is skipped."""
        return str(self.agent.tokenizer.decode([token for token in tokens if token >= 0]))

    def _text(self, tokens: list[int]) -> str:
        """The decoded text without special tokens, stripped; -1 is skipped."""
        known = [token for token in tokens if token >= 0]
        return str(self.agent.tokenizer.decode(known, skip_special_tokens=True)).strip()
