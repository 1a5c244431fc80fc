"""What `shield` reads of models of other tools, as their converters write them: columns, classes, inputs; and what it says where it can't."""

import csv
import hashlib
import json

import numpy as np
import onnx
import onnxruntime
import program
import pytest
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
FLOAT = TensorProto.FLOAT
HEAD = "[features.a]\nrange = [0, 10]\n[features.b]\nrange = [0, 10]\n[task]\n"
NUMBERS = HEAD + 'kind = "regression"\ntargets = ["u", "v", "w"]\n[[rule]]\nname = "r"\ntext = "u + v <= w"\n'
WEIGHTS = np.array([[1, 0, 1], [0, 1, 1]], np.float32)


def classes(*names):
    stated = f'kind = "multiclass"\ntargets = ["t"]\nclasses = {list(names)}\n'.replace("'", '"')
    return HEAD + stated + f'[[rule]]\nname = "r"\ntext = "a > 9 => t != \'{names[0]}\'"\n'


def saved(path, nodes, outputs, tensors=(), inputs=None):
    port = helper.make_tensor_value_info
    inputs = [port("x", FLOAT, [None, 2])] if inputs is None else [port(*i) for i in inputs]
    stored = [numpy_helper.from_array(value, name) for name, value in tensors]
    graph = helper.make_graph(nodes, "g", inputs, [o if isinstance(o, onnx.ValueInfoProto) else port(*o) for o in outputs], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid(ML, 1)], ir_version=8), path)


def shield(folder, rules, *options):
    (folder / "rules.toml").write_text(rules)
    command = ["shield", "--model", folder / "m.onnx", "--rules", folder / "rules.toml", "--out", folder / "out", *options]
    return program.run(*command, capture_output=True, text=True)


