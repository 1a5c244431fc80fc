"""Random certified models, attacked through onnxruntime at every level of optimisation: no input of the domain breaks a rule.

    DEEPSADE_EFFORT=100 DEEPSADE_SEED=7 pytest tests/python/test_random_models.py
"""

import numpy as np
import pytest

import effort
from random_models import TASKS, Model, broken, climbed, random_points, trained


def attacked(kind, tmp_path, wanted, guarantee):
    """So many models, each with the first violation that was found at each level of optimisation."""
    random, found = effort.source("attack", kind, guarantee), []
    for k in range(3 * wanted):
        made = trained(kind, random, tmp_path / str(k), guarantee)
        if made is None:
            continue
        folder, _, rules = made
        model = Model(folder / "model.onnx")
        points = np.concatenate([random_points(random, 300), climbed(model, random)])
        found.append([broken(model, rules, points, level) for level in range(len(model.sessions))])
        if len(found) == wanted:
            break
    assert len(found) >= wanted / 2, f"{len(found)} of {wanted} models came about"
    return found


@pytest.mark.parametrize("kind", TASKS)
def test_no_input_breaks_a_rule_of_a_random_certified_model(kind, tmp_path):
    for violations in attacked(kind, tmp_path, effort.count(6), True):
        assert not any(violations), violations


@pytest.mark.parametrize("kind", TASKS)
def test_the_attack_breaks_random_models_without_guarantee(kind, tmp_path):
    found = attacked(kind, tmp_path, effort.count(6), False)
    assert sum(all(violations) for violations in found) >= len(found) / 3
