"""No input of the domain breaks a rule of a certified model, however it is found and evaluated (attack.py)."""

import pytest
from attack import RULES, Attack, data_file, data_folder, train

COUNT = 200_000


def attacked(example, folder, count, enforce=None):
    if data_folder(example) is None:
        pytest.skip(f"no {data_file(example)} in $DEEPSADE_DATA or ../shared/data (docs/data.md)")
    report = train(example, folder, enforce)
    return report, Attack(folder / "model.onnx", RULES[example]()).run(count).report()


@pytest.mark.parametrize("example", RULES)
def test_no_input_breaks_a_rule_of_a_certified_model(example, tmp_path):
    trained, found = attacked(example, tmp_path, COUNT)
    assert trained["certified"] is True
    assert found["inputs"] >= COUNT * 0.9 and min(found["inputs by kind"].values()) > COUNT // 20
    assert found["violations"] == 0, found["example"]


@pytest.mark.parametrize("example", RULES)
def test_no_input_breaks_a_rule_behind_an_output_step(example, tmp_path):
    trained, found = attacked(example, tmp_path, COUNT // 4, enforce="decode")
    assert trained["certified"] is True and trained["decode"] == "in-graph"
    assert found["violations"] == 0, found["example"]


@pytest.mark.parametrize("example", RULES)
def test_the_attack_breaks_a_model_without_guarantee(example, tmp_path):
    trained, found = attacked(example, tmp_path, COUNT // 4, enforce="none")
    assert trained["certified"] is False
    assert found["violations by kind"]["gradient"] > 0
    assert found["violations by kind"]["condition"] > 0
