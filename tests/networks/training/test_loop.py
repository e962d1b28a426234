"""The training loop: the size of the pieces does not show, nor does being killed; a loss that explodes is said."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from turnwise.errors import Unmeasured
from turnwise.networks.training.checkpoint import FILE, Checkpoint, Progress
from turnwise.networks.training.loop import Plan, fit

X = torch.tensor(np.random.default_rng(0).normal(size=(64, 5)), dtype=torch.float64)
Y = X @ torch.arange(5, dtype=torch.float64) + 1


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()


def trained(
    plan: Plan, work: Path | None = None, net: torch.nn.Module | None = None
) -> tuple[torch.nn.Module, list]:
    net = net or model()
    curve = fit(net, lambda at: (net(X[list(at)])[:, 0] - Y[list(at)]) ** 2, len(X), plan=plan, work=work)
    return net, curve


def test_the_curve_does_not_depend_on_the_piece_size() -> None:
    whole = trained(Plan(epochs=6, batch=8, patience=None))[1]
    pieces = trained(Plan(epochs=6, batch=8, piece=1, patience=None))[1]
    residuals = np.array([a["loss"] - b["loss"] for a, b in zip(whole, pieces, strict=True)])
    assert np.abs(residuals).max() < 1e-9
    assert abs(residuals.mean()) < 1e-10


def test_training_learns() -> None:
    curve = trained(Plan(epochs=40, batch=8, rate=0.03, patience=None))[1]
    assert curve[-1]["loss"] < 0.1 * curve[0]["loss"]


def test_a_run_that_was_killed_ends_in_the_same_weights(tmp_path: Path) -> None:
    plan = Plan(epochs=5, batch=16, patience=None)
    whole, curve = trained(plan)
    net, calls = model(), 0

    def losses(at: list[int]) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls == 11:
            raise KeyboardInterrupt
        return (net(X[list(at)])[:, 0] - Y[list(at)]) ** 2

    with pytest.raises(KeyboardInterrupt):
        fit(net, losses, len(X), plan=plan, work=tmp_path)
    again, resumed = trained(plan, tmp_path)
    assert resumed == curve
    for one, two in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_checkpoint_of_other_settings_is_not_taken_up(tmp_path: Path) -> None:
    trained(Plan(epochs=2, patience=None), tmp_path)
    fresh = trained(Plan(epochs=2, patience=None, seed=1))[1]
    assert trained(Plan(epochs=2, patience=None, seed=1), tmp_path)[1] == fresh


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    plan = Plan(epochs=2, patience=None)
    (tmp_path / FILE).write_bytes(b"not a checkpoint")
    assert trained(plan, tmp_path)[1] == trained(plan)[1]


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    checkpoint, net = Checkpoint(tmp_path / FILE, "one"), model()
    checkpoint.write(Progress(updates=1), net.state_dict())
    before = checkpoint.path.read_bytes()
    monkeypatch.setattr("turnwise.logs.files.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        checkpoint.write(Progress(updates=2), net.state_dict())
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_training_stops_when_validation_gets_no_better_and_keeps_the_best() -> None:
    net, values = model(), iter([3.0, 1.0, 2.0, 2.5, 0.5])
    weights = []

    def validate() -> float:
        weights.append([p.clone() for p in net.parameters()])
        return next(values)

    plan = Plan(epochs=5, patience=2)
    curve = fit(
        net, lambda at: (net(X[list(at)])[:, 0] - Y[list(at)]) ** 2, len(X), plan=plan, validate=validate
    )
    assert [point["validation"] for point in curve] == [3.0, 1.0, 2.0, 2.5]
    for kept, best in zip(net.parameters(), weights[1], strict=True):
        assert torch.equal(kept, best)


def test_a_loss_that_is_no_number_is_an_error_with_a_remedy() -> None:
    net = model()
    with pytest.raises(Unmeasured, match="rate"):
        fit(net, lambda at: net(X[list(at)])[:, 0] * float("nan"), len(X), plan=Plan(epochs=1))


def test_no_flipped_bit_of_a_checkpoint_is_used(tmp_path: Path) -> None:
    """In the weights, the moments of the optimiser, the curve or the names: the file is passed over, or an error."""
    weights = {"w": torch.arange(6, dtype=torch.float32), "b": torch.zeros((), dtype=torch.int64)}
    path = tmp_path / "c.safetensors"
    Checkpoint(path, "mine").write(Progress(3, [{"loss": 0.5}], {"w": torch.ones(6)}), weights)
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        found = {name: torch.full_like(tensor, 7) for name, tensor in weights.items()}
        assert Checkpoint(path, "mine").read(found) is None
        assert all((tensor == 7).all() for tensor in found.values())


def test_a_checkpoint_without_a_checksum_is_of_an_earlier_version_and_not_used(tmp_path: Path) -> None:
    path, weights = tmp_path / "c.safetensors", {"w": torch.zeros(2)}
    header = {"identity": "mine", "updates": "3", "curve": "[]"}
    save_file({"weights.w": torch.ones(2)}, path, metadata=header)
    assert Checkpoint(path, "mine", strict=True).read(weights) is None
    assert (weights["w"] == 0).all()
