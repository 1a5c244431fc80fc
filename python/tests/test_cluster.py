"""A local Ray cluster of two nodes, one of which dies in the middle."""

import threading
import time

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="ray is not installed: pip install deepsade[cluster]")

import deepsade
from deepsade import DeepSaDeRegressor
from deepsade.cluster import adversity


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
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_nothing_is_lost_with_a_node(cluster, free):
    model, X = free
    rules = ["food + rent <= 0.55 * x0"]
    alone = deepsade.adversity(model, X, rules, radius=0.05)
    assert 0 < alone["adversity"] < 100
    killed = []

    def kill():
        time.sleep(1.0)
        cluster.remove_node(cluster.lost, allow_graceful=False)
        killed.append(True)

    killer = threading.Thread(target=kill)
    killer.start()
    spread = adversity(model, X, rules, radius=0.05, rows_per_task=2)
    killer.join()
    assert killed and len(cluster.list_all_nodes()) == 1
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
