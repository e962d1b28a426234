"""`python -m papers.enigma_language generate|run|show`: chat agents that are language models, each left out (ENIGMA).

    cut MODEL.gguf OUT TEXT...                    on a CPU: Qwen with fewer tokens, in parts that can be carried
    generate FOLDER WORK --seed S --until TIME    on a GPU: dialogues, alternatives and the truth, in pieces
    pack WORK FILE                                there: what is complete, in one tar file
    run FILE SEED...                              on a CPU: `turnwise ope --all` on the ten scores
    control                                       there: refusals of made-up agents with as few dialogues
    visible FILE SEED...                          there: what an agent's replies show of its ratings, by score
    perfect                                       there: would estimates of a given quality be answered?
    add FILE...                                   there: rows that were made elsewhere
    show                                          the tables of papers/enigma-language.md

Twelve agents are SmolLM2-135M-Instruct at several temperatures, with other instructions, and with faults; four are
Qwen2.5-Coder-0.5B-Instruct (`AGENTS`). They talk to the user of the chat world, whose raters rate 40 dialogues of each.
At every turn of every logged dialogue every agent says what it would have said, twice (the greedy ones once). The truth
comes from further dialogues that are not in the logs. Generation stopped by the time goes on from its pieces.

FOLDER holds smollm2.gguf and tokenizer.json, and in FOLDER/qwen, unless `--agents 12` leaves Qwen out, qwen.gguf and
tokenizer.json. `cut` writes these as OUT/qwen1, OUT/qwen2, ..., whose bytes one after the other are qwen.gguf, and
OUT/tokenizer.json. It keeps the most frequent tokens of the dialogues in TEXT and in the chat world.
"""

import argparse
import io
import json
import re
import tarfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from papers.flagship.weights import base_llama
from turnwise.logs import native
from turnwise.networks.replies.llama import END, Layer, Llama, _turned
from turnwise.types import Dialogue, Reply, Turn
from turnwise.worlds.chat import WORLD
from turnwise.worlds.chat.quality import DIMENSIONS
from turnwise.worlds.chat.world import Scene

START = 1  # token that begins a message, of both models
MODELS = {"smollm2": "SmolLM2", "qwen": "Qwen2.5-Coder"}  # name -> name in tables
TOKENS, PART = 16_000, 58  # tokens that `cut` keeps, and MiB of a part
NEW_TOKENS = 40
CONTEXT_TOKENS = 480  # longest prompt; older turns are left out
TOP_P, TOP_K = 0.95, 256
DIALOGUES, SAMPLES, TRUTH = (
    40,
    2,
    600,
)  # logged dialogues, alternatives, and dialogues of the truth, of each agent
PIECE, TRUTH_PIECE = 240, 2400  # dialogues of the logs, with alternatives, and of the truth, in a file
LOG, TRUE = 0, 1  # purposes of a generator, as in `turnwise simulate`
SHORT = " Answer in one or two short sentences."
ESTIMATORS = "robust,dice-linear,direct"
KEPT = Path(__file__).with_name("enigma-language.json")
PAGE = KEPT.with_suffix(".md")
CONTROL = KEPT.with_name("enigma-language-control.json")
VISIBLE = KEPT.with_name("enigma-language-visible.json")
PERFECT = KEPT.with_name("enigma-language-perfect.json")
QUALITIES = (1.0, 0.9, 0.7, 0.5, 0.3)  # correlations of estimates with true means
SIZES = (16, 60)  # dialogues of each agent
TRUE_DIALOGUES = 200  # behind each true mean
RATER_NOISE = 0.5  # of a dialogue's mean rating around its true score: three raters of worlds/chat/raters.py
SIMULATED = 200
SEEN = 24  # dialogues of each agent that `visible` reads
RIDGE = 30.0
GENERIC = ("I do not know.", "That is nice.", "Okay, thank you.", "I am not sure about that.")


@dataclass(frozen=True)
class Speaker:
    """A language model as an agent. A fault is the probability that it happens in a turn."""

    temperature: float = 0.7
    instruction: str = SHORT  # added to the briefing
    persona: bool = True  # whether it reads the briefing
    repeats: float = 0.0  # says its last reply again
    ignores: float = 0.0  # does not read the last turn of the user
    stops: float = 0.0  # stops after half of its words
    generic: float = 0.0  # says one of `GENERIC`
    model: str = "smollm2"  # of `MODELS`


AGENTS: Mapping[str, Speaker] = {
    "greedy": Speaker(temperature=0.0),
    "t0.3": Speaker(temperature=0.3),
    "t0.7": Speaker(),
    "t1.0": Speaker(temperature=1.0),
    "t1.3": Speaker(temperature=1.3),
    "no-persona": Speaker(persona=False),
    "asks": Speaker(instruction=SHORT + " End every answer with a question about the other person."),
    "terse": Speaker(instruction=" Answer in at most five words."),
    "repeats": Speaker(repeats=0.5),
    "ignores": Speaker(ignores=0.7),
    "cut-off": Speaker(stops=0.7),
    "generic": Speaker(generic=0.6),
    "qwen-greedy": Speaker(temperature=0.0, model="qwen"),
    "qwen-t0.7": Speaker(model="qwen"),
    "qwen-t1.0": Speaker(temperature=1.0, model="qwen"),
    "qwen-no-persona": Speaker(persona=False, model="qwen"),
}


