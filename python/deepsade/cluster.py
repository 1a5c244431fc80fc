"""Beyond one machine: the same Rust core as tasks of a Ray cluster (needs ray).

Each task is a pure function of what it is sent, so a task whose worker is lost is simply run again, and the answer is the one
machine's. Sweeps and cross-validation need nothing of this: any joblib backend does, through scikit-learn.
"""

import json
import os
import time

import numpy as np

from . import _core
from ._frame import is_frame
from ._functions import Adversity
from ._progress import Progress
from ._subject import onnx_of, rows_of, rules_for

__all__ = ["adversity", "reproduce"]

#: A task whose worker is lost is tried again as often as this.
RETRIES = 20


def adversity(
    model, X, rules=None, *, address=None, radius=_core.RADIUS, timeout=_core.ADVERSITY_SECONDS, rows_per_task=None, num_cpus=1, domain=None, task=None,
    target_names=None, classes=None,
):
    """:func:`deepsade.adversity` with its rows dealt out to a Ray cluster.

    ``address`` is as in ``ray.init``: "auto", "ray://host:port", or None for one that is already connected, else a local one.
    Rows go out ``rows_per_task`` at a time (default: four tasks for each CPU), each task with ``num_cpus`` threads.
    """
    onnx = onnx_of(model)
    asked = rules_for(rules, onnx, domain, task, target_names, classes)
    ray = _connected(address)
    count = len(X)
    if rows_per_task is None:
        rows_per_task = max(1, -(-count // int(4 * max(1, ray.cluster_resources().get("CPU", 1)))))
    shared = ray.put(onnx)

    def part(start):
        chunk = X[start : start + rows_per_task]
        return chunk if is_frame(chunk) else np.ascontiguousarray(chunk, dtype=np.float64)

    starts = range(0, count, rows_per_task)
    begun = time.perf_counter()
    work = ray.remote(num_cpus=num_cpus, max_retries=RETRIES)(_near)
    parts = [work.remote(shared, asked, part(start), radius, timeout, num_cpus) for start in starts]
    near, outside = [], 0
    for start, (lines, left) in zip(starts, ray.get(parts)):
        outside += left
        for line in lines:
            found = json.loads(line)
            found["row"] += start
            near.append(found)
    if not near:
        raise ValueError(f"no row of X lies in the domain ({outside} lie outside)")
    return Adversity(near, outside, radius, time.perf_counter() - begun)


def reproduce(
    out, cases=(), methods=(), *, address=None, data=None, repeats=None, folds=_core.FOLDS, quick=False, seed=0, resume=False, num_cpus=1,
    verbose=False,
):
    """The runs of ``deepsade reproduce`` on a Ray cluster; gives the lines of ``out``/results.jsonl, which it writes as they come.

    Each task is one training with its scores. ``data`` is the folder of the data files (default: ``$DEEPSADE_DATA``), which every
    node must have under this path. A run that failed with its node is run again; with ``resume`` those of an earlier call that
    are there are not. The scores are those of one machine; seconds are of the node that ran it. Tables and figures are drawn by
    ``deepsade reproduce ... --resume --out OUT``, which finds all runs done.
    """
    data = os.environ.get("DEEPSADE_DATA") if data is None else os.fspath(data)
    if data is None:
        raise ValueError("name the folder of the data files with data=... or $DEEPSADE_DATA; docs/data.md says what they are")
    repeats = repeats if repeats is not None else _core.repeats(quick)
    asked = (os.path.abspath(data), list(cases), list(methods), int(repeats), int(folds), bool(quick), int(seed))
    experiment = _core.Experiment(*asked)
    results = experiment.results(os.fspath(out), resume)
    left = results.left(experiment)
    costs = experiment.costs()
    ray = _connected(address)
    work = ray.remote(num_cpus=num_cpus, max_retries=RETRIES)(_run)
    # The longest first, so that none is left alone at the end.
    open_tasks = [work.remote(asked, index) for index in sorted(left, key=lambda k: -costs[k])]
    with Progress(verbose, "run") as progress:
        while open_tasks:
            done, open_tasks = ray.wait(open_tasks)
            for line in ray.get(done):
                results.append(line)
            if progress is not None:
                progress(len(left) - len(open_tasks), len(left))
    with open(os.path.join(out, "results.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _run(asked, index):
    """One task."""
    return _core.Experiment(*asked).run(index)


def _near(onnx, rules, rows, radius, timeout, threads):
    """One task."""
    return _core.adversity(onnx, rules, rows_of(rows, onnx), radius, timeout, int(threads))


def _connected(address):
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("deepsade.cluster needs Ray: pip install 'deepsade[cluster]'", name="ray") from error

    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    return ray
