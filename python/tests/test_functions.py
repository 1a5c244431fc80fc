"""check, verify, adversity, repair, load, report: the same answers as the command line's."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import deepsade
from deepsade import DeepSaDeClassifier, DeepSaDeRegressor


def change(folder, edit):
    """Changes what stands in a folder's estimator.json."""
    told = json.loads((folder / "estimator.json").read_text())
    edit(told)
    (folder / "estimator.json").write_text(json.dumps(told))


@pytest.fixture
def model(expenses):
    X, Y = expenses
    rules = {"within income": "food + rent <= x0", "food": "food >= 0", "rent": "rent >= 0"}
    return DeepSaDeRegressor(rules=rules, target_names=["food", "rent"], hidden=(8,), epochs=20, enforce="weights").fit(X, Y)


@pytest.fixture
def free(expenses):
    X, Y = expenses
    return DeepSaDeRegressor(target_names=["food", "rent"], hidden=(8,), epochs=20).fit(X, Y)


def test_check_accepts_the_certificate_and_no_other(model):
    answer = deepsade.check(model)
    assert answer["verdict"] == "accepted" and "certificate accepted" in str(answer)
    assert {r["name"] for r in answer["rules"]} == {"within income", "food", "rent"} == set(model.margins_)
    other = deepsade.check(model, rules=["food + rent <= 0.5 * x0"])
    assert other["verdict"] == "rejected"
    forged = json.loads(model.certificate_)
    forged["model_sha256"] = "0" * 64
    assert deepsade.check(model, certificate=json.dumps(forged))["verdict"] == "rejected"


def test_check_says_what_holds_and_for_what(model):
    answer = deepsade.check(model)
    assert answer["task"] == {"kind": "regression", "targets": ["food", "rent"]} and len(answer["domain"]) == 2
    assert {r["normal"] for r in answer["rules"]} == {"food + rent <= x0", "food >= 0", "rent >= 0"}
    assert not any(r["vacuous"] for r in answer["rules"])
    rules = {"within income": "food + rent <= x0", "food": "food >= 0", "rent": "rent >= 0", "nobody": "x0 < -1e6 => food >= 7"}
    answer = deepsade.verify(model, rules=rules)
    assert [r["vacuous"] for r in answer["rules"]] == [False, False, False, True] and "vacuous: no input" in str(answer)


def test_sets_under_conditions_are_chosen_in_the_graph(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (200, 2))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.3, X.sum(axis=1) > 1]).astype(int)
    rules = ["x0 <= 0.25 => exactly(1, label[j] for j in 0..3)"]
    model = deepsade.DeepSaDeMultilabel(rules=rules, hidden=(6,), epochs=5, enforce="decode").fit(X, Y)
    assert model.certified_ and model.model_.place == "in-graph"
    assert deepsade.check(model)["verdict"] == deepsade.check(model, allow_library=True)["verdict"] == "accepted"
    x = rng.uniform(0, 1, (2000, 2)).astype(np.float32)
    y = model.predict(x)
    assert (y[x[:, 0] <= 0.25].sum(axis=1) == 1).all() and len(np.unique(y, axis=0)) > 2
    model.save(tmp_path / "run")
    assert deepsade.load(tmp_path / "run").certified_


def test_verify_proves_and_refutes(model, free):
    proved = deepsade.verify(model)
    assert proved["verdict"] == "proved"
    assert deepsade.check(proved.model, certificate=proved.certificate)["verdict"] == "accepted"
    refuted = deepsade.verify(free, rules=["food + rent <= 0.2 * x0"])
    assert refuted["verdict"] == "refuted" and refuted.certificate is None
    x = np.array([[refuted["input"]["x0"], refuted["input"]["x1"]]])
    assert free.predict(x).sum() > 0.2 * x[0, 0]
    with pytest.raises(ValueError, match="nothing was proved"):
        refuted.save("nowhere")


