"""The probing paper's Tables 2 and 4 by reinforcement learning, with many policies at a time on one GPU.

    python -m papers.probing_gpu prepare DATA HERE                 contexts, and the small files of the models
    python -m papers.probing_gpu models HERE CACHE                 over there: the models' folders, from carried weights
    python -m papers.probing_gpu train HERE NAME=METRIC -o OUT     policies against a metric on all corpora;
                                                                   NAME@CORPUS=METRIC: on one, for a process of its own
    python -m papers.probing_gpu keep OUT...                       papers/probing_rl.json from what came back
    python -m papers.probing_gpu transfer HERE FILE METRIC...      the same replies by other metrics
    python -m papers.probing_gpu show                              the tables of papers/probing.md

papers/probing_gpu.sh calls `models` and one `train` for each metric. One process trains the policies of one metric: a
policy for each corpus and repetition, all in one batch (papers/policies.py). The metric is the one of the package, on
the same GPU. An update samples several replies to each of a few contexts; a reply's advantage is its score minus the
mean of the other replies to the same context, which estimates V(c) without a bias. The loss has an entropy bonus.
Every few updates the policies reply greedily in contexts for validation. A policy ends when its mean score there has
not risen for some checks; the best by validation replies in the contexts of the paper's table, which the search of
`python -m papers.probing table` is judged on, too. A process that is started again continues from its checkpoint.
"""

import argparse
import json
import lzma
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_name("probing_rl.json")
TRANSFER = RESULTS.with_name("probing_transfer.json")
TRAINED, VALIDATION, JUDGED = 296, 64, 100  # contexts of a corpus
CONTEXT, LONGEST = 96, 24  # tokens of contexts and of replies
BATCH = 96  # replies whose likelihoods are computed together
RISE = 0.01  # of the spread of people's scores, that a reward has to rise by to count as risen
FLOOR = -3.0  # reward of a reply without a score, in standard deviations of people's scores
TRACKED_LOSS = 16  # contexts on whose human replies the language model's loss is measured
SMALL = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt",
         "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json",
         "generation_config.json", "chat_template.jinja", "turnwise.json")  # fmt: skip
# The paper's Table 2, people, and Table 4, reward and final strategy: dailydialog, personachat, empathetic.
THEIRS = {
    "usr-ret-random": ("0.928 / 0.99, parrot", "0.927 / 1.00, fixed", "0.891 / 1.00, parrot"),
    "usr-mlm": ("0.409 / 0.52, fixed", "0.267 / 0.84, fixed", "0.384 / 0.77, fixed"),
    "usr-full": ("7.90 / 7.65, pattern", "7.51 / 7.70, parrot", "7.61 / 8.67, pattern"),
    "att": ("0.0006 / 0.42, fixed", "0.0024 / 0.77, fixed", "0.120 / 0.78, fixed"),
    "maude": ("0.898 / 0.99, fixed", "0.951 / 0.98, fixed", "0.942 / 0.98, fixed"),
    "loglik": ("0.183 / 0.26, fixed", "0.153 / 0.41, fixed", "0.264 / 0.33, fixed"),
}


# -- here, before ----------------------------------------------------------------------------------------------------


def prepare(data: Path, here: Path) -> None:
    """Write the contexts of the three corpora, and the small files of the models' folders."""
    from papers.probing import CORPORA, COUNT, judged_on
    from turnwise.attacks.context import sample_contexts
    from turnwise.encode.models.catalogue import locate
    from turnwise.logs.items.items import Selection, all_items
    from turnwise.logs.scan import scan
    from turnwise.run.scoring.tally import generator

    here.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for corpus, (file, where) in CORPORA.items():
        judged = judged_on(data, corpus)
        paths = (str(data / file),)
        stream = all_items(paths, Selection(items="all", where=(where,)), scan(paths))
        # One context of each dialogue; the first ones are those of the table.
        drawn = sample_contexts(stream, TRAINED + VALIDATION + JUDGED, generator(0, "contexts"))
        ids = {one.item.id for one in judged}
        if not ids <= {one.item.id for one in drawn[:COUNT]}:
            raise SystemExit(f"{corpus}: the contexts of the table are not the first that are drawn")
        others = [one for one in drawn if one.item.id not in ids]
        parts = {"judged": judged, "validation": others[:VALIDATION], "train": others[VALIDATION:]}
        found[corpus] = {
            part: [
                {"id": one.item.id, "role": one.item.role, "human": one.human,
                 "turns": [(turn.role, turn.text) for turn in one.turns]}
                for one in contexts
            ]
            for part, contexts in parts.items()
        }  # fmt: skip
        print(corpus, {part: len(contexts) for part, contexts in parts.items()})
    (here / "contexts.json.xz").write_bytes(lzma.compress(json.dumps(found).encode()))
    for name in ("minilm", "smollm2"):
        source, target = locate(name), here / "models" / locate(name).name
        for file in SMALL:
            if (source / file).exists():
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / file, target / file)