def runs(folder):
    """Outputs of the shielded file for a few rows, which obey."""
    x = np.random.default_rng(0).uniform(0, 1, (7, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(folder / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    y, inside, ok = session.run(["y", "in_domain", "ok"], {"x": x})
    assert inside.all() and ok.all()
    return x, y


def linear(path, last, width, tensors=()):
    nodes = [helper.make_node("MatMul", ["x", "W"], ["product"]), helper.make_node("Add", ["product", "b"], ["sum"]), last]
    saved(path, nodes, [("variable", FLOAT, [None, width])], [("W", WEIGHTS), ("b", np.zeros((1, 3), np.float32)), *tensors])


def regressor(path):
    node = helper.make_node("LinearRegressor", ["x"], ["variable"], domain=ML, targets=3, coefficients=WEIGHTS.T.ravel().tolist(), intercepts=[0.0] * 3)
    saved(path, [node], [("variable", FLOAT, [None, 1])])


def regrouped(path):
    """As skl2onnx writes an MLPRegressor of several targets."""
    shape = ("shape", np.array([-1, 1]))
    linear(path, helper.make_node("Reshape", ["sum", "shape"], ["variable"]), 1, [shape])


MAKERS = {
    "a regressor that names its targets": regressor,
    "a product": lambda path: linear(path, helper.make_node("Identity", ["sum"], ["variable"]), 1),
    "one column of all": regrouped,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_what_operators_make_counts_not_the_width_that_the_file_states(kind, tmp_path):
    MAKERS[kind](tmp_path / "m.onnx")
    done = shield(tmp_path, NUMBERS)
    assert done.returncode == 0, done.stderr
    x, y = runs(tmp_path)
    assert np.allclose(y, x @ WEIGHTS, atol=1e-3) and (y[:, 0].astype(float) + y[:, 1] <= y[:, 2]).all()


def test_another_number_of_columns_is_refused(tmp_path):
    linear(tmp_path / "m.onnx", helper.make_node("Identity", ["sum"], ["variable"]), 2)
    two = NUMBERS.replace(', "w"', "").replace("u + v <= w", "u <= v")
    done = shield(tmp_path, two)
    assert done.returncode == 2 and "'variable' has 3 columns, but the rules speak of 2 outputs" in done.stderr, done.stderr
    # Nor an inner tensor of which that is known.
    assert shield(tmp_path, two, "--output", "product").returncode == 2


def classifier(path, labels, kind):
    """Scores of three classes, whose names stand where converters put them."""
    key = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    code = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    product = helper.make_node("MatMul", ["x", "W"], ["scores"])
    weights, label = ("W", WEIGHTS), ("label", code, [None])
    probabilities = ("probabilities", FLOAT, [None, 3])
    if kind == "classifier":
        key = key.replace("int64s", "ints")
        node = helper.make_node("LinearClassifier", ["x"], ["label", "raw"], domain=ML, coefficients=WEIGHTS.T.ravel().tolist(), intercepts=[0.0] * 3, **{key: labels})
        saved(path, [node, helper.make_node("Softmax", ["raw"], ["probabilities"])], [label, probabilities])
    elif kind == "largest":
        nodes = [product, helper.make_node("ArgMax", ["scores"], ["largest"], axis=1, keepdims=0)]
        nodes += [helper.make_node("ArrayFeatureExtractor", ["names", "largest"], ["label"], domain=ML)]
        nodes += [helper.make_node("Identity", ["scores"], ["probabilities"])]
        names = np.array(labels, object) if code == TensorProto.STRING else np.array(labels)
        saved(path, nodes, [label, probabilities], [weights, ("names", names)])
    else:
        element = helper.make_map_type_proto(code, helper.make_tensor_type_proto(FLOAT, []))
        maps = helper.make_value_info("maps", helper.make_sequence_type_proto(element))
        saved(path, [product, helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, **{key: labels})], [maps], [weights])


@pytest.mark.parametrize("kind", ["classifier", "largest", "map"])
@pytest.mark.parametrize(
    "labels, stated, told",
    [
        (["bad", "good", "mid"], ["bad", "good", "mid"], None),
        ([3, 5, 7], ["3", "5", "7"], None),
        (["bad", "good", "mid"], ["good", "bad", "mid"], 'classes = ["bad", "good", "mid"]'),
        ([0, 1, 2], ["1", "0", "2"], 'classes = ["0", "1", "2"]'),
        ([0, 1, 2], ["1", "2", "3"], 'classes = ["0", "1", "2"]'),
        ([0, 1, 2], ["10", "20", "30"], "0 as '10', 1 as '20', 2 as '30'"),
        ([0, 1, 2], ["good", "bad", "mid"], "0 as 'good', 1 as 'bad', 2 as 'mid'"),
    ],
)
def test_the_classes_of_the_model_are_those_of_the_rules_in_the_same_order(kind, labels, stated, told, tmp_path):
    classifier(tmp_path / "m.onnx", labels, kind)
    done = shield(tmp_path, classes(*stated))
    if kind != "classifier":
        # `verify` reads the same file, and the same names.
        verified = program.run("verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml", capture_output=True, text=True)
        assert verified.returncode == (2 if told and told.startswith("classes") else 1) and (told or "") in verified.stderr, verified
    if told and told.startswith("classes"):
        shown = ", ".join(f'"{name}"' for name in stated)
        assert done.returncode == 2 and told in done.stderr and f"[{shown}]" in done.stderr, done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert ("numbers its classes" in done.stderr) == bool(told) and (told or "") in done.stderr, done.stderr
    _, y = runs(tmp_path)
    assert y.shape == (7, 3)


def test_outputs_are_listed_with_their_shapes_where_it_is_unclear_which_is_meant(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "W"], ["raw"]), helper.make_node("Softmax", ["raw"], ["p"])]
    saved(tmp_path / "m.onnx", nodes, [("raw", FLOAT, [None, 3]), ("p", FLOAT, [None, None])], [("W", WEIGHTS)])
    done = shield(tmp_path, NUMBERS)
    assert done.returncode == 2, done.stdout
    assert "'raw' (float [N, 3]), 'p' (float [N, ?])" in done.stderr and "--output NAME" in done.stderr, done.stderr
    assert shield(tmp_path, NUMBERS, "--output", "raw").returncode == 0


def columns(path, element):
    nodes = [helper.make_node("Cast", [name], [f"{name}f"], to=FLOAT) for name in "ab"]
    nodes += [helper.make_node("Concat", ["af", "bf"], ["both"], axis=1), helper.make_node("MatMul", ["both", "W"], ["variable"])]
    saved(path, nodes, [("variable", FLOAT, [None, 3])], [("W", WEIGHTS)], [(name, element, [None, 1]) for name in "ab"])


def test_whole_inputs_of_real_features_are_named_with_what_to_state(tmp_path):
    columns(tmp_path / "m.onnx", TensorProto.INT64)
    done = shield(tmp_path, NUMBERS)
    assert done.returncode == 2 and 'kind = "integer" under [features.a]' in done.stderr and "int64" in done.stderr, done.stderr
    whole = NUMBERS.replace("range = [0, 10]", 'range = [0, 10]\nkind = "integer"')
    assert shield(tmp_path, whole).returncode == 0
    saved(tmp_path / "m.onnx", [helper.make_node("Cast", ["x"], ["y"], to=FLOAT)], [("y", FLOAT, [None, 3])], (), [("x", TensorProto.INT64, [None, 2])])
    done = shield(tmp_path, NUMBERS)
    assert done.returncode == 2 and "'x' (int64 [N, 2]) holds no float numbers" in done.stderr, done.stderr


def test_predict_says_who_runs_a_shielded_file(tmp_path):
    regressor(tmp_path / "m.onnx")
    assert shield(tmp_path, NUMBERS).returncode == 0
    with open(tmp_path / "new.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], [1, 2]])
    done = program.run("predict", tmp_path / "out" / "model.onnx", tmp_path / "new.csv", capture_output=True, text=True)
    assert done.returncode == 2, done.stdout
    lines = [line.strip() for line in done.stderr.splitlines() if "session" in line]
    # What it says can be run.
    found = {"onnxruntime": onnxruntime, "rows": np.array([[1, 2]], np.float32)}
    exec("\n".join(lines), found)
    assert len(lines) == 2 and found["y"].shape == (1, 3) and found["in_domain"].all()


@pytest.mark.parametrize(
    "command",
    [
        ["shield", "--model", "none.onnx", "--rules", "rules.toml", "--out", "out"],
        ["export", "rules.toml", "--to", "smtlib", "--model", "none.onnx"],
        ["check", "--vnnlib", "none.vnnlib", "--model", "none.onnx", "--certificate", "none.json"],
        ["verify", "--model", "none.onnx", "--rules", "rules.toml"],
        ["predict", "none.onnx", "rules.toml"],
    ],
)
def test_a_file_that_is_not_there_is_told_with_the_reason(command, tmp_path):
    (tmp_path / "rules.toml").write_text(NUMBERS)
    done = program.run(*command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "No such file or directory" in done.stderr, done.stderr


def test_without_data_lawful_outputs_are_not_cut(tmp_path):
    product = helper.make_node("MatMul", ["x", "W"], ["u"])
    saved(tmp_path / "m.onnx", [product], [("u", FLOAT, [None, 1])], [("W", np.array([[1e5], [0]], np.float32))])
    told = shield(tmp_path, HEAD + 'kind = "regression"\ntargets = ["u"]\n[[rule]]\nname = "r"\ntext = "u >= 0"\n')
    assert told.returncode == 0 and "what is beyond is cut: u -" in told.stderr, told.stderr
    x, y = runs(tmp_path)
    assert (y[:, 0] == x[:, 0] * np.float32(1e5)).all()


def test_a_step_that_only_falls_back_is_told(tmp_path):
    product = helper.make_node("MatMul", ["x", "W"], ["u"])
    saved(tmp_path / "m.onnx", [product], [("u", FLOAT, [None, 1])], [("W", np.array([[1], [0]], np.float32))])
    rule = HEAD + 'kind = "regression"\ntargets = ["u"]\n[[rule]]\nname = "r"\ntext = "abs(u - a - b) <= {}"\n'
    assert "drawn at random" in shield(tmp_path, rule.format(0.000005)).stderr
    assert "drawn at random" not in shield(tmp_path, rule.format(0.5)).stderr


def test_probabilities_are_those_among_the_allowed_classes(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "W"], ["logits"]), helper.make_node("Softmax", ["logits"], ["p"], axis=1)]
    saved(tmp_path / "m.onnx", nodes, [("p", FLOAT, [None, 3])], [("W", 0.3 * WEIGHTS)])
    assert shield(tmp_path, classes("A", "B", "C")).returncode == 0
    x = np.random.default_rng(1).uniform(0, 10, (50, 2)).astype(np.float32)
    x[:25, 0] = 9.5
    session = onnxruntime.InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    (y,) = session.run(["y"], {"x": x})
    assert np.allclose(y.sum(axis=1), 1, atol=1e-5) and (y[:25, 0] == 0).all() and (y[x[:, 0] < 9, 0] > 0).all()


def test_labels_behind_a_sigmoid_are_not_taken_for_present(tmp_path):
    """Every probability is above 0: that some label is present would be proved of any network."""
    weights = ("W", np.zeros((2, 2), np.float32))
    nodes = [helper.make_node("MatMul", ["x", "W"], ["scores"]), helper.make_node("Sigmoid", ["scores"], ["probabilities"])]
    saved(tmp_path / "m.onnx", nodes, [("probabilities", FLOAT, [None, 2])], [weights])
    rules = '[features]\na = {range = [0, 1]}\nb = {range = [0, 1]}\n[task]\nkind = "multilabel"\ntargets = ["u", "v"]\n'
    (tmp_path / "r.toml").write_text(rules + '[[rule]]\nname = "one"\ntext = "u or v"\n')
    asked = ["verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "r.toml"]
    done = program.run(*asked, capture_output=True, text=True)
    assert done.returncode == 2 and "--output" in done.stderr, done
    assert program.run(*asked, "--output", "scores", capture_output=True, text=True).returncode == 1


@pytest.mark.parametrize("last", ["Identity", "Sigmoid"])
def test_one_number_for_two_classes_is_read_as_a_logit(last, tmp_path):
    """s = a - 4 with a in [0, 10]: 'yes' where it is above 0."""
    nodes = [helper.make_node("Gemm", ["x", "W", "c"], ["s"]), helper.make_node(last, ["s"], ["y"])]
    weights = [("W", np.array([[1], [0]], np.float32)), ("c", np.array([-4], np.float32))]
    saved(tmp_path / "m.onnx", nodes, [("y", FLOAT, [None, 1])], weights)
    for text, code in [("a > 5 => t == 'yes'", 0 if last == "Identity" else 3), ("a > 3 => t == 'yes'", 1), ("t == 'no' => a < 5", 0 if last == "Identity" else 3)]:
        stated = 'kind = "binary"\ntargets = ["t"]\nclasses = ["no", "yes"]\n'
        (tmp_path / "rules.toml").write_text(HEAD + stated + f'[[rule]]\nname = "r"\ntext = "{text}"\n')
        done = program.run("verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml", capture_output=True, text=True)
        assert done.returncode == code and "one number for two classes" in done.stderr, (text, done)


@pytest.mark.parametrize("behind", ["Identity", "Mul", "Concat", "Gemm", "Neg"])
def test_probabilities_are_seen_behind_other_operators(behind, tmp_path):
    """p = 0.05 throughout: above 0, and no label for it."""
    nodes = [helper.make_node("Gemm", ["x", "W", "c"], ["s"]), helper.make_node("Sigmoid", ["s"], ["p"])]
    more = {"Identity": [], "Mul": ["one"], "Concat": [], "Gemm": ["E"], "Neg": []}[behind]
    last = helper.make_node("Concat", ["p"], ["y"], axis=1) if behind == "Concat" else helper.make_node(behind, ["p", *more], ["y"])
    if behind == "Neg":
        nodes.append(helper.make_node("Neg", ["p"], ["q"]))
        last = helper.make_node("Add", ["q", "one"], ["y"])
    tensors = [("W", np.full((2, 2), 1e-3, np.float32)), ("c", np.full(2, -3, np.float32)), ("one", np.ones(1, np.float32)), ("E", np.eye(2, dtype=np.float32))]
    saved(tmp_path / "m.onnx", [*nodes, last], [("y", FLOAT, [None, 2])], tensors)
    stated = 'kind = "multilabel"\ntargets = ["u", "v"]\n[[rule]]\nname = "one"\ntext = "u or v"\n'
    (tmp_path / "rules.toml").write_text(HEAD + stated)
    done = program.run("verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml", capture_output=True, text=True)
    assert done.returncode == 2 and "probabilities" in done.stderr, done


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("command", ["verify", "shield"])
@pytest.mark.parametrize("kind", ["Gather", "LabelEncoder", "ArgMin", "Neg", "double", "bool"])
def test_labels_of_the_file_are_compared_or_told(kind, command, zipped, tmp_path):
    """The file calls its first column 'c'. Where that is read it is refused; where it is not, columns are read only if the tensor is named."""
    nodes = [helper.make_node("Gemm", ["x", "W", "c"], ["scores"]), helper.make_node("Neg", ["scores"], ["less"])]
    nodes.append(helper.make_node("ArgMin" if kind == "ArgMin" else "ArgMax", ["less" if kind == "Neg" else "scores"], ["largest"], axis=1, keepdims=0))
    label = {
        "Gather": helper.make_node("Gather", ["names", "largest"], ["label"]),
        "LabelEncoder": helper.make_node("LabelEncoder", ["largest"], ["label"], domain=ML, keys_int64s=[0, 1, 2], values_strings=["c", "b", "a"]),
        "double": helper.make_node("Cast", ["largest"], ["label"], to=TensorProto.DOUBLE),
        "bool": helper.make_node("Cast", ["largest"], ["label"], to=TensorProto.BOOL),
    }.get(kind) or helper.make_node("Identity", ["largest"], ["label"])
    code = {"Gather": TensorProto.STRING, "LabelEncoder": TensorProto.STRING, "double": TensorProto.DOUBLE, "bool": TensorProto.BOOL}.get(kind, TensorProto.INT64)
    tensors = [("W", np.zeros((2, 3), np.float32)), ("c", np.array([10, 0, -10], np.float32)), ("names", np.array(["c", "b", "a"], object))]
    outputs = [("label", code, [None]), ("scores", FLOAT, [None, 3])]
    if zipped:
        nodes.append(helper.make_node("ZipMap", ["scores"], ["map"], domain=ML, classlabels_strings=["a", "b", "c"]))
    saved(tmp_path / "m.onnx", [*nodes, label], outputs, tensors)
    (tmp_path / "rules.toml").write_text(classes("a", "b", "c").replace("a > 9 => t != 'a'", "t == 'a'"))
    asked = [command, "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml"]
    asked += ["--out", tmp_path / "out"] if command == "shield" else []
    done = program.run(*asked, capture_output=True, text=True)
    told = '["c", "b", "a"]' if kind == "Gather" else "several outputs hold numbers" if (kind, command) == ("double", "shield") else "'label' holds labels"
    assert done.returncode == 2 and told in done.stderr, done
    named = program.run(*asked, "--output", "scores", capture_output=True, text=True)
    # What the file says is compared even then.
    assert named.returncode == (2 if kind == "Gather" else 0), named
    if named.returncode == 0 and command == "verify":
        assert "read as the scores of 'a', 'b', 'c', in this order" in named.stderr, named


def test_scores_that_only_look_like_probabilities_can_be_named(tmp_path):
    """A hidden Sigmoid, and scores that happen to lie between 0 and 1: whoever names them says that they are scores. What a Sigmoid gives is none."""
    nodes = [helper.make_node("Gemm", ["x", "W", "c"], ["s"]), helper.make_node("Sigmoid", ["s"], ["h"]), helper.make_node("Gemm", ["h", "E", "e"], ["y"])]
    tensors = [("W", np.full((2, 2), 0.1, np.float32)), ("c", np.zeros(2, np.float32)), ("E", np.array([[0.5, -0.1], [-0.1, 0.5]], np.float32)), ("e", np.full(2, 0.1, np.float32))]
    saved(tmp_path / "m.onnx", nodes, [("y", FLOAT, [None, 2])], tensors)
    (tmp_path / "rules.toml").write_text(HEAD + 'kind = "multilabel"\ntargets = ["u", "v"]\n[[rule]]\nname = "one"\ntext = "u or v"\n')
    asked = ["verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml"]
    done = program.run(*asked, capture_output=True, text=True)
    assert done.returncode == 2 and "look like probabilities" in done.stderr, done
    assert program.run(*asked, "--output", "y", capture_output=True, text=True).returncode == 0
    assert program.run(*asked, "--output", "h", capture_output=True, text=True).returncode == 2


def test_outputs_beyond_those_of_the_data(tmp_path):
    """No row has a `u` of 10: the step finds it all the same."""
    saved(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "W"], ["raw"])], [("raw", FLOAT, [None, 1])], [("W", np.ones((2, 1), np.float32))])
    (tmp_path / "d.csv").write_text("a,b,u\n" + "".join(f"{k},{k},{k / 10}\n" for k in range(10)))
    rules = '[data]\nfile = "d.csv"\n' + HEAD + 'kind = "regression"\ntargets = ["u"]\n[[rule]]\nname = "r"\ntext = "u >= 100 + a"\n'
    done = shield(tmp_path, rules)
    assert done.returncode == 0, done
    x, y = runs(tmp_path)
    assert (y[:, 0] >= 100 + x[:, 0]).all()