def family(agents: Iterable[str]) -> str:
    """The names of the agents' language models: "smollm2", or "smollm2+qwen"."""
    used = {AGENTS[agent].model for agent in agents}
    return "+".join(name for name in MODELS if name in used)


# -- the language model --------------------------------------------------------------------------------------------


def attended(
    layer: Layer, x: Tensor, turning: tuple[Tensor, Tensor], mask: Tensor, cache: Tensor, at: int
) -> Tensor:
    """Attention of new tokens to all tokens in the cache (2, b, key heads, room, d), which gets them from `at` on.

    The query heads of a key head are further rows of its query, so that keys are not copied.
    """
    batch, length, _ = x.shape
    heads, groups = layer.shape.heads, layer.shape.key_heads
    q = layer.q_proj(x).view(batch, length, heads, -1).transpose(1, 2)
    k, v = (
        projected(x).view(batch, length, groups, -1).transpose(1, 2)
        for projected in (layer.k_proj, layer.v_proj)
    )
    cache[0, :, :, at : at + length] = _turned(k, *turning)
    cache[1, :, :, at : at + length] = v
    keys, values = cache[:, :, :, : at + length]
    q = _turned(q, *turning).reshape(batch, groups, heads // groups * length, -1)
    mixed = functional.scaled_dot_product_attention(
        q, keys, values, attn_mask=mask.repeat(1, 1, heads // groups, 1)
    )
    mixed = mixed.reshape(batch, heads, length, -1).transpose(1, 2).reshape(batch, length, -1)
    out: Tensor = layer.o_proj(mixed)
    return out


def hidden_state(
    model: Llama, tokens: Tensor, positions: Tensor, mask: Tensor, cache: Tensor, at: int
) -> Tensor:
    """(b, d) the state of the last token; `cache` is (layers, 2, b, key heads, room, d)."""
    x = functional.embedding(tokens, model.embeddings)
    width = x.shape[-1] // model.shape.heads
    rates = model.shape.theta ** (-torch.arange(0, width, 2, device=x.device).float() / width)
    angles = positions[..., None].float() * rates
    turning = (angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype))
    for number, layer in enumerate(model.layers):
        normed = functional.rms_norm(x, x.shape[-1:], layer.norms[0], model.shape.epsilon)
        x = x + attended(layer, normed, turning, mask, cache[number], at)
        normed = functional.rms_norm(x, x.shape[-1:], layer.norms[1], model.shape.epsilon)
        x = x + layer.down_proj(functional.silu(layer.gate_proj(normed)) * layer.up_proj(normed))
    return functional.rms_norm(x[:, -1], x.shape[-1:], model.norm, model.shape.epsilon)


@torch.inference_mode()
def sampled(
    model: Llama, prompts: Sequence[Sequence[int]], temperature: Sequence[float], generator: torch.Generator
) -> list[list[int]]:
    """One continuation of each prompt up to the end of the message or `NEW_TOKENS`; temperature 0 is greedy."""
    device = model.embeddings.device
    size, longest = len(prompts), max(map(len, prompts))
    ids = np.zeros((size, longest), np.int64)
    inside = np.zeros((size, longest + NEW_TOKENS), bool)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt) :] = prompt
        inside[row, longest - len(prompt) :] = True
    there = torch.from_numpy(inside).to(device)
    positions = (there[:, :longest].cumsum(1) - 1).clamp(min=0)
    causal = torch.ones((longest, longest), dtype=torch.bool, device=device).tril()
    mask = causal & there[:, None, :longest] | torch.eye(longest, dtype=torch.bool, device=device)
    shape = model.shape
    width = model.embeddings.shape[1] // shape.heads
    room = (shape.layers, 2, size, shape.key_heads, longest + NEW_TOKENS, width)
    cache = torch.empty(room, dtype=model.embeddings.dtype, device=device)
    heat = torch.tensor(temperature, device=device)[:, None]
    greedy = heat == 0
    heat = heat.where(~greedy, torch.ones_like(heat))
    state = hidden_state(model, torch.from_numpy(ids).to(device), positions, mask[:, None], cache, 0)
    position, out = positions[:, -1:], []
    done = torch.zeros(size, dtype=torch.bool, device=device)
    for step in range(NEW_TOKENS):
        logits, index = model.token_logits(state).float().topk(TOP_K, -1)
        chance = (logits / heat).softmax(-1)
        chance = chance * (chance.cumsum(-1) - chance < TOP_P)
        drawn = index.gather(1, torch.multinomial(chance, 1, generator=generator))
        token = torch.where(done[:, None], END, torch.where(greedy, index[:, :1], drawn))
        out.append(token)
        done |= token[:, 0] == END
        if step == NEW_TOKENS - 1 or (step % 8 == 7 and bool(done.all())):
            break
        position = position + 1
        seen = there[:, None, None, : longest + step + 1]
        state = hidden_state(model, token, position, seen, cache, longest + step)
    rows = torch.cat(out, 1).cpu().numpy()
    return [row[: int(np.argmax(row == END)) if (row == END).any() else None].tolist() for row in rows]


@dataclass(frozen=True)
class Request:
    """One reply that is wanted: of which agent, to which turns (briefing first), with a generator for its faults."""

    agent: str
    turns: tuple[Turn, ...]
    rng: np.random.Generator


