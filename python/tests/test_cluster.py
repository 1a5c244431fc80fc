"""A local Ray cluster of two nodes, one of which dies in the middle."""

import contextlib
import json
import os
import pathlib
import threading
import time

import numpy as np
import pytest

# A busy machine takes its time to start a node or a worker, and to answer; what is killed is noticed at once all the same.
for setting in ("raylet_start_wait_time_s", "worker_register_timeout_seconds"):
    os.environ.setdefault(f"RAY_{setting}", "300")
os.environ.setdefault("RAY_health_check_timeout_ms", "60000")
ray = pytest.importorskip("ray", reason="ray is not installed: pip install deepsade[cluster]")

import deepsade.cluster
from deepsade import DeepSaDeRegressor
from deepsade.cluster import adversity


#: Seconds that anything may take on a busy machine.
PATIENCE = 300


@pytest.fixture(scope="module")
def free():
    rng = np.random.default_rng(1)
    X = rng.uniform([10, 1], [100, 6], (400, 2))
    Y = X[:, :1] * rng.dirichlet([2, 3, 4], 400)[:, :2]
    return DeepSaDeRegressor(target_names=["food", "rent"], hidden=(8,), epochs=20).fit(X, Y), X


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.lost = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes(timeout=PATIENCE)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@contextlib.contextmanager
def a_node_lost(cluster, monkeypatch, task, folder):
    """Kills one of the two nodes while it works. Its tasks never end there: only those sent out again can be the answer.

    Nothing depends on where tasks are put first: those of the other node wait until this one has a task, which it must get, since
    each node has one processor and the other's is taken.
    """
    lost, at_work, inner, patience = cluster.lost.node_id, folder / "at-work", getattr(deepsade.cluster, task), PATIENCE

    def lost_one_at_work():
        end = time.monotonic() + patience
        while not at_work.exists():
            assert time.monotonic() < end, f"no task reached the node that is to be lost within {patience} s"
            time.sleep(0.05)

    def held(*arguments):
        if ray.get_runtime_context().get_node_id() == lost:
            at_work.touch()
            time.sleep(3600)
        lost_one_at_work()
        return inner(*arguments)

    def kill():
        lost_one_at_work()
        cluster.remove_node(cluster.lost, allow_graceful=False)

    monkeypatch.setattr(deepsade.cluster, task, held)
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield
    killer.join(timeout=PATIENCE)
    assert not killer.is_alive() and at_work.exists() and len(cluster.list_all_nodes()) == 1


def test_nothing_is_lost_with_a_node(cluster, free, monkeypatch, tmp_path):
    model, X = free
    rules = ["food + rent <= 0.55 * x0"]
    alone = deepsade.adversity(model, X, rules, radius=0.05)
    assert 0 < alone["adversity"] < 100
    with a_node_lost(cluster, monkeypatch, "_near", tmp_path):
        spread = adversity(model, X, rules, radius=0.05, rows_per_task=2)
    # How long it took is another matter.
    del spread["seconds"], alone["seconds"]
    assert spread == alone and spread.near == alone.near


def test_a_grid_search_over_rays_joblib_backend(cluster, free):
    import joblib
    from ray.util.joblib import register_ray
    from sklearn.model_selection import GridSearchCV

    _, X = free
    y = X[:, 0] / 2
    register_ray()
    estimator = DeepSaDeRegressor(rules=["y <= x0"], epochs=5, outside="ignore")
    search = GridSearchCV(estimator, {"hidden": [(4,), (8,)]}, cv=2)
    with joblib.parallel_backend("ray", n_jobs=2):
        there = search.fit(X, y).cv_results_["mean_test_score"]
    here = GridSearchCV(estimator, {"hidden": [(4,), (8,)]}, cv=2).fit(X, y).cv_results_["mean_test_score"]
    assert np.array_equal(there, here)


def test_an_experiment_gives_the_same_lines(cluster, monkeypatch, tmp_path):
    folder = pathlib.Path(os.environ.get("DEEPSADE_DATA") or pathlib.Path(__file__).parents[3] / "shared" / "data")
    if not (folder / "loan_data_set.csv").exists():
        pytest.skip("the public data are not there: $DEEPSADE_DATA or ../shared/data")
    from deepsade import _core
    from deepsade.cluster import reproduce

    options = {"cases": ["uc2"], "methods": ["deepsade", "ffn"], "repeats": 2, "quick": True, "data": folder}
    with a_node_lost(cluster, monkeypatch, "_run", tmp_path):
        lines = reproduce(tmp_path / "spread", **options)
    assert len(lines) == 2 * 5 * 2
    alone = _core.Experiment(folder, ["uc2"], ["deepsade", "ffn"], 2, 5, True, 0)
    scores = lambda line: {k: v for k, v in line.items() if not k.endswith("seconds")}
    ordered = lambda lines: sorted((scores(line) for line in lines), key=lambda r: (r["method"], r["repeat"], r["fold"]))
    assert ordered(lines) == ordered(json.loads(alone.run(k)) for k in range(len(alone)))
    assert reproduce(tmp_path / "spread", **options, resume=True) == lines
