"""PyTorch: gradients, trunks with rules, training through the layer."""

import doctest
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install deepsade[torch]")

import deepsade
from deepsade.torch import RuleLayer, from_torch, to_onnx

DOMAIN = {"income": (10.0, 100.0), "size": (1.0, 6.0)}
RULES = ["food + rent <= income", "food >= 0"]


def regression():
    return RuleLayer(RULES, domain=DOMAIN, target_names=["food", "rent"])


def test_examples_in_docstrings():
    import deepsade.torch as module

    assert doctest.testmod(module).failed == 0


def test_gradients_of_the_projection_are_central_differences():
    torch.manual_seed(0)
    layer = regression()
    x = torch.tensor([[50.0, 2.0], [50.0, 2.0], [20.0, 1.0], [80.0, 3.0]])
    scores = torch.tensor([[30.0, 40.0], [10.0, 20.0], [-5.0, 10.0], [-5.0, 90.0]], requires_grad=True)
    direction = torch.randn(4, 2)
    (layer(scores, x) * direction).sum().backward()
    for i in range(4):
        for j in range(2):
            step = torch.zeros(4, 2)
            step[i, j] = 0.25
            with torch.no_grad():
                slope = ((layer(scores + step, x) - layer(scores - step, x)) * direction).sum() / 0.5
            assert abs(slope - scores.grad[i, j]) < 1e-3


def test_outputs_in_eval_mode_obey_exactly():
    layer = regression().eval()
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.uniform([10, 1], [100, 6], (2000, 2)), dtype=torch.float32)
    y = layer(100 * torch.randn(2000, 2), x).double()
    assert (y[:, 0] >= 0).all() and (y.sum(dim=1) <= x[:, 0].double()).all()


def test_label_loss_is_the_exact_likelihood_over_valid_sets():
    layer = RuleLayer(["label[0] => label[1]"], domain={"a": (0.0, 1.0)}, target_names=["p", "q", "r"], task="multilabel")
    scores = torch.tensor([[0.3, -0.2, 1.0]], requires_grad=True)
    x, y = torch.zeros(1, 1), torch.tensor([[1.0, 1.0, 0.0]])
    sets = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1) if a <= b]
    by_hand = torch.logsumexp(torch.stack([(scores[0] * torch.tensor(s)).sum() for s in sets]), 0) - (scores * y).sum()
    loss = layer.loss(scores, x, y)[0]
    assert torch.allclose(loss, by_hand, atol=1e-6)
    expected = torch.autograd.grad(by_hand, scores)[0]
    assert torch.allclose(torch.autograd.grad(loss, scores)[0], expected, atol=1e-6)
    assert layer(torch.tensor([[5.0, -1.0, -1.0]]), x).tolist() == [[1.0, 1.0, 0.0]]


def test_labels_that_break_the_rules_are_left_out():
    layer = RuleLayer(["label[0] => label[1]", "income > 50 => label[2]"], domain=DOMAIN, target_names=["p", "q", "r"], task="multilabel")
    x = torch.tensor([[20.0, 1.0], [20.0, 1.0], [80.0, 1.0], [80.0, 1.0]])
    y = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    scores = torch.tensor([[50.0, -50.0, 0.0]] * 4, requires_grad=True)
    loss = layer.loss(scores, x, y)
    assert loss.tolist() == pytest.approx([0, np.log(4), 0, np.log(2)], abs=1e-4)
    loss.sum().backward()
    assert (scores.grad[[0, 2]] == 0).all() and (scores.grad[[1, 3]] != 0).any(dim=1).all() and scores.grad.isfinite().all()
    none = layer.loss(scores, x, torch.tensor([[1.0, 0.0, 0.0]] * 4))
    none.mean().backward()
    assert (none == 0).all()
    with pytest.raises(ValueError, match="y must hold 0 or 1"):
        layer.loss(scores, x, 0.5 * y)


def test_losses_of_classes_are_those_of_the_classes_that_are_allowed():
    layer = RuleLayer(["income > 50 => y != 'a'"], domain=DOMAIN, target_names="y", task="multiclass", classes=["a", "b", "c"])
    x, y = torch.tensor([[20.0, 1.0], [80.0, 1.0], [80.0, 1.0]]), torch.eye(3)
    loss = layer.loss(torch.zeros(3, 3), x, y)
    assert torch.allclose(loss, torch.log(torch.tensor([3.0, 2.0, 2.0])))
    assert layer.loss(torch.zeros(1, 3), x[1:2], y[:1]).tolist() == [0.0]


