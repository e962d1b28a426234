"""`python -m papers.enigma_language generate|run|show`: chat agents that are language models, each left out (ENIGMA).

    generate FOLDER WORK --seed S --until TIME    on a GPU: dialogues, alternatives and the truth, in pieces
    pack WORK FILE                                there: what is complete, in one tar file
    run FILE [SEED...]                            on a CPU: `turnwise ope --all` on the ten scores
    show                                          the tables of papers/enigma-language.md

The agents are SmolLM2-135M-Instruct at several temperatures, with other instructions, and with faults (`AGENTS`). They
talk to the user of the chat world, whose raters rate 40 dialogues of each. At every turn of every logged dialogue every
agent says what it would have said, twice (the greedy one once). The truth comes from further dialogues that are not in
the logs. FOLDER holds smollm2.gguf and tokenizer.json. Generation stopped by the time goes on from its pieces.
"""

import argparse
import io
import json
import tarfile
import time
from collections.abc import Mapping, Sequence
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

START = 1  # token that begins a message
NEW_TOKENS = 40
CONTEXT_TOKENS = 480  # longest prompt; older turns are left out
TOP_P, TOP_K = 0.95, 256
DIALOGUES, SAMPLES, TRUTH = (
    40,
    2,
    600,
)  # logged dialogues, alternatives, and dialogues of the truth, of each agent
PIECE, TRUTH_PIECE = 96, 2400  # dialogues of the logs, with alternatives, and of the truth, in a file
LOG, TRUE = 0, 1  # purposes of a generator, as in `turnwise simulate`
SHORT = " Answer in one or two short sentences."
ESTIMATORS = "robust,dice-linear,direct"
KEPT = Path(__file__).with_name("enigma-language.json")
PAGE = KEPT.with_suffix(".md")
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
}


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


class Talk:
    """All agents, answered in batches by one language model."""

    def __init__(self, folder: Path, device: str, seed: int, batch: int) -> None:
        from tokenizers import Tokenizer

        found = [*folder.glob("*.gguf"), *([folder] if (folder / "model.safetensors").exists() else [])]
        self.model = base_llama(found[0], rank=0).to(device)
        if device == "cpu":
            self.model = self.model.float()
        self.tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.generator, self.batch = torch.Generator(device).manual_seed(seed), batch

    def replies(self, requests: Sequence[Request]) -> list[str]:
        """The reply to each request."""
        found: list[str | None] = []
        prompts: dict[int, list[int]] = {}
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
                prompts[number] = self._prompt(request, speaker, ignores=ignores < speaker.ignores)
        order = sorted(prompts, key=lambda number: len(prompts[number]))
        for start in range(0, len(order), self.batch):
            some = order[start : start + self.batch]
            heat = [AGENTS[requests[number].agent].temperature for number in some]
            made = sampled(self.model, [prompts[number] for number in some], heat, self.generator)
            for number, ids in zip(some, made, strict=True):
                found[number] = tidied(self.tokeniser.decode(ids), half=kept[number])
        return [text or GENERIC[0] for text in found]

    def _prompt(self, request: Request, speaker: Speaker, *, ignores: bool) -> list[int]:
        """The tokens of the prompt in the model's chat format, without the oldest turns if they do not fit."""
        briefing, *turns = request.turns
        system = briefing.text if speaker.persona else "You chat with someone you have just met."
        first = self._message("system", system + speaker.instruction)
        if ignores:
            turns = turns[:-1] if len(turns) > 1 else [Turn("user", "Hi there!")]
            if turns[-1].role == "assistant":
                turns = turns[:-1]
        said = [self._message(turn.role, turn.text) for turn in turns]
        ask = [START, *self.tokeniser.encode("assistant\n").ids]
        while len(said) > 1 and len(first) + sum(map(len, said)) > CONTEXT_TOKENS:
            said = said[1:]
        return [*first, *(token for one in said for token in one), *ask][-CONTEXT_TOKENS - 8 :]

    def _message(self, role: str, text: str) -> list[int]:
        """One message in the model's chat format."""
        return [START, *self.tokeniser.encode(f"{role}\n{text}").ids, END, *self.tokeniser.encode("\n").ids]


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
    talk = Talk(given.folder, given.device, given.seed, given.batch)
    # Consecutive dialogues are of different agents, so whatever is complete has about as many of each.
    agents = list(AGENTS)[: given.agents]
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
    return {"world": "chat", "family": "smollm2", "agents": agents}


# -- on the CPU: estimates -----------------------------------------------------------------------------------------


def run(file: Path, seeds: Sequence[int]) -> None:
    """Estimate every agent of these seeds (default: all of the file) on the ten scores, and keep the rows."""
    from papers.enigma import validation

    rows = json.loads(KEPT.read_text()) if KEPT.exists() else []
    done = {(row["seed"], row["score"]) for row in rows}
    with TemporaryDirectory() as place, tarfile.open(file) as tar:
        tar.extractall(place, filter="data")
        found = sorted(Path(place).glob("seed-*.jsonl"))
        for seed in seeds or [int(path.stem.removeprefix("seed-")) for path in found]:
            logs = Path(place) / f"seed-{seed}.jsonl"
            truth = logs.with_suffix(".truth.json")
            agents = json.loads(truth.read_text())["agents"]
            for score in DIMENSIONS:
                if (seed, score) in done:
                    continue
                means = {agent: round(one[score]["mean"], 3) for agent, one in agents.items()}
                asked = ("--truth", str(truth), "--rating", score, "--estimator", ESTIMATORS)
                case = {"family": "smollm2", "seed": seed, "setting": "all", "score": score}
                case |= {"spread": float(np.ptp(list(means.values()))), "means": means}
                rows += [{**case, **row} for row in validation(str(logs), *asked)]
                KEPT.write_text(json.dumps(rows, indent=1) + "\n")
                print(seed, score, *(f"{r['estimator']} {r['pearson']}" for r in rows[-3:]), flush=True)


def show() -> None:
    """Rewrite the tables of the page."""
    from papers.enigma_chat import line as cells
    from papers.enigma_chat import tables

    rows = json.loads(KEPT.read_text())
    agents: dict[str, list[str]] = {}
    first = min(row["seed"] for row in rows)
    for row in rows:
        if row["seed"] == first and row["estimator"] == "robust":
            for agent, mean in row["means"].items():
                agents.setdefault(agent, []).append(f"{mean:.2f}")
    shown = [row["score"] for row in rows if row["seed"] == first and row["estimator"] == "robust"]
    lines = [cells("agent", *shown), cells(*["---"] * (len(shown) + 1))]
    lines += [cells(agent, *means) for agent, means in agents.items()]
    before, _, _ = PAGE.read_text().partition("<!-- tables -->")
    true = "\n".join(lines)
    PAGE.write_text(f"{before}<!-- tables -->\n{tables(rows)}\n## True means, seed {first}\n\n{true}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
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
    one = commands.add_parser("run")
    one.add_argument("file", type=Path)
    one.add_argument("seed", type=int, nargs="*")
    commands.add_parser("show")
    given = parser.parse_args()
    if given.command == "generate":
        generate(given)
    elif given.command == "pack":
        pack(given.work, given.file)
    elif given.command == "run":
        run(given.file, given.seed)
    else:
        show()


if __name__ == "__main__":
    main()
