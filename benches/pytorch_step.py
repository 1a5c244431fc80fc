#!/usr/bin/env python3
"""One training step, DeepSaDe beside PyTorch: sizes enter, a Markdown table leaves.

    python3 -m venv /tmp/venv-torch && /tmp/venv-torch/bin/pip install torch
    /tmp/venv-torch/bin/python benches/pytorch_step.py

Both use one thread, the same sizes, softmax cross-entropy and SGD; a step is forward, loss, backward and update of a batch that is
already in place. Blocks of steps run in turn, so that what else the machine does falls on both. Without torch only DeepSaDe is timed.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import time

ROUNDS = 15
BLOCK_SECONDS = 0.04
# Sizes, batch, and the largest ratio that counts as reached.
CASES = [
    ("13-50-30-10-2", 5, 0.05),
    ("13-50-50-14-5", 5, 0.05),
    ("36-25-25-10-16", 10, 0.05),
    ("3136-50-50-10-10", 10, 0.35),
    ("13-50-30-10-2", 256, 0.5),
    ("13-50-50-14-5", 256, 0.5),
    ("36-25-25-10-16", 256, 0.5),
    ("3136-50-50-10-10", 256, 0.5),
]


class Rust:
    """The bench binary, answering one block of steps a line."""

    def __init__(self):
        root = pathlib.Path(__file__).resolve().parent.parent
        build = ["cargo", "bench", "-p", "deepsade-engine", "--bench", "step", "--no-run", "--message-format=json-render-diagnostics"]
        lines = subprocess.run(build, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        made = [json.loads(line) for line in lines if line.startswith("{")]
        path = next(m["executable"] for m in made if m.get("executable") and m["target"]["name"] == "step")
        self.process = subprocess.Popen([path, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def block(self, sizes, batch):
        self.process.stdin.write(f"{sizes}@{batch}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["us"]


class Torch:
    """The same steps in PyTorch, eager, as its tutorials write them."""

    def __init__(self, torch):
        self.torch = torch
        torch.set_num_threads(1)
        self.steps = {}
        self.counts = {}
        for sizes, batch, _ in CASES:
            self.steps[sizes, batch] = step = self.make([int(n) for n in sizes.split("-")], batch)
            for _ in range(10):
                step()
            started = time.perf_counter()
            for _ in range(10):
                step()
            self.counts[sizes, batch] = max(1, round(BLOCK_SECONDS / ((time.perf_counter() - started) / 10)))

    def make(self, sizes, batch):
        torch = self.torch
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        network = torch.nn.Sequential(*layers[:-1])
        optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
        loss = torch.nn.CrossEntropyLoss()
        x = torch.rand(batch, sizes[0])
        y = torch.arange(batch) % sizes[-1]

        def step():
            optimiser.zero_grad()
            loss(network(x), y).backward()
            optimiser.step()

        return step

    def block(self, sizes, batch):
        step, count = self.steps[sizes, batch], self.counts[sizes, batch]
        started = time.perf_counter()
        for _ in range(count):
            step()
        return (time.perf_counter() - started) / count * 1e6


def main():
    rust = Rust()
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed (pip install torch): timing DeepSaDe alone.", file=sys.stderr)
        sides = {"rust": rust}
    else:
        sides = {"rust": rust, "torch": Torch(torch)}
        print(f"PyTorch {torch.__version__}, one thread, {ROUNDS} blocks each, in turn\n")
    times = {(side, sizes, batch): [] for side in sides for sizes, batch, _ in CASES}
    for _ in range(ROUNDS):
        for sizes, batch, _ in CASES:
            for side, runner in sides.items():
                times[side, sizes, batch].append(runner.block(sizes, batch))

    print("| network | batch | DeepSaDe min / median (us) | PyTorch min / median (us) | ratio of min | of medians | goal |")
    print("|---|---|---|---|---|---|---|")
    for sizes, batch, goal in CASES:
        ours = times["rust", sizes, batch]
        theirs = times.get(("torch", sizes, batch))
        show = lambda t: f"{min(t):.1f} / {statistics.median(t):.1f}"
        if theirs:
            ratios = min(ours) / min(theirs), statistics.median(ours) / statistics.median(theirs)
            rest = f"{show(theirs)} | {ratios[0]:.3f} | {ratios[1]:.3f} | {'reached' if ratios[1] <= goal else 'missed'}, {goal}"
        else:
            rest = f"- | - | - | {goal}"
        print(f"| {sizes} | {batch} | {show(ours)} | {rest} |")


if __name__ == "__main__":
    main()