@pytest.mark.parametrize("rules", [["food <= 1", "food >= 2"], ["food >= 20", "food <= income"]])
def test_contradictory_rules_are_refused(rules):
    settings = {"domain": DOMAIN, "target_names": ["food", "rent"]}
    with pytest.raises(deepsade.ContradictionError, match="can't be obeyed"):
        RuleLayer(rules, **settings)
    pytest.importorskip("onnxscript")
    for enforce in ("auto", "weights", "decode"):
        with pytest.raises(deepsade.ContradictionError, match="can't be obeyed"):
            from_torch(trunk(2), torch.zeros(1, 2), rules, enforce=enforce, **settings)


def test_a_row_without_outputs_is_an_error():
    layer = RuleLayer(["food >= 5", "food <= income"], domain=DOMAIN, target_names="food")
    x = torch.tensor([[20.0, 1.0], [3.0, 1.0]])
    for mode in (True, False):
        with pytest.raises(deepsade.ContradictionError, match=r"row 1 \(counted from 0\): no outputs were found"):
            layer.train(mode)(torch.zeros(2, 1), x)


@pytest.mark.parametrize("odd", [float("inf"), -float("inf"), float("nan")])
def test_a_score_that_is_no_number_is_blamed_itself(odd):
    x, scores = torch.tensor([[50.0, 1.0], [50.0, 1.0]]), torch.tensor([[1.0, 2.0], [30.0, odd]])
    layer = regression()
    # In training it shows in the loss.
    assert not torch.isfinite(layer.loss(scores, x, torch.zeros(2, 2))).all()
    with pytest.raises(ValueError, match=r"scores\[1, 1\] = .*must be a number") as error:
        layer.eval()(scores, x)
    assert not isinstance(error.value, deepsade.ContradictionError)
    # An infinite score of a label is certain.
    labels = RuleLayer(["exactly(1, a, b)"], domain=DOMAIN, target_names=["a", "b"], task="multilabel").eval()
    if odd != odd:
        with pytest.raises(ValueError, match="must be a number"):
            labels(scores, x)
    else:
        assert labels(scores, x).tolist() == [[0, 1], [0, 1] if odd > 0 else [1, 0]]


def test_a_layer_says_what_it_is():
    assert "RuleLayer(rules=['food + rent <= income', 'food >= 0'], target_names=['food', 'rent'], task='regression')" == repr(regression())


def test_a_training_loop_of_ones_own():
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    X = torch.tensor(rng.uniform([10, 1], [100, 6], (300, 2)), dtype=torch.float32)
    Y = X[:, :1] * torch.tensor([[0.3, 0.6]])
    trunk = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    layer = regression()
    optimiser = torch.optim.Adam(trunk.parameters(), 0.01)
    losses = []
    for _ in range(60):
        loss = layer.loss(trunk(X), X, Y).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5


def trunk(outputs):
    torch.manual_seed(2)
    return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, outputs))


@pytest.mark.parametrize("enforce", ["weights", "decode"])
def test_a_trunk_gets_its_rules_and_round_trips(enforce, tmp_path):
    pytest.importorskip("onnxscript")
    module = trunk(2)
    rules = ["food + rent <= income"]
    module[0].eval()
    model = from_torch(module, torch.zeros(1, 2), rules, domain=DOMAIN, target_names=["food", "rent"], enforce=enforce)
    assert module.training and not module[0].training and "accepted" in model.verdict_
    assert model.certified_ and deepsade.check(model)["verdict"] == "accepted"
    x = np.random.default_rng(3).uniform([10, 1], [100, 6], (2000, 2)).astype(np.float32)
    model.set_params(outside="ignore")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        y = model.predict(x)
    assert (y.sum(axis=1) <= x[:, 0]).all()
    if enforce == "weights":
        assert model.verification_["verdict"] == "proved"
    model.save(tmp_path / "run")
    assert deepsade.load(tmp_path / "run").certified_


