"""Beyond one machine: the same Rust core as tasks of a Ray cluster (needs ray).

Each task is a pure function of what it is sent, so a task whose worker is lost is simply run again, and the answer is the one
machine's. Sweeps and cross-validation need nothing of this: any joblib backend does, through scikit-learn.
"""

import json

import numpy as np

from . import _core
from ._frame import is_frame
from ._functions import Adversity, _rows_of, _rules, onnx_of

__all__ = ["adversity"]

#: A task whose worker is lost is tried again as often as this.
RETRIES = 20


def adversity(
    model, X, rules=None, *, address=None, radius=0.1, timeout=10.0, rows_per_task=None, num_cpus=1, domain=None, task="regression",
    target_names=None, classes=None,
):
    """:func:`deepsade.adversity` with its rows dealt out to a Ray cluster.

    ``address`` is as in ``ray.init``: "auto", "ray://host:port", or None for one that is already connected, else a local one.
    Rows go out ``rows_per_task`` at a time (default: four tasks for each CPU), each task with ``num_cpus`` threads.
    """
    onnx = onnx_of(model)
    asked = _rules(rules, onnx, domain, task, target_names, classes)
    ray = _connected(address)
    count = len(X)
    if rows_per_task is None:
        rows_per_task = max(1, -(-count // int(4 * max(1, ray.cluster_resources().get("CPU", 1)))))
    shared = ray.put(onnx)

    def part(start):
        chunk = X[start : start + rows_per_task]
        return chunk if is_frame(chunk) else np.ascontiguousarray(chunk, dtype=np.float64)

    starts = range(0, count, rows_per_task)
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
    return Adversity(near, outside, radius)


def _near(onnx, rules, rows, radius, timeout, threads):
    """One task."""
    return _core.adversity(onnx, rules, _rows_of(None, rows, onnx), radius, timeout, int(threads))


def _connected(address):
    import ray

    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    return ray