class Reader:
    """A language model with its tokeniser."""

    def __init__(self, folder: Path, device: str) -> None:
        from tokenizers import Tokenizer

        found = [*folder.glob("*.gguf"), *([folder] if (folder / "model.safetensors").exists() else [])]
        if not found:
            raise SystemExit(f"{folder}: has no language model")
        model = base_llama(found[0], rank=0).to(device)
        self.model = model.float() if device == "cpu" else model
        self.tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))


class Talk:
    """The agents, answered in batches by their language models."""

    def __init__(
        self, folder: Path, device: str, seed: int, batch: int, agents: Sequence[str] = tuple(AGENTS)
    ) -> None:
        self.readers = {
            name: Reader(folder if name == "smollm2" else folder / name, device)
            for name in family(agents).split("+")
        }
        self.generator, self.batch = torch.Generator(device).manual_seed(seed), batch

    def replies(self, requests: Sequence[Request]) -> list[str]:
        """The reply to each request."""
        found: list[str | None] = []
        prompts: dict[str, dict[int, list[int]]] = {name: {} for name in self.readers}
        kept = []
        for number, request in enumerate(requests):
            speaker = AGENTS[request.agent]
            repeats, ignores, stops, generic = request.rng.random(4).tolist()
            own = [turn.text for turn in request.turns if turn.role == "assistant"]
            kept.append(stops < speaker.stops)
            if repeats < speaker.repeats and own:
                found.append(own[-1])
            elif generic < speaker.generic:
                found.append(GENERIC[int(request.rng.integers(len(GENERIC)))])
            else:
                found.append(None)
                prompt = self._prompt(request, speaker, ignores=ignores < speaker.ignores)
                prompts[speaker.model][number] = prompt
        for name, reader in self.readers.items():
            mine = prompts[name]
            order = sorted(mine, key=lambda number: len(mine[number]))
            for start in range(0, len(order), self.batch):
                some = order[start : start + self.batch]
                heat = [AGENTS[requests[number].agent].temperature for number in some]
                made = sampled(reader.model, [mine[number] for number in some], heat, self.generator)
                for number, ids in zip(some, made, strict=True):
                    found[number] = tidied(reader.tokeniser.decode(ids), half=kept[number])
        return [text or GENERIC[0] for text in found]

    def _prompt(self, request: Request, speaker: Speaker, *, ignores: bool) -> list[int]:
        """The tokens of the prompt in the model's chat format, without the oldest turns if they do not fit."""
        tokeniser = self.readers[speaker.model].tokeniser
        briefing, *turns = request.turns
        system = briefing.text if speaker.persona else "You chat with someone you have just met."
        first = message(tokeniser, "system", system + speaker.instruction)
        if ignores:
            turns = turns[:-1] if len(turns) > 1 else [Turn("user", "Hi there!")]
            if turns[-1].role == "assistant":
                turns = turns[:-1]
        said = [message(tokeniser, turn.role, turn.text) for turn in turns]
        ask = [START, *tokeniser.encode("assistant\n").ids]
        while len(said) > 1 and len(first) + sum(map(len, said)) > CONTEXT_TOKENS:
            said = said[1:]
        return [*first, *(token for one in said for token in one), *ask][-CONTEXT_TOKENS - 8 :]


def message(tokeniser: Any, role: str, text: str) -> list[int]:
    """One message in the chat format, which is the same for both models."""
    return [START, *tokeniser.encode(f"{role}\n{text}").ids, END, *tokeniser.encode("\n").ids]


def tidied(text: str, *, half: bool) -> str:
    """The first paragraph up to the last whole sentence, or all of it if no sentence ends; with `half`, half of it."""
    text = " ".join(text.strip().partition("\n")[0].split())
    end = max(text.rfind(mark) for mark in ".!?")
    text = text[: end + 1] if end > 0 else text
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)]) if half else text


# -- dialogues -----------------------------------------------------------------------------------------------------


@dataclass
class Held:
    """A dialogue in progress."""

    agent: str
    number: int
    scene: Scene
    rng: np.random.Generator
    turns: list[Turn]


def begin(agent: str, number: int, purpose: int, seed: int) -> Held:
    """The dialogue with its first message; the users of the truth are the same for all agents."""
    key = [seed, LOG, crc32(agent.encode()), number] if purpose == LOG else [seed, TRUE, number]
    rng = np.random.default_rng(key)
    scene = WORLD.scene(rng)
    return Held(agent, number, scene, rng, [scene.briefing, Turn("user", scene.first_message(rng))])


def fault_rng(one: Held, turn: int, sample: int, agent: str, purpose: int, seed: int) -> np.random.Generator:
    """The generator of an agent's faults at one turn."""
    return np.random.default_rng(
        [seed, 7 + purpose, crc32(one.agent.encode()), one.number, turn, sample, crc32(agent.encode())]
    )


def hold(talk: Talk, dialogues: Sequence[Held], purpose: int, seed: int) -> None:
    """Hold all dialogues to their ends, one turn of all at a time."""
    going = list(dialogues)
    while going:
        asked = [
            Request(one.agent, tuple(one.turns), fault_rng(one, len(one.turns), 0, one.agent, purpose, seed))
            for one in going
        ]
        for one, text in zip(going, talk.replies(asked), strict=True):
            one.turns.append(Turn("assistant", text))
        still = []
        for one in going:
            message = one.scene.next_message(one.turns, one.rng)
            if message is not None:
                one.turns.append(Turn("user", message))
                still.append(one)
        going = still


