"""Names of classes and columns that other tools write into a model's metadata: they are the rules', in the same order, or it is told."""

import onnx
import program
import pytest
from onnx import helper
from test_shield_reading import classes, linear

COMMANDS = {
    "verify": ["verify", "--model", "m.onnx", "--rules", "rules.toml"],
    "repair": ["repair", "--model", "m.onnx", "--rules", "rules.toml", "--out", "out"],
    "shield": ["shield", "--model", "m.onnx", "--rules", "rules.toml", "--out", "out"],
}


def told(folder, command, key, text):
    linear(folder / "m.onnx", helper.make_node("Identity", ["sum"], ["variable"]), 3)
    model = onnx.load(folder / "m.onnx")
    model.metadata_props.add(key=key, value=text)
    onnx.save(model, folder / "m.onnx")
    (folder / "rules.toml").write_text(classes("r", "s", "t"))
    return program.run(*COMMANDS[command], capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "key,text",
    [
        ("classes", '["s", "r", "t"]'),
        ("anything", "{'r': 1, 's': 0, 't': 2}"),
        ("label2id", '{"r": 1, "s": 0, "t": 2}'),
        ("id2label", '{"2": "t", "1": "r", "0": "s"}'),
        ("names", "{0: 's', 1: 'r', 2: 't'}"),
        ("config", '{"model": {"labels": ["s", "r", "t"]}}'),
        ("class_names", "x,y,z"),
        ("feature_names", '["b", "a"]'),
        ("columns", "b;a"),
    ],
)
def test_names_in_another_order_are_refused(command, key, text, tmp_path):
    done = told(tmp_path, command, key, text)
    assert done.returncode == 2 and "order" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["shield", "verify"])
@pytest.mark.parametrize(
    "key,text",
    [
        ("classes", '["r", "s", "t"]'),
        ("label2id", '{"t": 2, "s": 1, "r": 0}'),
        ("description", "tells t from r and s"),
        ("feature_names", '["a", "b"]'),
        ("feature_names", '["one", "two"]'),
    ],
)
def test_names_in_the_same_order_are_no_matter(command, key, text, tmp_path):
    done = told(tmp_path, command, key, text)
    assert done.returncode == (0 if command == "shield" else 1), done.stdout + done.stderr


def test_a_given_network_has_the_classes_of_the_rules(tmp_path):
    """`[network] trunk` with freeze: the file's scores are the model's."""
    told(tmp_path, "verify", "classes", '["s", "r", "t"]')
    rows = "".join(f"{i % 11},{(7 * i) % 11},{'rst'[i % 3]}\n" for i in range(200))
    (tmp_path / "d.csv").write_text("a,b,t\n" + rows)
    data = '[data]\nfile = "d.csv"\ntargets = ["t"]\n[network]\ntrunk = "m.onnx"\nfreeze = true\n[train]\nenforce = "decode"\nepochs = 1\n'
    text = classes("r", "s", "t").replace('targets = ["t"]\n', "")
    for metadata, code in ('["s", "r", "t"]', 2), ('["r", "s", "t"]', 0):
        model = onnx.load(tmp_path / "m.onnx")
        model.metadata_props[0].value = metadata
        onnx.save(model, tmp_path / "m.onnx")
        (tmp_path / "rules.toml").write_text(data + text)
        done = program.run("train", "rules.toml", "--out", "run", "-q", capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