def stored_contexts(here: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Corpus -> part -> the contexts that `prepare` wrote."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = json.loads(
        lzma.decompress((here / "contexts.json.xz").read_bytes())
    )
    return found


def context_of(row: dict[str, Any]) -> Any:
    """The context of a stored row, with the person's reply."""
    from turnwise.attacks.context import Context
    from turnwise.types import Item, Turn

    turns = (*(Turn(role, text) for role, text in row["turns"]), Turn(row["role"], row["human"]))
    # One context of each dialogue, so the id serves as the cluster.
    return Context(Item(
        id=row["id"], dialogue=row["id"], agent="human", turns=turns, turn=len(turns) - 1,
        cluster=row["id"], pair=row["id"], role=row["role"],
    ))  # fmt: skip


# -- over there ------------------------------------------------------------------------------------------------------


def models(here: Path, cache: Path, minilm: Path, smollm2: Path) -> None:
    """Make the models' folders from the carried weights: MiniLM's model.safetensors and SmolLM2's GGUF."""
    from safetensors.torch import load_file, save_file

    from papers.flagship.weights import read_gguf

    for small in (here / "models").iterdir():
        target = cache / "models" / small.name
        if (target / "model.safetensors").exists():
            continue
        shutil.copytree(small, target, dirs_exist_ok=True)
        if small.name.startswith("minilm"):
            # It may have been rounded to be carried; the masked language model adds its difference in float32.
            weights = load_file(minilm / "model.safetensors")
            save_file({name: one.float() if one.is_floating_point() else one for name, one in weights.items()},
                      target / "model.safetensors", metadata={"format": "pt"})  # fmt: skip
        elif smollm2.is_dir():
            shutil.copyfile(smollm2 / "model.safetensors", target / "model.safetensors")
        else:
            save_file(
                {name: tensor.contiguous() for name, tensor in read_gguf(smollm2)[0].items()},
                target / "model.safetensors",
                metadata={"format": "pt"},
            )


def large_batches() -> None:
    """Let the package's models take batches for a GPU, whose sizes change no score, and products in TF32.

    TF32 rounds the factors of a product to 10 bits, which changes scores by about .001. It holds for the whole process;
    the policies' own products are in bfloat16 anyway.
    """
    import torch

    from turnwise.encode import load_lm
    from turnwise.encode.neural import masked, token_head
    from turnwise.encode.neural.causal import CausalLM
    from turnwise.metrics import models as shared

    if CausalLM._log_probs is _log_probs:  # done before in this process
        return
    CausalLM._log_probs = _log_probs  # type: ignore[method-assign]
    torch.set_float32_matmul_precision("high")
    masked._BUDGET = 1 << 17
    token_head._ROWS = 2048
    made: dict[str, Any] = {}

    def language_model(spec: str, **options: Any) -> Any:
        if spec not in made:
            made[spec] = load_lm(spec, cache=None, budget=1 << 16, **options)
        return made[spec]

    shared.language_model = language_model  # type: ignore[assignment]
    plain_encoder = shared.text_encoder.__wrapped__

    def text_encoder(spec: str, **options: Any) -> Any:
        key = f"encoder {spec}"
        if key not in made:
            made[key] = plain_encoder(spec, budget=1 << 17, **options)
        return made[key]

    shared.text_encoder = text_encoder  # type: ignore[assignment]


def _log_probs(self: Any, texts: Sequence[Any]) -> list[Any]:
    """The package's `CausalLM._log_probs` in few large batches with padding, where it has one for each length.

    In bfloat16 padding changes a mean log-probability by up to .03 (12 replies of DailyDialog).
    """
    import torch

    contexts: dict[Any, tuple[int, ...]] = {}
    pairs = []
    for one in texts:
        key = (one.role, *((turn.role, turn.text) for turn in one.context))
        if key not in contexts:
            contexts[key] = self.prompt.encode(one)[0]
        text = tuple(self.prompt.tokenizer(one.text, add_special_tokens=False)["input_ids"])
        pairs.append(self._fit(contexts[key], text)[0])
    found: list[Any] = [np.empty(0) for _ in pairs]
    order = sorted((at for at, pair in enumerate(pairs) if pair.text), key=lambda at: len(pairs[at].context))
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        rows = [(*pairs[at].context, pairs[at].start, *pairs[at].text[:-1]) for at in some]
        width = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], device=self.device)
        there = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=self.device)
        with torch.inference_mode():
            states = self._body(input_ids=ids, attention_mask=there, use_cache=False).last_hidden_state
            places = [
                (row, len(pairs[at].context) + index)
                for row, at in enumerate(some)
                for index in range(len(pairs[at].text))
            ]
            row, column = torch.tensor(places, device=self.device).T
            targets = torch.tensor([token for at in some for token in pairs[at].text], device=self.device)
            values = self.head.log_probs(states[row, column], targets)
        ends = np.cumsum([len(pairs[at].text) for at in some])[:-1]
        for at, value in zip(some, np.split(values, ends), strict=True):
            found[at] = value
    return found