def with_alternatives(
    talk: Talk, dialogues: Sequence[Held], seed: int, *, samples: int, agents: Sequence[str]
) -> None:
    """Add what each of these agents would have said at each turn of these dialogues."""
    places, asked = [], []
    for one in dialogues:
        for index, turn in enumerate(one.turns):
            if turn.role == "assistant":
                for agent in agents:
                    for sample in range(1 if AGENTS[agent].temperature == 0 else samples):
                        places.append((one, index, agent))
                        rng = fault_rng(one, index, 1 + sample, agent, LOG, seed)
                        asked.append(Request(agent, tuple(one.turns[:index]), rng))
    said: dict[tuple[int, int], dict[str, list[Reply]]] = {}
    for (one, index, agent), text in zip(places, talk.replies(asked), strict=True):
        said.setdefault((id(one), index), {}).setdefault(agent, []).append(Reply(text))
    for one in dialogues:
        for index, turn in enumerate(one.turns):
            if turn.role == "assistant":
                found = said[id(one), index]
                alternatives = {
                    agent: tuple(some[:1] if all(reply == some[0] for reply in some) else some)
                    for agent, some in found.items()
                }
                one.turns[index] = replace(turn, alternatives=alternatives)


def line(one: Held) -> bytes:
    """The line of the log."""
    identity = f"{one.agent}/{one.number}"
    ratings = one.scene.ratings(one.turns, identity, one.rng)
    meta = {"world": WORLD.name, "briefing": one.turns[0].text}
    dialogue = Dialogue(identity, one.agent, tuple(one.turns[1:]), ratings, goal=one.scene.goal, meta=meta)
    return native.dump(dialogue) + b"\n"


def generate(given: argparse.Namespace) -> None:
    """Write the pieces of logs and truth that are not there yet, in turn, until the time is up."""
    work = given.work / f"seed-{given.seed}"
    work.mkdir(parents=True, exist_ok=True)
    agents = list(AGENTS)[: given.agents]
    talk = Talk(given.folder, given.device, given.seed, given.batch, agents)
    # Consecutive dialogues are of different agents, so whatever is complete has about as many of each.
    logs = [(agent, number) for number in range(given.dialogues) for agent in agents]
    truth = [(agent, number) for number in range(given.truth) for agent in agents]
    tasks = [
        (purpose, at, some[at : at + size])
        for purpose, some, size in ((LOG, logs, PIECE), (TRUE, truth, TRUTH_PIECE))
        for at in range(0, len(some), size)
    ]
    tasks.sort(key=lambda task: task[1] / (len(logs) if task[0] == LOG else len(truth)))
    start = time.time()
    for purpose, at, some in tasks:
        path = work / f"{'log' if purpose == LOG else 'truth'}-{at:06d}"
        if path.exists():
            continue
        if time.time() > given.until:
            break
        talk.generator.manual_seed(given.seed * 1_000_003 + purpose * 500_009 + at)
        held = [begin(agent, number, purpose, given.seed) for agent, number in some]
        hold(talk, held, purpose, given.seed)
        if purpose == LOG:
            with_alternatives(talk, held, given.seed, samples=given.samples, agents=agents)
            content = b"".join(map(line, held))
        else:
            scores = [[one.agent, *one.scene.truth(one.turns).values()] for one in held]
            content = json.dumps(scores).encode()
        part = path.with_suffix(".part")
        part.write_bytes(content)
        part.rename(path)
        print(f"seed {given.seed}: {path.name}, {time.time() - start:.0f} s", flush=True)


def pack(work: Path, output: Path) -> None:
    """One compressed tar file with the logs and the truth of every seed."""
    with tarfile.open(output, "w:xz") as tar:
        for folder in sorted(work.glob("seed-*")):
            logs = b"".join(path.read_bytes() for path in sorted(folder.glob("log-??????")))
            scores = [
                row for path in sorted(folder.glob("truth-??????")) for row in json.loads(path.read_text())
            ]
            files = {"jsonl": logs, "truth.json": json.dumps(truth_document(scores), indent=1).encode()}
            for suffix, content in files.items():
                about = tarfile.TarInfo(f"{folder.name}.{suffix}")
                about.size = len(content)
                tar.addfile(about, io.BytesIO(content))
            print(f"{folder.name}: {len(logs.splitlines())} dialogues, {len(scores)} of the truth")


