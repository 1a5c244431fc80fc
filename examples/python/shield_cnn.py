# %% [markdown]
# # A convolutional network that obeys
#
# Four different handwritten digits side by side (UC4 of the paper): which digits are there? In every image they sum to more than 10,
# and a network that sees 3, 4 and nothing else is wrong for sure. `deepsade.shield` puts an output step behind a small network of
# PyTorch that gives the most likely set of digits with such a sum, for every image, proved.
#
# MNIST is looked for in `$DEEPSADE_DATA` or `../shared/data`; without it the digits are made up. Needs torch and
# `pip install 'deepsade[shield]'`. A few minutes; `--quick` shows the way in seconds.

# %%
import gzip
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

import deepsade

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    print(f"{error}: pip install 'deepsade[shield,torch]'")
    sys.exit(0)

QUICK = "--quick" in sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SIDE = 28


def digits(kind):
    """Images and digits of MNIST."""
    for folder in (os.environ.get("DEEPSADE_DATA"), ROOT.parent / "shared" / "data"):
        folder = pathlib.Path(folder or ".")
        images, labels = folder / f"{kind}-images-idx3-ubyte.gz", folder / f"{kind}-labels-idx1-ubyte.gz"
        if images.exists() and labels.exists():
            pixels = np.frombuffer(gzip.decompress(images.read_bytes()), dtype=np.uint8, offset=16)
            return pixels.reshape(-1, SIDE, SIDE), np.frombuffer(gzip.decompress(labels.read_bytes()), dtype=np.uint8, offset=8)
    print(f"{kind}: MNIST is not there; using made-up digits")
    rng = np.random.default_rng(0)
    shapes, labels = rng.integers(0, 256, (10, SIDE, SIDE)), rng.integers(0, 10, 2000)
    return np.clip(shapes[labels] + rng.normal(0, 60, (2000, SIDE, SIDE)), 0, 255).astype(np.uint8), labels


def side_by_side(kind, rows, seed):
    """Images of four different digits whose sum is more than 10, and which digits are there."""
    rng = np.random.default_rng(seed)
    images, labels = digits(kind)
    of = [np.flatnonzero(labels == d) for d in range(10)]
    X, Y = np.empty((rows, 1, SIDE, 4 * SIDE), dtype=np.float32), np.zeros((rows, 10), dtype=np.int64)
    for row in range(rows):
        chosen = rng.permutation(10)[:4]
        while chosen.sum() <= 10:
            chosen = rng.permutation(10)[:4]
        X[row, 0] = np.concatenate([images[rng.choice(of[d])] for d in chosen], axis=1) / np.float32(255)
        Y[row, chosen] = 1
    return X, Y


X, Y = side_by_side("train", 2000 if QUICK else 12_000, 0)
X_test, Y_test = side_by_side("t10k", 500 if QUICK else 2000, 1)

# %% [markdown]
# ## A network of one's own
#
# Nothing here knows of rules.

# %%
torch.manual_seed(0)


class Digits(nn.Module):
    """What each of the four places shows, and of each digit the largest score over the places."""

    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10),
        )

    def forward(self, x):
        places = x.reshape(-1, SIDE, 4, SIDE).permute(0, 2, 1, 3).reshape(-1, 1, SIDE, SIDE)
        return self.see(places).reshape(-1, 4, 10).amax(dim=1)


module = Digits()
optimiser = torch.optim.Adam(module.parameters(), 2e-3)
begun = time.perf_counter()
for epoch in range(4 if QUICK else 8):
    order, total = torch.randperm(len(X)), 0.0
    for batch in order.split(50):
        loss = nn.functional.binary_cross_entropy_with_logits(module(torch.from_numpy(X[batch])), torch.from_numpy(Y[batch]).float())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.item() * len(batch)
    print(f"epoch {epoch + 1}: loss {total / len(X):.4f} ({time.perf_counter() - begun:.0f} s)")

# %% [markdown]
# ## The step
#
# Every pixel is between 0 and 1; more there is not to know of an image.

# %%
rule = "sum(i * label[i] for i in 0..10) > 10"
shielded = deepsade.shield(module, {"sum above ten": rule}, data=X[:100], target=Y[:100], domain=(0.0, 1.0))
assert shielded.certified_
print(f"\n{shielded.made_}\n{shielded.verdict_}\n")


# %% [markdown]
# ## With the step and without
#
# Besides images like those of the training, noise: there a network says anything.

# %%
def rows_that_break(y):
    return y @ np.arange(10) <= 10


with torch.no_grad():
    raw = (module(torch.from_numpy(X_test)).numpy() > 0).astype(int)
    noise = np.random.default_rng(2).uniform(0, 1, (500, *X.shape[1:])).astype(np.float32) ** 4
    raw_noise = (module(torch.from_numpy(noise)).numpy() > 0).astype(int)
safe, safe_noise = shielded.predict(X_test), shielded.predict(noise)
print(f"{'':10} {'all digits right':>17} {'rule broken':>12} {'rule broken, noise':>19}")
for name, y, on_noise in (("network", raw, raw_noise), ("shielded", safe, safe_noise)):
    right = (y == Y_test).all(axis=1).mean()
    print(f"{name:10} {right:17.2%} {rows_that_break(y).mean():12.2%} {rows_that_break(on_noise).mean():19.2%}")
assert not rows_that_break(safe).any() and not rows_that_break(safe_noise).any()
assert (safe[~rows_that_break(raw)] == raw[~rows_that_break(raw)]).all()

with tempfile.TemporaryDirectory() as folder:
    shielded.save(folder)
    print(f"\n{deepsade.check(folder)}")
