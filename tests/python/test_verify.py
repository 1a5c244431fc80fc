"""Verdicts from outside: counter-examples replayed in onnxruntime, proofs checked, both verdicts beside Marabou.

Needs torch for the networks and maraboupy (Python 3.11) for the comparison: scripts/install-torch. What is missing is skipped, with
CI=true a failure.
"""

import json
import re

import numpy as np
import onnxruntime
import pytest

import program
from program import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")


def deepsade(*args, code=None, cwd=None):
    done = program.run(*args, cwd=cwd, capture_output=True, text=True)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


def export(layers, path, seed):
    """A random network of these widths."""
    torch.manual_seed(seed)
    parts = []
    for a, b in zip(layers, layers[1:]):
        parts += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    network = torch.nn.Sequential(*parts[:-1])
    torch.onnx.export(network, torch.zeros(1, layers[0]), str(path), input_names=["x"], output_names=["y"], dynamo=False)
    return network


def property_text(inputs, outputs, box, unsafe):
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)] + [f"(declare-const Y_{j} Real)" for j in range(outputs)]
    for i in range(inputs):
        lines += [f"(assert (>= X_{i} {box[0]}))", f"(assert (<= X_{i} {box[1]}))"]
    return "\n".join([*lines, unsafe]) + "\n"


def largest(network, inputs):
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (200_000, inputs)).astype(np.float32)
    x[:1000] = np.sign(x[:1000])
    return float(network(torch.tensor(x))[:, 0].max())


@pytest.mark.parametrize("layers", [[2, 10, 10, 2], [4, 20, 10, 3], [13, 50, 30, 10, 2]])
@pytest.mark.parametrize("slack", [-0.1, 0.3])
def test_verdicts_hold_in_onnxruntime_and_agree_with_marabou(tmp_path, layers, slack):
    model = tmp_path / "m.onnx"
    network = export(layers, model, seed=len(layers))
    bound = round(largest(network, layers[0]) + slack * (1 if len(layers) < 5 else 3), 3)
    prop = tmp_path / "p.vnnlib"
    prop.write_text(property_text(layers[0], layers[-1], (-1, 1), f"(assert (>= Y_0 {bound if bound >= 0 else f'(- {-bound})'}))"))
    done = deepsade("verify", "--model", model, "--vnnlib", prop, "--timeout", 120, "--json", "--certificate", tmp_path / "proof")
    report = json.loads(done.stdout)
    assert report["verdict"] == ("refuted" if slack < 0 else "proved"), report
    if slack < 0:
        x = np.array([report["row"]], dtype=np.float32)
        y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        assert (np.abs(x) <= 1).all() and y[0, 0] >= bound
        assert report["in_every_runtime"] is True
        words = deepsade("verify", "--model", model, "--vnnlib", prop, "--vnncomp", code=1).stdout
        assert words.startswith("sat\n((X_0 ") and re.search(r"\(Y_0 [-\d.e]+\)", words)
    else:
        deepsade("check", tmp_path / "proof", code=0)
        deepsade("check", tmp_path / "proof", "--vnnlib", prop, code=0)
        tighter = tmp_path / "q.vnnlib"
        tighter.write_text(prop.read_text().replace(str(abs(bound)), str(abs(bound) / 2)))
        deepsade("check", tmp_path / "proof", "--vnnlib", tighter, code=1)
        # A network that is not ours is certified as the same operators in our own file.
        x = np.random.default_rng(1).uniform(-1, 1, (100, layers[0])).astype(np.float32)
        ours = onnxruntime.InferenceSession(tmp_path / "proof" / "model.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        np.testing.assert_allclose(ours, network(torch.tensor(x)).detach().numpy(), rtol=1e-5, atol=1e-5)
    marabou = pytest.importorskip("maraboupy.Marabou", reason="maraboupy is not installed (pip install maraboupy, Python 3.11)")
    theirs = marabou.read_onnx(str(model))
    for v in theirs.inputVars[0].flatten():
        theirs.setLowerBound(v, -1.0)
        theirs.setUpperBound(v, 1.0)
    theirs.addInequality([theirs.outputVars[0].flatten()[0]], [-1.0], -bound)
    answer, _, _ = theirs.solve(verbose=False, options=marabou.createOptions(verbosity=0, timeoutInSeconds=60))
    if answer in ("sat", "unsat"):
        assert answer == ("sat" if slack < 0 else "unsat")


def test_the_five_lines_of_the_docs_run(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "verify.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    torch.manual_seed(0)
    # Brakes at least 3 and at most 30, more when close and fast.
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.02)
        model[2].bias.fill_(5.0)
    answers = []

    class Runner:
        @staticmethod
        def run(args):
            answers.append(deepsade(*args[1:], cwd=tmp_path))
            return answers[-1]

    monkeypatch.chdir(tmp_path)
    exec(code, {"torch": torch, "model": model, "subprocess": Runner, "print": lambda *_: None})
    assert [a.returncode for a in answers] == [0, 0], [a.stdout + a.stderr for a in answers]
    assert "proved: 2 rules hold" in answers[0].stdout