def truth_document(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The true mean of each agent and score, as `turnwise simulate` writes it."""
    agents: dict[str, Any] = {}
    for agent in AGENTS:
        scores = np.array([row[1:] for row in rows if row[0] == agent], dtype=float)
        if len(scores) > 1:
            error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
            agents[agent] = {
                name: {"mean": float(mean), "se": float(se), "n": len(scores)}
                for name, mean, se in zip(DIMENSIONS, scores.mean(axis=0), error, strict=True)
            }
    return {"world": "chat", "family": family(agents), "agents": agents}


# -- on the CPU: Qwen with fewer tokens ----------------------------------------------------------------------------


def cut(model: Path, out: Path, files: Sequence[str]) -> None:
    """Write the parts of the model and its tokeniser, with the `TOKENS` most frequent tokens of chat."""
    from transformers import AutoTokenizer

    from papers.flagship.cut_vocabulary import in_parts, smaller_tokeniser, write_gguf

    out.mkdir(parents=True, exist_ok=True)
    whole: Any = AutoTokenizer.from_pretrained(str(model.parent), gguf_file=model.name)
    tokeniser, kept = smaller_tokeniser(whole.backend_tokenizer, chat_texts(files), TOKENS)
    (out / "tokenizer.json").write_text(tokeniser)
    file = out / "whole"
    write_gguf(model, kept, file)
    for number, data in enumerate(in_parts(file, PART), 1):
        (out / f"qwen{number}").write_bytes(data)
    print(f"{len(kept)} tokens, {file.stat().st_size} bytes in {number} parts")
    file.unlink()


def chat_texts(files: Sequence[str]) -> list[str]:
    """The messages of the dialogues in these files and of made-up agents of the chat world, as a model reads them."""
    import turnwise as tw

    with TemporaryDirectory() as place:
        logs = str(Path(place) / "logs.jsonl")
        tw.simulate("chat", output=logs, family="mixed", seed=0, agents=12, dialogues=40, samples=1, truth=0)
        found = [*native.read_all([logs]), *native.read_all(list(files))]
    system = [str(one.meta["briefing"]) for one in found if "briefing" in one.meta]
    system += [speaker.instruction for speaker in AGENTS.values()]
    return [
        *(f"system\n{text}" for text in system),
        *(f"{turn.role}\n{turn.text}" for one in found for turn in one.turns),
    ]


# -- on the CPU: estimates -----------------------------------------------------------------------------------------


def joined(file: Path, seeds: Sequence[int], samples: int, place: Path) -> tuple[Path, Path]:
    """The logs of these seeds in one file, with this many alternatives of each agent, and the truth of all seeds.

    An agent's true mean does not depend on the seed of the logs, so all dialogues of the truth count.
    """
    lines, means = [], []
    with tarfile.open(file) as tar:
        tar.extractall(place, filter="data")
    for seed in seeds:
        for one in native.read_all([str(place / f"seed-{seed}.jsonl")]):
            turns = [
                replace(turn, alternatives={name: said[:samples] for name, said in turn.alternatives.items()})
                if turn.alternatives
                else turn
                for turn in one.turns
            ]
            identity = f"{seed}/{one.id}"
            ratings = tuple(replace(rating, item=identity) for rating in one.ratings)
            lines.append(native.dump(replace(one, id=identity, turns=tuple(turns), ratings=ratings)) + b"\n")
    for path in sorted(place.glob("seed-*.truth.json")):
        means.append(json.loads(path.read_text())["agents"])
    logs, truth = place / "logs.jsonl", place / "logs.truth.json"
    logs.write_bytes(b"".join(lines))
    agents = pooled(means)
    truth.write_text(json.dumps({"world": "chat", "family": family(agents), "agents": agents}))
    return logs, truth


def pooled(means: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The means of several runs of the truth, weighted by their numbers of dialogues."""
    found: dict[str, Any] = {}
    for agent in AGENTS:
        some = [one[agent] for one in means if agent in one]
        if not some:
            continue
        found[agent] = {}
        for score in DIMENSIONS:
            n = np.array([one[score]["n"] for one in some])
            mean, error = (np.array([one[score][key] for one in some]) for key in ("mean", "se"))
            found[agent][score] = {
                "mean": float(n @ mean / n.sum()),
                "se": float(np.sqrt(n**2 @ error**2) / n.sum()),
                "n": int(n.sum()),
            }
    return found


def encode_texts(file: Path, seeds: Sequence[int], samples: int, first: int, last: int) -> None:
    """Fill the cache of vectors with a part of the texts, which takes most of the time of `run`."""
    from turnwise.encode.episodes import encode, whole
    from turnwise.estimators.vectors import encoded

    with TemporaryDirectory() as place:
        logs, _ = joined(file, seeds, samples, Path(place))
        texts = encode(whole(native.read_all([str(logs)]), {}), rating="overall").texts
    encoded(texts[first:last], "minilm")
    print(f"{min(last, len(texts))} of {len(texts)} texts", flush=True)


def run(file: Path, given: argparse.Namespace) -> None:
    """Estimate every agent from the logs of these seeds together on scores, with shares of the dialogues.

    Beside the figures of the answers a row has, for all agents, what was or would have been answered (`agents`).
    """
    from papers.enigma import turnwise

    rows = json.loads(given.kept.read_text()) if given.kept.exists() else []
    seed = "+".join(map(str, given.seed))
    with TemporaryDirectory() as place:
        logs, truth = joined(file, given.seed, given.samples, Path(place))
        agents = json.loads(truth.read_text())["agents"]
        dialogues = len(logs.read_bytes().splitlines())
        for share in given.share:
            setting = "all" if share == 1 else f"{100 * share:g} %"
            case: dict[str, Any] = {"family": family(agents), "seed": seed, "setting": setting}
            done = {row["score"] for row in rows if case.items() <= row.items()}
            scores = [score for score in given.scores.split(",") if score not in done]
            # One command for all scores gives the same rows as one for each, in less time.
            for rating in ["all"] if set(scores) == set(DIMENSIONS) else scores:
                asked = ("--truth", str(truth), "--rating", rating, "--estimator", ESTIMATORS)
                found = turnwise("ope", str(logs), *asked, "--all", "--fraction", str(share))
                for row in found["validation"]:
                    score = row["rating"]
                    means = {agent: round(one[score]["mean"], 3) for agent, one in agents.items()}
                    about = {
                        "samples": given.samples, "dialogues": round(share * dialogues), "means": means,
                        "spread": float(np.ptp(list(means.values()))),
                        "largest_se": round(max(one[score]["se"] for one in agents.values()), 3),
                    }  # fmt: skip
                    rows.append({**case, "score": score, **about, **row, "agents": said_of(found, row)})
                    print(seed, score, setting, row["estimator"], row["pearson"], flush=True)
                given.kept.write_text(json.dumps(rows, indent=1) + "\n")


def said_of(found: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Agent -> its raw estimate, what was answered or withheld, the mean of its own log, and p of the ranking."""
    said = {}
    for one in found["results"]:
        if (one["estimator"], one["rating"]) == (row["estimator"], row["rating"]):
            diagnostics = one["diagnostics"]
            withheld = (diagnostics.get("withheld") or {}).get("estimate")
            said[one["target"]] = {
                "raw": one["raw"], "estimate": one["estimate"], "withheld": withheld, "logged": one["logged"],
                "p": diagnostics.get("p"), "reason": one["reason"],
            }  # fmt: skip
    return said


def control(most: int | None) -> None:
    """How many made-up agents are refused with as many dialogues as the language models have, by score."""
    import turnwise as tw

    found = json.loads(CONTROL.read_text()) if CONTROL.exists() else {}
    with TemporaryDirectory() as place:
        logs = str(Path(place) / "logs.jsonl")
        tw.simulate("chat", output=logs, family="mixed", seed=23, agents=12, dialogues=40, samples=2, truth=0)
        for score in [one for one in DIMENSIONS if one not in found][:most]:
            made = tw.ope(logs, all_agents=True, rating=score, estimators="robust", fraction=0.4, seed=0)
            found[score] = sum(one["refused"] for one in made if one["estimator"] == "robust")
            CONTROL.write_text(json.dumps(found) + "\n")
            print(score, found[score], "of 12 refused", flush=True)


def visible(file: Path, seeds: Sequence[int]) -> None:
    """Keep how well the ratings of a new agent follow from its replies, for language models and for made-up agents."""
    import turnwise as tw

    found = {}
    with TemporaryDirectory() as place:
        logs, _ = joined(file, seeds, 1, Path(place))
        dialogues = list(native.read_all([str(logs)]))
        found[family(str(one.agent) for one in dialogues)] = shown_by_replies(dialogues)
        made = str(Path(place) / "made-up.jsonl")
        tw.simulate(
            "chat", output=made, family="mixed", seed=23, agents=12, dialogues=SEEN, samples=1, truth=0
        )
        found["made-up"] = shown_by_replies(list(native.read_all([made])))
    VISIBLE.write_text(json.dumps(found, indent=1) + "\n")


def shown_by_replies(dialogues: Sequence[Dialogue]) -> dict[str, dict[str, float]]:
    """Score -> correlations of ratings with a ridge regression on replies that learned from the other agents.

    A dialogue is the mean vector of its replies, its mean similarity to the user's turns and to the agent's own earlier
    replies, and its mean length. `within` is the mean correlation over the dialogues of one agent, `between` that of
    the agents' mean ratings with their mean predictions.
    """
    from turnwise.metrics.models import text_encoder
    from turnwise.stats.correlation import pearson

    kept: dict[str, list[Dialogue]] = {}
    for one in dialogues:
        mine = kept.setdefault(str(one.agent), [])
        if len(mine) < SEEN:
            mine.append(one)
    some = [one for mine in kept.values() for one in mine]
    texts = sorted({turn.text for one in some for turn in one.turns})
    vectors = dict(zip(texts, text_encoder("minilm").encode(texts), strict=True))
    x = np.array([read_dialogue(one, vectors) for one in some])
    x = (x - x.mean(0)) / (x.std(0) + 1e-9)
    agent = np.array([str(one.agent) for one in some])
    found = {}
    for score in DIMENSIONS:
        y = np.array([np.mean([r.value for r in one.ratings if r.dimension == score]) for one in some])
        said = np.empty_like(y)
        for name in kept:
            out = agent == name
            known, mean = x[~out], y[~out].mean()
            gram = known @ known.T + RIDGE * x.shape[1] / 10 * np.eye(len(known))
            said[out] = mean + x[out] @ known.T @ np.linalg.solve(gram, y[~out] - mean)
        within = [pearson(said[agent == name], y[agent == name]) for name in kept]
        means = [[float(one[agent == name].mean()) for name in kept] for one in (said, y)]
        # Without a good agent the mean of the rest is lower: it is taken out of both, as `ope` does.
        rest = np.array([float(y[agent != name].mean()) for name in kept])
        between = pearson(np.array(means[0]) - rest, np.array(means[1]) - rest)
        found[score] = {"within": round(float(np.nanmean(within)), 3), "between": round(float(between), 3)}
    return found


def read_dialogue(dialogue: Dialogue, vectors: Mapping[str, Any]) -> np.ndarray:
    """The features of `shown_by_replies` of one dialogue."""
    replies = [turn.text for turn in dialogue.turns if turn.role == "assistant"]
    own = np.array([vectors[text] / np.linalg.norm(vectors[text]) for text in replies])
    asked = [
        float(vectors[before.text] @ vectors[turn.text])
        / float(np.linalg.norm(vectors[before.text]) * np.linalg.norm(vectors[turn.text]))
        for before, turn in zip(dialogue.turns, dialogue.turns[1:], strict=False)
        if turn.role == "assistant"
    ]
    again = [float((own[:at] @ own[at]).max()) for at in range(1, len(own))]
    more = [np.mean(asked or [0.0]), np.mean(again or [0.0]), np.mean([len(text) for text in replies])]
    return np.concatenate([own.mean(0), more])


def perfect() -> None:
    """Keep how often an agent is refused if estimates had a given correlation with the true means of the agents.

    The true means, and the spread of scores inside an agent (from the largest standard error of a true mean), are those
    of the run with SmolLM2 alone in papers/enigma-language.json. The mean of a log is the true mean with the sampling
    error of that many dialogues and of their raters; each agent is left out and refused as `ope` does.
    """
    kept = json.loads(KEPT.read_text())
    rows = [row for row in kept if (row["family"], row["estimator"]) == ("smollm2", "robust")]
    found: dict[str, Any] = {}
    for row in rows:
        true = np.array(list(row["means"].values()))
        inside = float(np.hypot(row["largest_se"] * np.sqrt(TRUE_DIALOGUES), RATER_NOISE))
        for size in SIZES:
            for quality in QUALITIES:
                rng = np.random.default_rng(0)
                own = true.std() * np.sqrt(1 / quality**2 - 1)
                refused = [
                    share_refused(
                        true + own * rng.standard_normal(len(true)),
                        true + inside / np.sqrt(size) * rng.standard_normal(len(true)),
                    )
                    for _ in range(SIMULATED)
                ]
                sizes = found.setdefault(row["score"], {}).setdefault(str(size), {})
                sizes[str(quality)] = round(float(np.mean(refused)), 3)
    PERFECT.write_text(json.dumps(found, indent=1) + "\n")


def share_refused(said: np.ndarray, logged: np.ndarray) -> float:
    """The share of agents that are refused because the others are not ranked."""
    from turnwise.errors import Refused
    from turnwise.estimators.calibration import can_rank
    from turnwise.estimators.calibration import line as fitted_line

    refused = 0
    for out in range(len(said)):
        known = np.arange(len(said)) != out
        try:
            can_rank(fitted_line(said[known], logged[known]))
        except Refused:
            refused += 1
    return refused / len(said)


def perfect_table() -> str:
    from papers.enigma_chat import line as cells

    found = json.loads(PERFECT.read_text())
    head = [f"{size} dialogues, r {quality:g}" for size in SIZES for quality in QUALITIES]
    lines = [cells("score", *head), cells(*["---"] * (len(head) + 1))]
    for score, sizes in found.items():
        shown = [f"{sizes[str(size)][str(quality)]:.2f}" for size in SIZES for quality in QUALITIES]
        lines.append(cells(score, *shown))
    return "\n".join(lines)


def add(files: Sequence[str]) -> None:
    """Keep the rows of these files, in place of those of the same family."""
    rows = [row for file in files for row in json.loads(Path(file).read_text())]
    new = {row["family"] for row in rows}
    rows += [row for row in json.loads(KEPT.read_text()) if row["family"] not in new]
    order = list(DIMENSIONS)
    rows.sort(key=lambda row: (-row["dialogues"], order.index(row["score"])))
    KEPT.write_text(json.dumps(rows, indent=1) + "\n")


def figure(value: float | None) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.2f}"


def everybody(row: Mapping[str, Any]) -> tuple[float, float | None]:
    """Pearson over all agents if nobody were refused, and the mean error of what was refused."""
    from turnwise.stats.correlation import pearson

    said, truth, off = [], [], []
    for agent, one in row.get("agents", {}).items():  # rows of the first run have none
        value = one["withheld"] if one["estimate"] is None else one["estimate"]
        if value is not None:
            said.append(value)
            truth.append(row["means"][agent])
            if one["estimate"] is None:
                off.append(abs(value - row["means"][agent]))
    together = pearson(np.array(said), np.array(truth)) if len(said) > 3 else np.nan
    return float(together), float(np.mean(off)) if off else None


def who(row: Mapping[str, Any]) -> str:
    """How many agents a row is of, and their language models."""
    return f"{len(row['means'])}, {' and '.join(MODELS[name] for name in row['family'].split('+'))}"


def by_size(rows: Sequence[Mapping[str, Any]], estimator: str = "robust") -> str:
    """Answers by score and number of dialogues, and what was refused."""
    from papers.enigma_chat import line as cells

    head = (
        "score", "agents", "dialogues of an agent", "spread of true means", "answered", "Pearson", "Spearman",
        "intervals hold", "half width", "error", "error of what was refused", "Pearson if nobody were refused",
    )  # fmt: skip
    lines = [cells(*head), cells(*["---"] * len(head))]
    order = list(DIMENSIONS)
    mine = [row for row in rows if row["estimator"] == estimator]
    for row in sorted(mine, key=lambda row: (order.index(row["score"]), len(row["means"]), row["dialogues"])):
        together, refused = everybody(row)
        count = row["n_agents"]
        held = "-" if row["coverage"] is None else f"{round(row['coverage'] * count)} of {count}"
        shown = (figure(row["pearson"]), figure(row["spearman"]), held, figure(row["half_width"]))
        errors = (figure(row["mae"]), figure(refused), figure(together))
        size = round(row["dialogues"] / len(row["means"]))
        answered = f"{count} of {len(row['means'])}"
        lines.append(cells(row["score"], who(row), size, figure(row["spread"]), answered, *shown, *errors))
    return "\n".join(lines)


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """By agents, estimator and number of dialogues: scores answered for most agents, correlations, coverage."""
    from papers.enigma_chat import PUBLISHED, over
    from papers.enigma_chat import line as cells

    three = "mean, least, largest"
    head = (
        "agents",
        "dialogues of an agent",
        "estimator",
        "scores answered for more than half of the agents",
    )
    head += (f"Pearson: {three}", f"Spearman: {three}", "intervals hold")
    lines = [cells(*head), cells(*["---"] * len(head))]

    def group(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return len(row["means"]), who(row), row["dialogues"], row["estimator"]

    for key in sorted({group(row) for row in rows}, reverse=True):
        count, agents_shown, size, estimator = key
        some = [row for row in rows if group(row) == key]
        most = [row for row in some if row["n_agents"] > count / 2]
        known = [row for row in some if row["coverage"] is not None]
        agents = sum(row["n_agents"] for row in known)
        held = f"{round(sum(row['coverage'] * row['n_agents'] for row in known))} of {agents}"
        figures = (over(most, "pearson"), over(most, "spearman"), held)
        answered = f"{len(most)} of {len(some)}"
        lines.append(cells(agents_shown, round(size / count), estimator, answered, *figures))
    pearsons, spearmans = (", ".join(f"{one:.3f}" for one in part) for part in PUBLISHED["all"])
    lines.append(
        cells("*28, ConvAI2, people*", 118, "*ENIGMA, as published*", "10 of 10", pearsons, spearmans, "-")
    )
    return "\n".join(lines)


def visible_table() -> str:
    from papers.enigma_chat import line as cells

    found = json.loads(VISIBLE.read_text())
    head = [f"{name}, {part}" for name in found for part in ("within", "between")]
    lines = [cells("score", *head), cells(*["---"] * (len(head) + 1))]
    for score in DIMENSIONS:
        lines.append(
            cells(
                score,
                *(figure(found[name][score][part]) for name in found for part in ("within", "between")),
            )
        )
    return "\n".join(lines)


def show() -> None:
    """Rewrite the tables of the page."""
    from papers.enigma_chat import line as cells

    rows = json.loads(KEPT.read_text())
    scores = [score for score in DIMENSIONS if any(row["score"] == score for row in rows)]
    lines = [cells("agent", "agents", *scores), cells(*["---"] * (len(scores) + 2))]
    for name in sorted({row["family"] for row in rows}, key=len):
        mine = [row for row in rows if (row["family"], row["estimator"]) == (name, "robust")]
        largest = max(row["dialogues"] for row in mine)
        full = {row["score"]: row for row in mine if row["dialogues"] == largest}
        one = next(iter(full.values()))
        for agent in one["means"]:
            means = (full[score]["means"][agent] if score in full else None for score in scores)
            lines.append(cells(agent, who(one), *map(figure, means)))
    blocks = {"summary": summary(rows), "by size": by_size(rows), "true means": "\n".join(lines)}
    made = {"visible": (VISIBLE, visible_table), "perfect": (PERFECT, perfect_table)}
    blocks |= {name: table() for name, (file, table) in made.items() if file.exists()}
    page = PAGE.read_text()
    for name, text in blocks.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        page = block.sub(lambda old, text=text: f"{old[1]}{text}\n{old[2]}", page)
    PAGE.write_text(page)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("cut")
    one.add_argument("model", type=Path)
    one.add_argument("out", type=Path)
    one.add_argument("text", nargs="+", help="files of dialogues")
    one = commands.add_parser("generate")
    one.add_argument("folder", type=Path)
    one.add_argument("work", type=Path)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--until", type=float, required=True, help="seconds since 1970 at which it stops")
    for name, size in (
        ("dialogues", DIALOGUES),
        ("samples", SAMPLES),
        ("truth", TRUTH),
        ("batch", 2048),
        ("agents", 99),
    ):
        one.add_argument(f"--{name}", type=int, default=size)
    one.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    one = commands.add_parser("pack")
    one.add_argument("work", type=Path)
    one.add_argument("file", type=Path)
    for name in ("run", "encode"):
        one = commands.add_parser(name)
        one.add_argument("file", type=Path)
        one.add_argument("seed", type=int, nargs="+", help="of logs, which are taken together")
        one.add_argument("--samples", type=int, default=SAMPLES)
        one.add_argument("--scores", default=",".join(DIMENSIONS))
        one.add_argument(
            "--share", type=float, nargs="+", default=[1.0], help="of the dialogues of each agent"
        )
        one.add_argument("--kept", type=Path, default=KEPT, help="the file of the rows")
        one.add_argument("--texts", type=int, nargs=2, default=(0, 10**9), help="first and last of `encode`")
    one = commands.add_parser("visible")
    one.add_argument("file", type=Path)
    one.add_argument("seed", type=int, nargs="+")
    one = commands.add_parser("control")
    one.add_argument("--most", type=int, help="scores in one call")
    commands.add_parser("perfect")
    one = commands.add_parser("add")
    one.add_argument("files", nargs="+")
    commands.add_parser("show")
    given = parser.parse_args()
    if given.command == "cut":
        cut(given.model, given.out, given.text)
    elif given.command == "generate":
        generate(given)
    elif given.command == "pack":
        pack(given.work, given.file)
    elif given.command == "run":
        run(given.file, given)
    elif given.command == "encode":
        encode_texts(given.file, given.seed, given.samples, *given.texts)
    elif given.command == "visible":
        visible(given.file, given.seed)
    elif given.command == "perfect":
        perfect()
    elif given.command == "control":
        control(given.most)
    else:
        if given.command == "add":
            add(given.files)
        show()


if __name__ == "__main__":
    main()