@dataclass
class Curve:
    """What is measured at each check, from the untuned model on."""

    update: list[int] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)  # mean score of greedy replies, validation
    frequency: list[float] = field(default_factory=list)  # of the most frequent reply
    unscored: list[float] = field(default_factory=list)  # share of replies without a score
    lm_loss: list[float] = field(default_factory=list)  # on people's replies, nats a token
    train_reward: list[float | None] = field(default_factory=list)  # sampled replies since the last check
    entropy: list[float | None] = field(default_factory=list)  # nats a token, of the same
    length: list[float | None] = field(default_factory=list)  # tokens, of the same


@dataclass
class Run:
    """One policy: a corpus and a repetition."""

    corpus: str
    repetition: int
    curve: Curve = field(default_factory=Curve)
    best: int = 0  # index of the best check
    stopped: str | None = None


class Training:
    """The policies of one metric."""

    def __init__(self, given: argparse.Namespace) -> None:
        import torch
        from tokenizers import Tokenizer

        from papers.policies import Policies
        from turnwise.attacks.context import Context
        from turnwise.encode.models.catalogue import locate
        from turnwise.metrics import resolve
        from turnwise.run.attack.command import scorer

        self.given, self.torch = given, torch
        self.name, _, metric = given.metric.partition("=")
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        if given.memory and self.device == "cuda":
            whole = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, given.memory * 2**30 / whole))
        large_batches()
        self.metric = resolve(metric)
        self.sign = 1.0 if self.metric.higher_is_better else -1.0
        self.score = scorer(self.metric)  # type: ignore[arg-type]
        self.tokenizer = Tokenizer.from_file(str(locate("smollm2") / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        stored = stored_contexts(given.here)
        self.contexts: dict[str, dict[str, list[Context]]] = {}
        self.coded: dict[tuple[str, str], Any] = {}
        for corpus in (self.name.partition("@")[2] or given.corpora).split(","):
            self.contexts[corpus] = {}
            for part, rows in stored[corpus].items():
                made = [context_of(row) for row in rows[: given.most]]
                self.contexts[corpus][part] = made
                self.coded[corpus, part] = self._coded(made)
        self.people: dict[str, dict[str, Any]] = {
            corpus: {part: self._scores([(one, one.human) for one in some]) for part, some in parts.items()}
            for corpus, parts in self.contexts.items()
        }
        self.centre = {corpus: float(np.nanmean(parts["train"])) for corpus, parts in self.people.items()}
        self.spread = {
            corpus: float(np.nanstd(parts["train"])) or 1.0 for corpus, parts in self.people.items()
        }
        self.runs = [Run(corpus, number) for number in range(given.repetitions) for corpus in self.contexts]
        weights, shape = _language_model(locate("smollm2"))
        self.policies = Policies(
            weights, shape, [self._seed(run) for run in self.runs], rank=given.rank, context=CONTEXT, longest=LONGEST,
            per_policy=given.batch, device=self.device, graph=not given.no_graph,
        )  # fmt: skip
        self.active = list(range(len(self.runs)))  # the run of each policy that still trains
        self.best = self.policies.flat.clone()
        self.update = 0
        self.seconds = 0.0
        self.finished = False
        self.since: list[list[tuple[float, float, float]]] = [[] for _ in self.runs]
        self.checkpoint = given.output / f"{self.name}.pt"
        if self.checkpoint.exists():
            self._resume()
        torch.manual_seed(1000 + self.update)

    def _seed(self, run: Run) -> int:
        return 1000 * run.repetition + list(self.contexts).index(run.corpus)

    def _coded(self, contexts: Sequence[Any]) -> Any:
        """The contexts as tokens: the chat template without its system prompt, as many whole turns as fit."""
        from papers.policies import Contexts

        start, opening = "<|im_start|>", self._ids("<|im_start|>assistant\n")
        tokens = self.torch.full((len(contexts), CONTEXT), 2)
        there = self.torch.zeros((len(contexts), CONTEXT), dtype=self.torch.bool)
        for row, one in enumerate(contexts):
            kept: list[int] = opening
            for turn in reversed(one.turns):
                role = "assistant" if turn.role == one.item.role else "user"
                ids = self._ids(f"{start}{role}\n{turn.text}<|im_end|>\n")
                room = CONTEXT - len(kept)
                if len(ids) > room:
                    if kept is opening:  # of a last turn that is too long the end
                        kept = [*self._ids(f"{start}{role}\n"), *ids][-room:] + kept
                    break
                kept = [*ids, *kept]
            tokens[row, CONTEXT - len(kept) :] = self.torch.tensor(kept)
            there[row, CONTEXT - len(kept) :] = True
        return Contexts(tokens.to(self.device), there.to(self.device))

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def _scores(self, pairs: Sequence[tuple[Any, str]]) -> Any:
        """(n,) the metric's scores, higher is better; equal pairs are scored once."""
        keys = {(context.item.id, reply): (context, reply) for context, reply in pairs}
        items = [context.with_reply(reply) for context, reply in keys.values()]
        values = dict(zip(keys, self.sign * np.asarray(self.score(items), dtype=np.float64), strict=True))
        return np.array([values[context.item.id, reply] for context, reply in pairs])

    def _texts(self, replies: Any) -> list[str]:
        """The texts of replies (n, t)."""
        return [
            text.strip() for text in self.tokenizer.decode_batch(replies.tolist(), skip_special_tokens=True)
        ]

    # -- one update --------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One update of all policies that still train."""
        from papers.policies import Contexts, real_tokens

        given, torch = self.given, self.torch
        contexts_each = given.batch // given.copies
        chosen = []
        for number in self.active:
            run = self.runs[number]
            rng = np.random.default_rng([self._seed(run), self.update])
            chosen.append(rng.choice(len(self.contexts[run.corpus]["train"]), contexts_each, replace=False))
        coded = [
            (self.coded[self.runs[number].corpus, "train"], torch.as_tensor(rows, device=self.device))
            for number, rows in zip(self.active, chosen, strict=True)
        ]
        contexts = Contexts(*(torch.stack([one[part][rows] for one, rows in coded]) for part in (0, 1)))
        began = time.monotonic()
        replies = self.policies.sample(contexts)
        texts = self._texts(replies.view(-1, LONGEST))
        sampled = time.monotonic()
        pairs = []
        for number, rows in zip(self.active, chosen, strict=True):
            pool = self.contexts[self.runs[number].corpus]["train"]
            pairs += [pool[row] for row in rows for _ in range(given.copies)]
        scores = self._scores(list(zip(pairs, texts, strict=True))).reshape(len(self.active), -1)
        scored = time.monotonic()
        corpora = [self.runs[number].corpus for number in self.active]
        centre, spread = (
            np.array([of[one] for one in corpora])[:, None] for of in (self.centre, self.spread)
        )
        rewards = np.nan_to_num((scores - centre) / spread, nan=FLOOR)
        reward = torch.tensor(rewards, dtype=torch.float32, device=self.device).view(replies.shape[:3])
        others = (reward.sum(2, keepdim=True) - reward) / (given.copies - 1)
        advantage = reward - others
        real = real_tokens(replies)
        tokens = real.sum((1, 2, 3)).float()  # of each policy
        entropy = torch.zeros(len(self.active), device=self.device)
        for piece in torch.arange(contexts_each, device=self.device).chunk(given.pieces):
            part = Contexts(contexts.tokens[:, piece], contexts.there[:, piece])
            some = real[:, piece]
            found = self.policies.evaluate(part, replies[:, piece], some)
            gain = (found.log_prob * some).sum(3) * advantage[:, piece]
            spent = (found.entropy * some).sum((1, 2, 3)) / tokens
            loss = -gain.sum((1, 2)) / tokens - given.entropy * spent
            loss.sum().backward()
            entropy += spent.detach()
        stated = [float(one) for one in given.rates.split(",")]
        rates = torch.tensor(
            [stated[self.runs[number].repetition % len(stated)] for number in self.active], device=self.device
        )
        finite = self.policies.descend(rates, clip=1.0).tolist()
        for place, number in enumerate(self.active):
            known = scores[place][~np.isnan(scores[place])]
            self.since[number].append((
                float(known.mean()) if len(known) else float("nan"), float(entropy[place]),
                float(tokens[place]) / given.batch,
            ))  # fmt: skip
            if not finite[place]:
                self.runs[number].stopped = f"the loss was not a number in update {self.update + 1}"
        self.update += 1
        if self.update <= 3:
            times = (sampled - began, scored - sampled, time.monotonic() - scored)
            print(f"{self.name}: update {self.update}: sampling {times[0]:.2f} s, metric {times[1]:.2f} s, "
                  f"training {times[2]:.2f} s", flush=True)  # fmt: skip

    # -- validation --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Measure all policies that still train on the validation contexts, and end those that rise no more."""
        said = self._greedy(self.active, "validation")
        losses = self._human_loss()
        for place, number in enumerate(self.active):
            run = self.runs[number]
            if run.stopped is not None:
                continue
            replies, scores = said[place]
            known = scores[~np.isnan(scores)]
            floor = self.centre[run.corpus] + FLOOR * self.spread[run.corpus]
            reward = float(np.nan_to_num(scores, nan=floor).mean())
            curve, since = run.curve, np.array(self.since[number])
            curve.update.append(self.update)
            curve.reward.append(reward)
            curve.frequency.append(Counter(replies).most_common(1)[0][1] / len(replies))
            curve.unscored.append(1 - len(known) / len(scores))
            curve.lm_loss.append(losses[place])
            means = np.nanmean(since, axis=0).tolist() if len(since) else [None] * 3
            for values, mean in zip((curve.train_reward, curve.entropy, curve.length), means, strict=True):
                values.append(mean)
            self.since[number] = []
            best = curve.reward[run.best]
            if reward > best + RISE * self.spread[run.corpus] or len(curve.reward) == 1:
                run.best = len(curve.reward) - 1
                self.best[number] = self.policies.flat[place].detach()
            elif len(curve.reward) - 1 - run.best >= self.given.patience:
                run.stopped = (
                    f"the reward had not risen for {self.given.patience} checks at update {self.update}"
                )
        shown = " ".join(
            f"{self.runs[number].corpus[:2]}{self.runs[number].repetition}:{self.runs[number].curve.reward[-1]:.3f}"
            for number in self.active
        )
        print(f"{self.name}: {self.seconds:.0f} s, update {self.update}: {shown}", flush=True)
        self._drop_stopped()

    def _drop_stopped(self) -> None:
        """Go on without the policies that have ended, when these are many enough to be worth a new CUDA graph."""
        kept = [place for place, number in enumerate(self.active) if self.runs[number].stopped is None]
        if not kept:
            self.active = []
        elif len(kept) <= 0.7 * len(self.active):
            one = self.policies
            one.use(one.flat[kept].detach(), one.first[kept], one.second[kept], one.steps)
            self.active = [self.active[place] for place in kept]

    def _greedy(self, numbers: Sequence[int], part: str) -> list[tuple[list[str], Any]]:
        """The greedy replies of the present policies, which belong to these runs, with their scores."""
        from papers.policies import Contexts

        batch, torch = self.given.batch, self.torch
        said: list[list[str]] = [[] for _ in numbers]
        counts = [len(self.contexts[self.runs[number].corpus][part]) for number in numbers]
        for start in range(0, max(counts), batch):
            coded = [self.coded[self.runs[number].corpus, part] for number in numbers]
            rows = [torch.arange(start, start + batch, device=self.device) % count for count in counts]
            contexts = Contexts(
                *(torch.stack([one[at][row] for one, row in zip(coded, rows, strict=True)]) for at in (0, 1))
            )
            replies = self.policies.sample(contexts, greedy=True)
            texts = self._texts(replies.view(-1, LONGEST))
            for place in range(len(numbers)):
                said[place] += texts[place * batch : (place + 1) * batch]
        pools = [self.contexts[self.runs[number].corpus][part] for number in numbers]
        said = [texts[: len(pool)] for texts, pool in zip(said, pools, strict=True)]
        pairs = [
            pair for texts, pool in zip(said, pools, strict=True) for pair in zip(pool, texts, strict=True)
        ]
        ends = np.cumsum([len(pool) for pool in pools])[:-1]
        return list(zip(said, np.split(self._scores(pairs), ends), strict=True))

    def _human_loss(self) -> list[float]:
        """The loss of each present policy on people's replies in some validation contexts, in nats a token."""
        from papers.policies import Contexts, real_tokens

        torch, rows = self.torch, []
        coded = [self.coded[self.runs[number].corpus, "validation"] for number in self.active]
        for number in self.active:
            people = self.contexts[self.runs[number].corpus]["validation"][:TRACKED_LOSS]
            ids = [[*self._ids(one.human), 2][:LONGEST] for one in people]
            rows.append([one + [2] * (LONGEST - len(one)) for one in ids])
        replies = torch.tensor(rows, device=self.device)[:, :, None]
        some = replies.shape[1]
        contexts = Contexts(*(torch.stack([one[part][:some] for one in coded]) for part in (0, 1)))
        real = real_tokens(replies)
        with torch.no_grad():
            found = self.policies.evaluate(contexts, replies, real)
        losses: list[float] = (-(found.log_prob * real).sum((1, 2, 3)) / real.sum((1, 2, 3))).tolist()
        return losses

    # -- the whole ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Train until all policies have ended or the time is up, then judge the best of each."""
        given = self.given
        began, saved = time.monotonic(), time.monotonic()
        before = self.seconds
        if not self.finished:
            if not self.runs[0].curve.update:
                self.check()
            while self.active and self.update < given.updates:
                if not self._step_in_memory():
                    if time.monotonic() - began > given.seconds:
                        break
                    continue
                self.seconds = before + time.monotonic() - began
                if self.update % given.every == 0:
                    self.check()
                    if time.monotonic() - saved > given.save_every:
                        self._save()
                        saved = time.monotonic()
                if time.monotonic() - began > given.seconds:
                    break
            for number in self.active:
                why = "its updates were made" if self.update >= given.updates else "its time was up"
                self.runs[number].stopped = self.runs[number].stopped or f"{why} after update {self.update}"
            self._save()
        self._judge()

    def _step_in_memory(self) -> bool:
        """One update; False if the GPU, which other programs may use, had no memory for it."""
        try:
            self.step()
        except self.torch.OutOfMemoryError as error:
            print(f"{self.name}: {str(error).splitlines()[0][:120]}", flush=True)
            self.policies.forget_gradients()
            self.torch.cuda.empty_cache()
            self.given.pieces = min(2 * self.given.pieces, self.given.batch // self.given.copies)
            time.sleep(3)
            return False
        return True

    def _save(self) -> None:
        """Write a checkpoint."""
        one = self.policies
        state = {
            "runs": [asdict(run) for run in self.runs], "active": self.active, "best": self.best.cpu(),
            "flat": one.flat.detach().cpu(), "first": one.first.cpu(), "second": one.second.cpu(), "steps": one.steps,
            "update": self.update, "seconds": self.seconds,
        }  # fmt: skip
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        part = self.checkpoint.with_suffix(".part")
        self.torch.save(state, part)
        part.replace(self.checkpoint)

    def _resume(self) -> None:
        """Continue from the checkpoint; policies that were ended by the time go on."""
        state = self.torch.load(self.checkpoint, map_location=self.device)
        for run, kept in zip(self.runs, state["runs"], strict=True):
            run.curve, run.best, run.stopped = Curve(**kept["curve"]), kept["best"], kept["stopped"]
            if run.stopped is not None and run.stopped.startswith(("its time", "its updates")):
                run.stopped = None
        self.active, self.update, self.seconds = state["active"], state["update"], state["seconds"]
        self.best = state["best"].to(self.device)
        if self.active:
            self.policies.use(state["flat"], state["first"], state["second"], state["steps"])
        self.finished = not self.active
        print(f"{self.name}: continues from update {self.update}", flush=True)

    def _judge(self) -> None:
        """Write the replies of each best policy in the judged contexts, their scores and what they amount to."""
        from turnwise.attacks.converged_strategy import converged_strategy
        from turnwise.attacks.target import Target

        self.policies.use(self.best)
        said = self._greedy(range(len(self.runs)), "judged")
        policies = []
        for run, (replies, scores) in zip(self.runs, said, strict=True):
            contexts = self.contexts[run.corpus]["judged"]
            target = Target(self.score, 10**9, lower_is_better=self.sign < 0, timeout=600.0)
            by_id = {one.item.id: reply for one, reply in zip(contexts, replies, strict=True)}
            found = converged_strategy(contexts, by_id, target)
            policies.append(
                {**asdict(run), "replies": replies, "scores": scores.tolist(), "strategy": asdict(found)}
            )
        line = {
            "metric": self.name.partition("@")[0], "signature": str(self.metric.signature), "device": self.device,
            "settings": {key: getattr(self.given, key) for key in SETTINGS},
            "updates": self.update, "seconds": round(self.seconds, 1),
            "people": {corpus: parts["judged"].tolist() for corpus, parts in self.people.items()},
            "ids": {corpus: [one.item.id for one in parts["judged"]] for corpus, parts in self.contexts.items()},
            "policies": policies,
        }  # fmt: skip
        (self.given.output / f"{self.name}.json").write_text(json.dumps(line))
        print(f"{self.name}: judged after {self.update} updates and {self.seconds:.0f} s", flush=True)


def _language_model(folder: Path) -> tuple[Any, Any]:
    """SmolLM2's weights and sizes."""
    from safetensors.torch import load_file

    from turnwise.networks.replies.llama import Shape

    return load_file(folder / "model.safetensors"), Shape.of(json.loads((folder / "config.json").read_text()))


SETTINGS = ("updates", "batch", "copies", "rates", "rank", "entropy", "every", "patience", "repetitions")


# -- here, after -----------------------------------------------------------------------------------------------------


def keep(files: Sequence[str]) -> None:
    """Put the results into papers/probing_rl.json: curves, measures, gains over people and short quotations.

    Files of one metric, each of another corpus, are put together; policies of the same metric on other corpora stay.
    """
    from papers.probing import MOST_WORDS, quoted
    from turnwise.attacks.context import Context
    from turnwise.attacks.verdict import measure_strategy
    from turnwise.types import Item, Turn

    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for line in joined([json.loads(Path(file).read_text()) for file in files]):
        before, corpora = kept.get(line["metric"], {}), {one["corpus"] for one in line["policies"]}
        same = before.get("signature") == line["signature"]
        rows = [row for row in before.get("policies", []) if same and row["corpus"] not in corpora]
        tested = len(line["policies"]) + len(rows)
        for one in line["policies"]:
            corpus = one["corpus"]
            people = np.array(line["people"][corpus], dtype=float)
            # Only the ids count here: the interval resamples contexts.
            contexts = [
                Context(Item(id=name, dialogue=name, agent="human", turns=(Turn("user", ""), Turn("assistant", "")),
                             turn=1, cluster=name, pair=name))
                for name in line["ids"][corpus]
            ]  # fmt: skip
            found = measure_strategy(
                "rl", "policy", "", contexts=contexts, replies=one["replies"], people=people,
                scores=np.array(one["scores"], dtype=float), tested=tested, draws=1000, rng=np.random.default_rng(0),
            )  # fmt: skip
            strategy = one["strategy"]
            common = Counter(one["replies"]).most_common(3)
            rows.append({
                "corpus": corpus, "repetition": one["repetition"], "stopped": one["stopped"],
                "best_update": one["curve"]["update"][one["best"]],
                "people": float(np.nanmean(people)), "score": found.score, "gain": found.gain,
                "gain_interval": found.gain_interval, "significant": found.significant,
                "beats_human": found.beats_human, "unscored": found.unscored,
                "measures": strategy["measures"], "strategy": strategy["final"],
                "description": quoted(strategy["description"]), "fixed_reward": strategy["fixed_reward"],
                # The replies may be copies of a corpus that may not be published, hence short quotations.
                "samples": [" ".join(reply.split()[:MOST_WORDS]) for reply, _ in common],
                "curve": {key: _rounded(values) for key, values in one["curve"].items()},
            })  # fmt: skip
        kept[line["metric"]] = {
            **{key: line[key] for key in ("signature", "device", "settings")},
            "updates": max(row["curve"]["update"][-1] for row in rows),
            "seconds": line["seconds"],
            "policies": sorted(rows, key=lambda row: (row["corpus"], row["repetition"])),
        }
    RESULTS.write_text(json.dumps(dict(sorted(kept.items())), indent=None, separators=(",", ":")) + "\n")


def joined(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each metric, with the policies of all its lines; raises `SystemExit` if their signatures differ."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        name = line["metric"]
        if name not in found:
            found[name] = line
            continue
        before = found[name]
        if line["signature"] != before["signature"]:
            raise SystemExit(f"{name}: policies against {before['signature']} and {line['signature']}")
        found[name] = {
            **before,
            "updates": max(before["updates"], line["updates"]),
            "seconds": max(before["seconds"], line["seconds"]),
            **{key: {**before[key], **line[key]} for key in ("people", "ids")},
            "policies": before["policies"] + line["policies"],
        }
    return list(found.values())


def transfer(here: Path, file: Path, metrics: Sequence[str]) -> None:
    """Score the replies of policies that were trained against one metric with others; papers/probing_transfer.json."""
    from turnwise.attacks.verdict import measure_strategy
    from turnwise.metrics import resolve
    from turnwise.run.attack.command import scorer

    line = json.loads(file.read_text())
    judged = {
        corpus: {row["id"]: context_of(row) for row in parts["judged"]}
        for corpus, parts in stored_contexts(here).items()
    }
    kept = json.loads(TRANSFER.read_text()) if TRANSFER.exists() else {}
    for name in metrics:
        metric = resolve(name)
        sign, score = 1.0 if metric.higher_is_better else -1.0, scorer(metric)  # type: ignore[arg-type]
        rows = []
        people: dict[str, Any] = {}
        for one in line["policies"]:
            corpus = one["corpus"]
            contexts = [judged[corpus][identity] for identity in line["ids"][corpus]]
            if corpus not in people:
                people[corpus] = sign * np.asarray(score([context.item for context in contexts]), dtype=float)
            replies = [
                context.with_reply(reply) for context, reply in zip(contexts, one["replies"], strict=True)
            ]
            found = measure_strategy(
                "rl", "policy", "", contexts=contexts, replies=one["replies"], people=people[corpus],
                scores=sign * np.asarray(score(replies), dtype=float), tested=len(line["policies"]), draws=1000,
                rng=np.random.default_rng(0),
            )  # fmt: skip
            rows.append({
                "corpus": corpus, "repetition": one["repetition"], "people": float(np.nanmean(people[corpus])),
                "score": found.score, "gain": found.gain, "gain_interval": found.gain_interval,
                "significant": found.significant, "beats_human": found.beats_human, "unscored": found.unscored,
            })  # fmt: skip
            print(
                name, *(f"{value:.3f}" if isinstance(value, float) else value for value in rows[-1].values())
            )
        kept.setdefault(line["metric"], {})[name] = {"signature": str(metric.signature), "policies": rows}
        TRANSFER.write_text(json.dumps(kept, indent=1) + "\n")


def _rounded(values: Sequence[float | int | None]) -> list[float | int | None]:
    return [round(value, 4) if isinstance(value, float) else value for value in values]


def validation(one: dict[str, Any]) -> float:
    """The mean validation score of a policy at the update that was kept."""
    score: float = one["curve"]["reward"][one["curve"]["update"].index(one["best_update"])]
    return score


def show() -> None:
    """The paper's Tables 2 and 4 of the best repetition, with the range of all, and the strategies of all."""
    kept = json.loads(RESULTS.read_text())
    print("| metric | corpus | the paper: people / reward | people | untuned | best policy | gain | others | "
          "update of the best | frequency, variety, BLEU, Jaccard | strategies |")  # fmt: skip
    print(f"|{'---|' * 11}")
    for name, line in kept.items():
        for at, corpus in enumerate(("dailydialog", "personachat", "empathetic")):
            rows = [one for one in line["policies"] if one["corpus"] == corpus]
            if not rows:
                continue
            best, *others = sorted(rows, key=lambda one: -validation(one))
            low, high = best["gain_interval"] or (float("nan"),) * 2
            gain = f"{best['gain']:+.3f} [{low:.3f}, {high:.3f}]"
            measures = ", ".join(f"{best['measures'][key]:.3f}" for key in
                                 ("response_frequency", "lexical_variety", "bleu", "jaccard"))  # fmt: skip
            scores = ", ".join(f"{one['score']:.3f}" for one in others)
            kinds = ", ".join(one["strategy"] for one in (best, *others))
            theirs = THEIRS.get(name, ("-",) * 3)[at]
            print(f"| `{name}` | {corpus} | {theirs} | {best['people']:.3f} | {best['curve']['reward'][0]:.3f} | "
                  f"{best['score']:.3f} | {f'**{gain}**' if best['significant'] else gain} | {scores} | "
                  f"{best['best_update']} of {best['curve']['update'][-1]} | {measures} | {kinds} |")  # fmt: skip
    stops = Counter(one["stopped"].split(" at update")[0].split(" after update")[0]
                    for line in kept.values() for one in line["policies"])  # fmt: skip
    print("\n" + "; ".join(f"{count}: {why}" for why, count in stops.items()))
    for name, line in kept.items():
        for one in line["policies"]:
            print(f"- {name}, {one['corpus']}, {one['repetition'] + 1}: {one['strategy']}; {one['description']}; "
                  f"{' | '.join(one['samples'])}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parts = parser.add_subparsers(dest="what", required=True)
    part = parts.add_parser("prepare")
    part.add_argument("data", type=Path)
    part.add_argument("here", type=Path)
    part = parts.add_parser("models")
    part.add_argument("here", type=Path)
    part.add_argument("cache", type=Path)
    part.add_argument("--minilm", type=Path, required=True, help="a folder with MiniLM's model.safetensors")
    part.add_argument(
        "--smollm2", type=Path, required=True, help="SmolLM2's GGUF file, or a folder with its weights"
    )
    part = parts.add_parser("train")
    part.add_argument("here", type=Path)
    part.add_argument("metric", metavar="NAME=METRIC")
    part.add_argument("-o", "--output", type=Path, required=True)
    part.add_argument("--corpora", default="dailydialog,personachat,empathetic")
    part.add_argument("--repetitions", type=int, default=3)
    part.add_argument("--seconds", type=float, default=400.0)
    part.add_argument("--updates", type=int, default=2000)
    part.add_argument("--batch", type=int, default=32, help="replies of an update of one policy")
    part.add_argument("--copies", type=int, default=4, help="replies to one context")
    part.add_argument(
        "--pieces", type=int, default=2, help="parts of a batch that are trained on one after another"
    )
    part.add_argument("--rates", default="3e-4,6e-4,1.2e-3", help="learning rates of the repetitions")
    part.add_argument("--rank", type=int, default=16)
    part.add_argument("--entropy", type=float, default=0.01)
    part.add_argument("--every", type=int, default=10, help="updates between two checks")
    part.add_argument("--patience", type=int, default=8, help="checks without a rise")
    part.add_argument("--memory", type=float, help="GiB of the GPU that may be used; by default all")
    part.add_argument("--save-every", type=float, default=60.0, help="seconds between two checkpoints")
    part.add_argument("--no-graph", action="store_true", help="no CUDA graph for sampling")
    part.add_argument("--most", type=int, help="contexts of each part, for a trial")
    part = parts.add_parser("keep")
    part.add_argument("files", nargs="+")
    part = parts.add_parser("transfer")
    part.add_argument("here", type=Path)
    part.add_argument("file", type=Path, help="NAME.json of `train`")
    part.add_argument("metrics", nargs="+")
    parts.add_parser("show")
    given = parser.parse_args()
    if given.what == "prepare":
        prepare(given.data, given.here)
    elif given.what == "models":
        models(given.here, given.cache, given.minilm, given.smollm2)
    elif given.what == "train":
        given.output.mkdir(parents=True, exist_ok=True)
        Training(given).run()
    elif given.what == "keep":
        keep(given.files)
    elif given.what == "transfer":
        transfer(given.here, given.file, given.metrics)
    else:
        show()


if __name__ == "__main__":
    main()