def test_a_diagonal_last_layer_is_repaired(tmp_path):
    saved(tmp_path / "m.onnx", [helper.make_node("Gemm", ["x", "W", "c"], ["y"])], [("y", FLOAT, [None, 2])], [("W", np.eye(2, dtype=np.float32)), ("c", np.zeros(2, np.float32))])
    (tmp_path / "rules.toml").write_text(HEAD + 'kind = "regression"\ntargets = ["u", "v"]\n[[rule]]\nname = "r"\ntext = "u + v <= 11"\n')
    done = program.run("repair", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml", "--out", tmp_path / "out", capture_output=True, text=True)
    assert done.returncode == 0, done


def test_metadata_that_say_otherwise_are_told(tmp_path):
    """The proof is about the rule file; the model carries a rule of its own, by which `predict` judges."""
    saved(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "W"], ["y"])], [("y", FLOAT, [None, 3])], [("W", WEIGHTS)])
    assert shield(tmp_path, NUMBERS).returncode == 0
    assert "note" not in program.run("check", tmp_path / "out", capture_output=True, text=True).stderr
    model = onnx.load(tmp_path / "out" / "model.onnx")
    said = {p.key: p for p in model.metadata_props}
    said["deepsade.rules"].value = said["deepsade.rules"].value.replace("u + v <= w", "u <= v")
    onnx.save(model, tmp_path / "out" / "model.onnx")
    certificate = (tmp_path / "out" / "certificate.json").read_text()
    stated = json.loads(certificate)
    stated["model_sha256"] = hashlib.sha256((tmp_path / "out" / "model.onnx").read_bytes()).hexdigest()
    (tmp_path / "out" / "certificate.json").write_text(json.dumps(stated))
    done = program.run("check", tmp_path / "out", "--json", capture_output=True, text=True)
    assert done.returncode == 0 and "state other rules" in done.stderr, done
    assert len(json.loads(done.stdout)["notes"]) == 1