def test_three_faces_behind_a_trunk_are_proved():
    pytest.importorskip("onnxscript")
    rules = ["food + rent <= income", "food >= 0", "rent >= 0"]
    model = from_torch(trunk(2), torch.zeros(1, 2), rules, domain=DOMAIN, target_names=["food", "rent"], enforce="decode")
    assert model.certified_ and model.model_.place == "in-graph" and "accepted" in model.verdict_
    x = np.random.default_rng(4).uniform([10, 1], [100, 6], (2000, 2)).astype(np.float32)
    model.set_params(outside="ignore")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        y = model.predict(x)
    assert (y >= 0).all() and all(sum(map(Fraction, map(float, r))) <= Fraction(float(i)) for r, i in zip(y, x[:, 0]))


def test_labels_of_a_trunk_are_decoded(tmp_path):
    pytest.importorskip("onnxscript")
    model = from_torch(
        trunk(3), torch.zeros(1, 2), ["label[0] => label[1]"], domain=DOMAIN, target_names=["p", "q", "r"], task="multilabel"
    )
    assert model.certified_ and model.model_.place == "in-graph"


UNIT = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def test_a_module_is_verified_as_it_is():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    proved = deepsade.verify(module, ["y0 <= 100"], domain=UNIT, target_names=["y0", "y1"])
    assert proved["verdict"] == "proved"
    broken = deepsade.verify(module, ["y0 <= -100"], domain=UNIT, target_names=["y0", "y1"], example_input=np.zeros((3, 2)))
    row = torch.tensor([[broken["input"]["a"], broken["input"]["b"]]])
    assert broken["verdict"] == "refuted" and module(row)[0, 0] > -100
    with pytest.raises(ValueError, match="traced with rows"):
        deepsade.verify(module, ["y0 <= 1"], target_names=["y0", "y1"])


@pytest.mark.parametrize("ending", [[], [torch.nn.Sigmoid()]])
def test_one_logit_is_two_classes(ending):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1), *ending)
    about = {"domain": UNIT, "target_names": "loan", "classes": ["N", "Y"]}
    X = np.random.default_rng(0).uniform(0, 1, (400, 2)).astype(np.float32)
    with torch.no_grad():
        # Half of the rows are on either side.
        module[2].bias -= module[:3](torch.from_numpy(X)).median()
    says_yes = module(torch.from_numpy(X)).detach().numpy()[:, 0] > (0.5 if ending else 0.0)
    assert 0 < says_yes.mean() < 1
    # Nothing is changed where the rule speaks of no input: the classes are those of the logit.
    same = deepsade.from_torch(module, torch.zeros(2, 2), ["a > 1 => loan == 'N'"], task="binary", **about)
    assert ((same.predict(X) == "Y") == says_yes).all()
    safe = deepsade.from_torch(module, torch.zeros(2, 2), ["a >= 0.5 => loan == 'N'"], task="binary", **about)
    assert safe.certified_ and (safe.predict(X)[X[:, 0] >= 0.5] == "N").all()
    assert deepsade.verify(module, ["a >= 0 => loan == 'N'"], **about)["verdict"] == "refuted"


class Budget(torch.nn.Module):
    """Expenses that are never more than the income."""

    def __init__(self):
        super().__init__()
        self.trunk = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        rules = ["food + rent <= income", "food >= 0", "rent >= 0"]
        self.layer = RuleLayer(rules, domain={"income": (1.0, 100.0)}, target_names=["food", "rent"])

    def forward(self, x):
        return self.layer(self.trunk(x), x)


def test_a_rule_layer_is_graph_operators_in_the_file():
    onnxruntime = pytest.importorskip("onnxruntime")
    torch.manual_seed(1)
    net = Budget()
    with torch.no_grad():
        # 20 each, whatever the income is.
        net.trunk[2].weight.zero_()
        net.trunk[2].bias.fill_(20.0)
    session = onnxruntime.InferenceSession(to_onnx(net, torch.ones(2, 1)))
    assert net.training and net.layer.training
    x = np.random.default_rng(0).uniform(1, 100, (300, 1)).astype(np.float32)
    y = session.run(["y"], {session.get_inputs()[0].name: x})[0]
    assert (y >= 0).all() and (y.astype(np.float64).sum(axis=1) <= x[:, 0]).all()
    free = net.trunk(torch.from_numpy(x)).detach().numpy()
    broken = free.sum(axis=1) > x[:, 0]
    assert 0 < broken.mean() < 1 and np.allclose(y[~broken], 20, atol=1e-4)
    net.forward = lambda x: net.layer(net.trunk(x), x) + 1
    with pytest.raises(ValueError, match="must end in one RuleLayer"):
        to_onnx(net, torch.ones(2, 1))