def test_adversity_counts_rows(model, free, expenses):
    X, _ = expenses
    assert deepsade.adversity(model, X[:20])["adversity"] == 0
    found = deepsade.adversity(free, X[:20], rules=["food + rent <= 0.2 * x0"], threads=1)
    assert found["adversity"] > 50 and found["rows"] == 20 == len(found.near) and found["example"]["rule"] == "rule 1"


def test_repair_proves_what_was_broken(free, expenses):
    X, Y = expenses
    mended = deepsade.repair(free, ["food + rent <= x0", "food >= -20"], X, Y)
    assert mended.certified_ and mended.repair_["repaired"]
    assert deepsade.verify(mended)["verdict"] == "proved"
    y = mended.predict(X)
    assert (y.sum(axis=1) <= X[:, 0]).all()


def test_repair_weighs_the_rows_it_is_given(free, expenses):
    # Without labels, too: on rows of one corner the outputs change less there than where inputs of the whole domain count.
    X, Y = expenses
    rules = ["food + rent <= x0", "food >= -20"]
    corner = X[X[:, 0] > np.quantile(X[:, 0], 0.7)]
    before = free.predict(corner)
    far = lambda mended: np.abs(mended.predict(corner) - before).mean()
    drawn, weighed = deepsade.repair(free, rules), deepsade.repair(free, rules, corner)
    assert weighed.certified_ and weighed.repair_ != drawn.repair_ and far(weighed) <= far(drawn)
    with pytest.raises(ValueError, match="y needs X"):
        deepsade.repair(free, rules, y=Y)


def test_the_summary_has_the_command_lines_keys(model, free):
    docs = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    listed = re.search(r"The keys of a summary.*?made it:\n(.*?)\.\n", docs, re.DOTALL).group(1)
    keys = re.findall(r"`(\w+)`", listed)
    assert "enforced_by" in keys and "cost" in keys and "timings" in keys
    assert sorted(model.summary_) == sorted(free.summary_) == keys
    assert model.summary_["model"] is None


