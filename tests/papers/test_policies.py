"""Several policies in one batch: against transformers, each by itself, and trained on a reward that is known."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from papers.policies import END, PARTS, Contexts, Policies, real_tokens
from turnwise.networks.replies.llama import Shape

CONFIG = LlamaConfig(
    vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=1e-5, max_position_embeddings=128,
)  # fmt: skip
CONTEXT, LONGEST, PER_POLICY = 6, 4, 8


@pytest.fixture(scope="module")
def peer() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(CONFIG).eval()


def policies(peer: LlamaForCausalLM, count: int, *, changed: bool = True) -> Policies:
    weights = {name: one.clone() for name, one in peer.state_dict().items()}
    made = Policies(
        weights, Shape.of(CONFIG.to_dict()), range(count), rank=3, context=CONTEXT, longest=LONGEST,
        per_policy=PER_POLICY, device="cpu", dtype=torch.float32,
    )  # fmt: skip
    if changed:  # adapters start without effect
        made.use(made.flat + 0.1 * torch.randn(made.flat.shape, generator=torch.Generator().manual_seed(1)))
    return made


def contexts(count: int, given: int) -> Contexts:
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(3, 40, (count, given, CONTEXT), generator=generator)
    there = torch.ones_like(tokens, dtype=torch.bool)
    there[:, 0, :2] = False
    return Contexts(tokens, there)


def merged(peer: LlamaForCausalLM, made: Policies, policy: int) -> LlamaForCausalLM:
    """The policy as a model of transformers."""
    state = {name: one.clone() for name, one in peer.state_dict().items()}
    for number, layer in enumerate(made._parameters):
        for part, (down, up) in layer.items():
            change = (down[policy] @ up[policy]).T.detach()
            names = [f"model.layers.{number}.{one}.weight" for one in PARTS[part]]
            sizes = [len(state[name]) for name in names]
            for name, piece in zip(names, change.split(sizes), strict=True):
                state[name] = state[name] + piece
    model = LlamaForCausalLM(CONFIG)
    model.load_state_dict(state)
    return model.eval()


def test_each_policy_has_the_likelihoods_that_transformers_gives_its_merged_weights(peer):
    made, given = policies(peer, 3), contexts(3, 2)
    replies = torch.randint(3, 40, (3, 2, 4, LONGEST), generator=torch.Generator().manual_seed(3))
    replies[:, :, 1, 2:] = END
    real = real_tokens(replies)
    with torch.no_grad():
        found = made.evaluate(given, replies, real)
        for policy in range(3):
            model = merged(peer, made, policy)
            for context in range(2):
                before = given.tokens[policy, context][given.there[policy, context]]
                for copy in range(4):
                    reply, is_real = replies[policy, context, copy], real[policy, context, copy]
                    said = reply[is_real]
                    logs = model(torch.cat([before, said])[None]).logits.log_softmax(-1)[0]
                    expected = [logs[len(before) - 1 + at, token].item() for at, token in enumerate(said)]
                    assert found.log_prob[policy, context, copy][is_real].tolist() == pytest.approx(
                        expected, abs=1e-4
                    )
                    entropy = -(logs.exp() * logs).sum(-1)[len(before) - 1 : -1]
                    assert found.entropy[policy, context, copy][is_real].tolist() == pytest.approx(
                        entropy.tolist(), abs=1e-4
                    )


def test_greedy_replies_are_those_of_transformers(peer):
    made, given = policies(peer, 2), contexts(2, PER_POLICY)
    replies = made.sample(given, greedy=True)
    assert replies.shape == (2, PER_POLICY, 1, LONGEST)
    for policy in range(2):
        model = merged(peer, made, policy)
        for context in range(PER_POLICY):
            tokens = given.tokens[policy, context][given.there[policy, context]].tolist()
            for token in replies[policy, context, 0].tolist():
                with torch.no_grad():
                    assert int(model(torch.tensor([tokens])).logits[0, -1].argmax()) == token
                if token == END:
                    break
                tokens.append(token)


def test_sampled_tokens_have_the_frequencies_of_the_model(peer):
    made, given = policies(peer, 2), contexts(2, 1)
    torch.manual_seed(0)
    first = torch.cat([made.sample(given)[:, 0, :, 0] for _ in range(400)], 1)
    for policy in range(2):
        before = given.tokens[policy, 0][given.there[policy, 0]]
        with torch.no_grad():
            expected = merged(peer, made, policy)(before[None]).logits[0, -1].softmax(-1)
        share = torch.bincount(first[policy], minlength=40) / first.shape[1]
        assert float((share - expected).abs().max()) < 0.02


def test_a_reward_for_one_token_is_learnt_and_a_policy_without_a_reward_stays(peer):
    made = policies(peer, 2, changed=False)
    start = made.flat.clone()
    torch.manual_seed(0)
    for _ in range(30):
        given = contexts(2, 2)
        replies = made.sample(given)
        real = real_tokens(replies)
        reward = ((replies == 7) & real).float().sum(3)
        reward[1] = 1.0
        advantage = reward - reward.mean(2, keepdim=True)
        found = made.evaluate(given, replies, real)
        (-(found.log_prob * real).sum(3) * advantage).mean().backward()
        assert made.descend(torch.tensor([0.05, 0.05]), clip=1.0).tolist() == [True, True]
    replies = made.sample(contexts(2, PER_POLICY), greedy=True)
    assert float((replies[0] == 7).float().mean()) > 0.7
    assert torch.equal(made.flat[1], start[1])


def test_a_gradient_that_is_not_finite_leaves_its_policy_and_the_others_go_on(peer):
    made = policies(peer, 2)
    start = made.flat.clone()
    for leaf in made._leaves:
        leaf.grad = torch.ones_like(leaf)
    made._leaves[0].grad[0, 0, 0] = float("nan")
    assert made.descend(torch.tensor([0.1, 0.1]), clip=1.0).tolist() == [False, True]
    assert torch.equal(made.flat[0], start[0])
    assert not torch.equal(made.flat[1], start[1])
    assert made.flat.isfinite().all()


def test_tokens_after_the_end_are_not_real():
    replies = torch.tensor([[5, END, END], [END, END, END], [5, 6, 7]])
    assert real_tokens(replies).tolist() == [[True, True, False], [True, False, False], [True, True, True]]