@pytest.mark.parametrize("command", ["verify", "repair", "shield"])
@pytest.mark.parametrize("kind", ["multilabel", "regression"])
@pytest.mark.parametrize("own", ["ZipMap", "Less", "double", "int64"])
def test_names_and_labels_of_files_count_for_every_task(own, kind, command, tmp_path):
    """The file calls its first column B, or gives labels or numbers of its own beside the scores: none of that is read as A without a word."""
    nodes = [helper.make_node("Gemm", ["x", "W", "c"], ["scores"])]
    tensors = [("W", np.zeros((2, 2), np.float32)), ("c", np.array([-1, 1], np.float32)), ("zero", np.zeros(1, np.float32))]
    scores, outputs = ("scores", FLOAT, [None, 2]), []
    if own == "ZipMap":
        nodes.append(helper.make_node("ZipMap", ["scores"], ["map"], domain=ML, classlabels_strings=["B", "A"]))
        outputs = [scores]
    elif own == "Less":
        nodes.append(helper.make_node("Less", ["scores", "zero"], ["own"]))
        outputs = [("own", TensorProto.BOOL, [None, 2]), scores]
    else:
        code = TensorProto.DOUBLE if own == "double" else TensorProto.INT64
        nodes += [helper.make_node("Mul", ["scores", "c"], ["more"]), helper.make_node("Cast", ["more"], ["own"], to=code)]
        outputs = [("own", code, [None, 2]), scores]
    saved(tmp_path / "m.onnx", nodes, outputs, tensors)
    rule = "not A" if kind == "multilabel" else "A <= 0"
    (tmp_path / "rules.toml").write_text(HEAD + f'kind = "{kind}"\ntargets = ["A", "B"]\n[[rule]]\nname = "r"\ntext = "{rule}"\n')
    asked = [command, "--model", tmp_path / "m.onnx", "--rules", tmp_path / "rules.toml"]
    asked += [] if command == "verify" else ["--out", tmp_path / "out"]
    done = program.run(*asked, capture_output=True, text=True)
    told = {"ZipMap": 'targets = ["B", "A"]', "double": "several outputs hold numbers" if command == "shield" else "'own' holds labels or numbers"}
    assert done.returncode == 2 and told.get(own, "'own' holds labels or numbers") in done.stderr, done
    named = program.run(*asked, "--output", "scores", capture_output=True, text=True)
    assert named.returncode == (2 if own == "ZipMap" else 0), named