def test_answers_have_the_command_lines_keys(model, free, expenses):
    docs = (Path(__file__).parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")

    def listed(answer):
        return re.findall(r"`(\w+)`", next(line for line in docs.splitlines() if line.startswith(f"| {answer} |")).split(" | ")[-1])

    X, Y = expenses
    broken = ["food + rent <= 0.2 * x0"]
    proved = deepsade.verify(model)
    assert sorted(proved) == listed("`verify`, proved") and sorted(proved["rules"][0]) == listed("`rules`, each")
    assert sorted(deepsade.verify(free, rules=broken)) == listed("`verify`, refuted")
    assert sorted(deepsade.adversity(free, X[:20], rules=broken, threads=1)) == listed("`adversity`")
    assert sorted(deepsade.repair(free, ["food + rent <= x0", "food >= -20"], X, Y).repair_) == listed("`repair`, repaired")


def test_save_load_and_the_command_lines_folder(model, expenses, tmp_path):
    X, _ = expenses
    model.save(tmp_path / "run")
    again = deepsade.load(tmp_path / "run")
    assert type(again) is DeepSaDeRegressor and again.certified_ and (again.predict(X) == model.predict(X)).all()
    assert again.margins_ == model.margins_ and again.summary_ == model.summary_ and len(again.history_) == 20
    assert deepsade.check(tmp_path / "run")["verdict"] == "accepted"
    assert again.verdict_ == model.verdict_
    assert deepsade.load(tmp_path / "run" / "model.onnx").certified_
    model.save_onnx(tmp_path / "run" / "other.onnx")
    assert not deepsade.load(tmp_path / "run" / "other.onnx").certified_
    (tmp_path / "run" / "model.onnx").write_bytes(model.model_.onnx.replace(b"within income", b"within incomE"))
    with pytest.raises(deepsade.ModelError, match="estimator.json: written for another model"):
        deepsade.load(tmp_path / "run")
    (tmp_path / "run" / "estimator.json").unlink()
    bare = deepsade.load(tmp_path / "run")
    # The summary, too, is of the other model.
    assert not bare.certified_ and not hasattr(bare, "summary_") and not hasattr(bare, "history_")


def test_files_of_others_are_not_replaced_unless_that_is_asked_for(model, tmp_path):
    proved = deepsade.verify(model)
    for name, held in [("rules.toml", "rules.toml, which would be replaced"), ("summary.json", "summary.json"),
                       ("checkpoint.bin", "an unfinished run"), ("model.onnx", "a model already")]:
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text("somebody's")
        for answer in (model, proved):
            with pytest.raises(FileExistsError, match=f"the folder holds {held}.*force=True"):
                answer.save(folder)
        assert [p.name for p in folder.iterdir()] == [name] and (folder / name).read_text() == "somebody's"
    # What another run says of its rows is not said of these.
    (folder / "split.csv").write_text("row,part")
    model.save(folder, force=True)
    assert deepsade.check(folder)["verdict"] == "accepted" and not (folder / "split.csv").exists()


def test_a_loaded_model_can_be_fitted_anew(model, expenses, tmp_path):
    from sklearn.base import clone

    X, Y = expenses
    model.save(tmp_path / "run")
    again = deepsade.load(tmp_path / "run")
    ours = {**model.get_params(), "rules": [*model.rules.items()]}
    assert again.get_params() == ours and again.hidden == (8,)
    assert clone(again).fit(X, Y).model_.onnx == model.model_.onnx
    # A folder of the command line: rules.toml says how it was trained.
    (tmp_path / "run" / "estimator.json").unlink()
    bare = deepsade.load(tmp_path / "run")
    assert bare.hidden == (8,) and bare.epochs == 20 and bare.target_names == ["food", "rent"]
    assert bare.learning_rate == 0.002 and bare.paper is None
    assert clone(bare).fit(X, Y).model_.onnx == model.model_.onnx


@pytest.mark.parametrize("kind", [int, bool, float, str, object])
def test_classes_keep_their_kind(kind, tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 2))
    values, word = {int: ([0, 1], "1"), bool: ([False, True], "True"), float: ([-1.0, 1.0], "1")}.get(kind, (["no", "yes"], "yes"))
    y = np.array(values, dtype=kind)[(X[:, 0] > 0).astype(int)]
    model = DeepSaDeClassifier(rules=[f"x0 > 1 => y == '{word}'"], hidden=(4,), epochs=40, batch=8, learning_rate=0.02, enforce="weights").fit(X, y)
    model.save(tmp_path / "run")
    for again in (deepsade.load(tmp_path / "run"), deepsade.repair(model), deepsade.repair(tmp_path / "run")):
        assert again.classes_.dtype == y.dtype and again.predict(X).dtype == y.dtype
        assert again.score(X, y) == model.score(X, y) > 0.8
        assert again.predict([[1.5, 0.0]])[0] == values[1] and again.hidden == (4,)
    # Classes of another model are not this one's.
    other = DeepSaDeClassifier(hidden=(4,), epochs=1).fit(X, np.where(X[:, 0] > 0, "a", "b"))
    (tmp_path / "run" / "model.onnx").write_bytes(other.model_.onnx)
    with pytest.raises(deepsade.ModelError, match="estimator.json: written for another model"):
        deepsade.load(tmp_path / "run")
    change(tmp_path / "run", lambda told: told.pop("model_sha256"))
    assert deepsade.load(tmp_path / "run").classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(("classes", "dtypes"), [
    ([1, 10], ["<U1", "<U2", "|S1", "|b1", "|O8,", "<f8", "<M8[D]", "<i3", "V4"]),
    ([256, 512], ["|i1", "|u1", "<f4"]),
    ([-1.0, 1.0], ["<i8", "|b1"]),
    (["Y1", "Y2"], ["<U1", "|S2"]),
    ([0, 1], ["|b1"]),
])
def test_a_type_that_makes_other_classes_is_refused(classes, dtypes, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = DeepSaDeClassifier(rules=[f"x0 > 1 => y == '{str(classes[1]).removesuffix('.0')}'"], hidden=(2,), epochs=1)
    model.fit(X, np.where(X[:, 0] > 0, *classes)).save(tmp_path / "run")
    for dtype in dtypes:
        change(tmp_path / "run", lambda told: told["classes"].update(dtype=dtype))
        with pytest.raises(deepsade.ModelError, match="estimator.json: not what save"):
            deepsade.load(tmp_path / "run")
    change(tmp_path / "run", lambda told: told["classes"].update(dtype="|O"))
    assert deepsade.load(tmp_path / "run").classes_.tolist() == classes
    change(tmp_path / "run", lambda told: told["classes"].update(values=[7, 8]))
    with pytest.raises(deepsade.ModelError, match="estimator.json: the classes are"):
        deepsade.load(tmp_path / "run")


@pytest.mark.parametrize(("changed", "words"), [
    ({"rules": [["rent", "rent >= 5"]]}, "the rule 'rent' is 'rent >= 5'; the model has 'rent >= 0'"),
    ({"rules": [["more", "rent >= 5"]]}, "the rule 'more' is 'rent >= 5'; the model has no such rule"),
    ({"rules": []}, "it states 0 rules, the model 3"),
    ({"increasing": ["x0"]}, "the rule 'increasing in x0'"),
    ({"domain": {"x0": {"range": [0.0, 1e6]}}}, r"domain\['x0'\] has the range \[0.0, 1000000.0\], the model's is"),
    ({"domain": {"x1": {"kind": "integer"}}}, r"domain\['x1'\] has the kind integer, the model's is real"),
    ({"domain": {"x1": {"levels": ["a"]}}}, r"domain\['x1'\] has the levels"),
    ({"domain": 3}, "domain must be a dict"),
    ({"target_names": ["rent", "food"]}, "target_names = "),
    ({"learning_rate": float("nan")}, "learning_rate = nan"),
    ({"margin": "wide"}, "margin = 'wide': must be a number"),
    ({"epochs": 1.5}, "epochs = 1.5: must be a whole number"),
    ({"outside": "maybe"}, "outside = 'maybe'"),
    ({"random_state": "luck"}, "luck"),
])
def test_parameters_that_are_not_the_models_are_refused(model, tmp_path, changed, words):
    model.save(tmp_path / "run")
    change(tmp_path / "run", lambda told: told["parameters"].update(changed))
    for call in (deepsade.load, deepsade.repair):
        with pytest.raises(deepsade.ModelError, match="estimator.json: .*" + words):
            call(tmp_path / "run")
    # A file of an earlier version names no model: what fits is taken, and the rest is the model's own.
    change(tmp_path / "run", lambda told: told.pop("model_sha256"))
    again = deepsade.load(tmp_path / "run")
    assert again.certified_ and again.hidden == (8,) and dict(again.rules) == model.rules
    assert all(getattr(again, name) != value for name, value in changed.items())


def test_classes_that_another_estimator_numbered_are_saved_by_their_names(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = DeepSaDeClassifier(rules=["x0 > 1 => y == 'Y'"], classes=["N", "Y"], hidden=(2,), epochs=1).fit(X, (X[:, 0] > 0).astype(int))
    model.save(tmp_path / "run")
    again = deepsade.load(tmp_path / "run")
    assert again.certified_ and again.classes == ["N", "Y"] and again.classes_.tolist() == ["N", "Y"]


def test_what_was_changed_since_the_fit_is_not_saved_as_the_models(model, tmp_path):
    model.set_params(rules=["food >= 1"], domain={"x0": (0.0, 5.0)}, increasing=["x1"], epochs=7).save(tmp_path / "run")
    again = deepsade.load(tmp_path / "run")
    assert again.certified_ and len(again.rules) == 3 and (again.domain, again.increasing, again.epochs) == (None, None, 7)


def test_domains_of_all_kinds_are_the_models(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "price": np.round(rng.uniform(0, 10, 90) * 4) / 4, "count": rng.integers(0, 5, 90), "real": rng.uniform(0, 1, 90),
        "area": rng.choice(["a", "b"], 90), "grade": rng.choice(["low", "high"], 90), "gap": np.where(rng.uniform(size=90) < 0.1, np.nan, 1.5),
    })
    X["gap"] += X["real"]
    domain = {"price": {"step": 0.25, "range": [0.0, 10.0]}, "count": range(0, 9), "real": (-1e-3, 20000.1), "area": ["a", "b", "c"],
              "grade": {"order": ["low", "high"]}, "gap": {"missing": 2.0}, "y": {"kind": "integer"}}
    model = DeepSaDeRegressor(rules=["y >= 0"], domain=domain, hidden=(4,), epochs=2, increasing=["grade"]).fit(X, X["count"].rename("y"))
    model.save(tmp_path / "run")
    again = deepsade.load(tmp_path / "run")
    assert set(again.domain) == set(domain) and again.increasing == ["grade"] and again.rules == [("rule 1", "y >= 0")]


def test_a_save_that_is_killed_does_not_join_two_models(model, free, tmp_path, monkeypatch):
    model.save(tmp_path / "run")
    parameters = tmp_path / "run" / "estimator.json"
    of_the_first = parameters.read_bytes()
    monkeypatch.setattr("deepsade._core.write_whole", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        free.save(tmp_path / "run", force=True)
    # The parameters went with the model that they are of. Brought back they are of another one.
    assert not parameters.exists()
    parameters.write_bytes(of_the_first)
    with pytest.raises(deepsade.ModelError, match="estimator.json: written for another model.*save the model again"):
        deepsade.load(tmp_path / "run")
    monkeypatch.undo()
    free.save(tmp_path / "run", force=True)
    assert deepsade.load(tmp_path / "run").rules == []
    # A proof of another model replaces all that was known of this one.
    deepsade.verify(model).save(tmp_path / "run", force=True)
    again = deepsade.load(tmp_path / "run")
    assert again.certified_ and len(again.rules) == 3 and not hasattr(again, "summary_")


def test_one_file_of_a_models_folder_is_not_replaced(model, tmp_path):
    model.save(tmp_path / "run")
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    for name in before:
        for write in (model.report, model.save_onnx):
            with pytest.raises(FileExistsError, match="would replace one of the files of a model"):
                write(tmp_path / "run" / name)
    assert {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()} == before
    for path in (tmp_path / "model.onnx", tmp_path / "run" / "page.html"):
        for write in (model.report, model.save_onnx):
            write(path)


def test_what_describes_a_model_is_used_or_refused(model, free, expenses):
    X, _ = expenses
    for call in (deepsade.verify, deepsade.repair, lambda m, **more: deepsade.adversity(m, X[:2], **more)):
        for given in ({"domain": {"x0": (0, 1000)}}, {"task": "regression"}, {"target_names": ["food", "rent"]}, {"classes": [0, 1]}):
            with pytest.raises(ValueError, match=f"{next(iter(given))}= needs rules="):
                call(model, **given)
    rule = ["food + rent <= x0"]
    with pytest.raises(ValueError, match=r"target_names=\['rent', 'food'\]: the model says \['food', 'rent'\] itself"):
        deepsade.verify(model, rule, target_names=["rent", "food"])
    with pytest.raises(ValueError, match="task='binary': the model says 'regression'"):
        deepsade.verify(model, rule, task="binary")
    assert deepsade.verify(model, rule, target_names=["food", "rent"])["verdict"] == "proved"
    # The domain that is stated is the one that is looked at.
    inside = deepsade.verify(free, ["food <= 1000"], domain={"x0": (10, 20)})
    beyond = deepsade.verify(free, ["food <= 1000"], domain={"x0": (10, 1e6)})
    assert (inside["verdict"], beyond["verdict"]) == ("proved", "refuted")


def test_contradictory_rules_are_not_called_infeasible(free):
    with pytest.raises(deepsade.ContradictionError, match="can't be obeyed together"):
        deepsade.repair(free, ["food <= 1", "food >= 2"])


def test_a_repair_says_which_rules_it_drops(model, recwarn):
    mended = deepsade.repair(model, ["food + rent <= x0", "food >= 0"])
    assert "need not hold any more: rent" in str(recwarn.pop(UserWarning).message)
    assert mended.certified_ and mended.verdict_ and not recwarn.list
    deepsade.repair(model)
    assert not recwarn.list


def test_report_is_one_page(model, tmp_path):
    said = model.report(tmp_path / "page.html")
    assert "roved" in said and "within income" in (tmp_path / "page.html").read_text()


def test_a_foreign_network_must_be_described(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    # y = relu(x0 - x1): never negative, and at most 1 where x0 <= 1 and x1 >= 0.
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
        [numpy_helper.from_array(np.array([[1.0], [-1.0]], np.float32), "w"), numpy_helper.from_array(np.zeros(1, np.float32), "b")],
    )
    path = tmp_path / "foreign.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    with pytest.raises(deepsade.ModelError, match="does not name its columns"):
        deepsade.verify(path, ["y >= 0"])
    domain = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    assert deepsade.verify(path, ["y >= -0.01", "y <= 1.01"], domain=domain, target_names="y")["verdict"] == "proved"
    refuted = deepsade.verify(path, ["y <= 0.5"], domain=domain, target_names="y")
    assert refuted["verdict"] == "refuted" and refuted["input"]["a"] - refuted["input"]["b"] > 0.5


def test_errors_say_what_is_expected(tmp_path):
    with pytest.raises(TypeError, match="a fitted estimator, a path, the bytes of an ONNX file or a module of torch"):
        deepsade.verify(3)
    with pytest.raises(deepsade.ModelError, match="the model"):
        deepsade.verify(b"nonsense")
    with pytest.raises(FileNotFoundError):
        deepsade.load(tmp_path / "nothing.onnx")
    with pytest.raises(FileNotFoundError, match="there is no such file or folder: 'nope'"):
        deepsade.check("nope")
    for certificate in (3, True):
        with pytest.raises(TypeError, match="certificate must be its text or its file"):
            deepsade.check(b"", None, certificate)
    with pytest.raises(ValueError, match="threads = -1: must be 1 or above"):
        deepsade.verify(DeepSaDeClassifier(rules=["x0 > 0.5 => y == '1'"], hidden=(2,), epochs=1).fit([[0.0], [1.0]] * 5, [0, 1] * 5), threads=-1)
    with pytest.raises(ValueError, match="there is no certificate"):
        deepsade.check(DeepSaDeClassifier(hidden=(2,), epochs=1).fit([[0.0], [1.0]] * 5, [0, 1] * 5))


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "null",
        "{",
        "[" * 100_000,
        '{"parameters": []}',
        '{"parameters": {"rules": 3}}',
        '{"parameters": {"rules": [["a"]]}}',
        '{"parameters": {"hidden": 3}}',
        '{"classes": 3}',
        '{"classes": {"values": 3}}',
        '{"classes": {"dtype": "<U999999999999", "values": ["a"]}}',
        '{"classes": {"dtype": "<f4", "values": [[1]]}}',
        '{"classes": {"dtype": "<i8", "values": [1' + "0" * 400 + "]}}",
        '{"classes": {"dtype": "<f8", "values": [Infinity]}}',
        '{"flat": {}}',
    ],
)
def test_a_changed_estimator_file_is_an_error_of_the_package(model, tmp_path, text):
    model.save(tmp_path / "run")
    (tmp_path / "run" / "estimator.json").write_text(text)
    with pytest.raises(deepsade.ModelError, match="estimator.json"):
        deepsade.load(tmp_path / "run")


def test_an_infinite_domain_is_an_ordinary_exception(model, tmp_path):
    model.save(tmp_path / "run")
    onnx = model.model_.onnx
    found = re.search(rb'"hi":[0-9.]+', onnx)
    digits = len(found.group()) - len(b'"hi":')
    assert digits >= 4, "there is room for 1e39"
    (tmp_path / "run" / "model.onnx").write_bytes(onnx.replace(found.group(), b'"hi":' + b"1e39".rjust(digits, b" ")))
    with pytest.raises(deepsade.ModelError, match="finite"):
        deepsade.load(tmp_path / "run")
