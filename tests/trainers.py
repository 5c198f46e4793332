"""Training runs of small networks, for the tests of the training loop."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from ambilearn.deep.augment import Noise, identity  # noqa: E402
from ambilearn.deep.networks import add_heads  # noqa: E402
from ambilearn.deep.objective import choose_objective  # noqa: E402
from ambilearn.deep.rows import DeepRows  # noqa: E402
from ambilearn.deep.training import Labels, Settings, Trainer, seeded  # noqa: E402

CPU = torch.device("cpu")


def make_trainer(
    loss="plcl", *, n=12, batch_size=12, features=None, strong=None, row_weights=None, **more
):
    """A run of four epochs, for random rows."""
    with seeded(0, CPU):
        x = torch.randn(n, 3)
        mask = torch.rand(n, 4) < 0.4
        mask[torch.arange(n), torch.randint(0, 4, (n,))] = True
        network = add_heads(features or nn.Linear(3, 5), x[:2], 4)
    weights = torch.ones(n) if row_weights is None else row_weights
    labels = Labels(mask, mask / mask.sum(1, keepdim=True), weights)
    changes = {k: more.pop(k) for k in ("ramp", "mixup") if k in more}
    objective = choose_objective(loss, **changes)
    strong = (strong or Noise(0.5)) if objective.strong_view else None
    more = {"epochs": 4, "batch_size": batch_size, "lr": 0.1, "weight_decay": 0.0} | more
    settings = Settings(objective, identity, strong, **more)
    return Trainer(network, DeepRows((n, 3), x), identity, labels, settings)
