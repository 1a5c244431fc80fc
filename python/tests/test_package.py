"""The package itself: import, stubs, doc tests."""

import ast
import doctest
import importlib
import inspect
import json
import pathlib
import subprocess
import sys

import pytest

import deepsade
from deepsade import _core


def test_importing_loads_neither_scikit_learn_nor_torch():
    program = "import sys, deepsade; print([m for m in ('sklearn', 'torch', 'ray', 'pandas', 'onnxruntime', 'skl2onnx') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("module", ["", "._classifier", "._regressor", "._labels", "._functions", "._shield"])
def test_examples_in_docstrings(module):
    failed, tried = doctest.testmod(importlib.import_module("deepsade" + module))
    assert failed == 0


def test_stubs_name_what_is_there():
    stub = ast.parse((pathlib.Path(deepsade.__file__).parent / "_core.pyi").read_text())
    named = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    there = {name for name in dir(_core) if not name.startswith("_")}
    constants = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)} - {"__version__"}
    assert there == set(named) | constants
    for name, node in named.items():
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(_core, name), BaseException):
            methods = {m.name for m in node.body if isinstance(m, ast.FunctionDef)} - {"__init__", "__len__"}
            assert methods == {m for m in dir(getattr(_core, name)) if not m.startswith("_")}, name


def test_defaults_are_those_of_the_engine():
    said = json.loads(_core.settings("[task]\nkind = 'regression'\ntargets = ['y']"))
    engine = {**said["network"], **said["train"]}
    ours = {name: p.default for name, p in inspect.signature(deepsade.DeepSaDeRegressor.__init__).parameters.items()}
    # None leaves it to the engine.
    same = {name for name, default in ours.items() if default is not None and name in engine}
    assert same == {"activation", "scaling", "gate", "enforce", "optimiser", "momentum", "update", "bounds", "regions", "decode_nodes"}
    assert {name: ours[name] for name in same} == {name: engine[name] for name in same}
    assert inspect.signature(deepsade.from_torch).parameters["decode_nodes"].default == engine["decode_nodes"]


def test_numbers_are_spelled_as_in_data():
    from deepsade._settings import level_text

    spelled = [(1.0, "1"), (-0.0, "0"), (0.25, "0.25"), (1e-5, "0.00001"), (1e21, "1" + "0" * 21), (2**60 + 1, "1152921504606846977")]
    assert [level_text(value) for value, _ in spelled] == [text for _, text in spelled] and level_text(True) == "True"


def test_public_types_have_the_signatures_that_are_there():
    stub = ast.parse((pathlib.Path(deepsade.__file__).parent / "__init__.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    functions["__init__"] = next(n for n in classes["_Estimator"].body if getattr(n, "name", "") == "__init__")
    own = next(n for n in classes["DeepSaDeClassifier"].body if getattr(n, "name", "") == "__init__")
    own.args.args = own.args.args[1:]
    functions["DeepSaDeClassifier.__init__"] = own
    for name, node in functions.items():
        there = deepsade.DeepSaDeRegressor.__init__ if name == "__init__" else getattr(deepsade, name.removesuffix(".__init__"))
        args = node.args
        named = [a.arg for a in [*args.args, *args.kwonlyargs]]
        assert named == list(inspect.signature(there).parameters), name
        defaults = [*args.defaults, *args.kw_defaults]
        ours = [p.default for p in inspect.signature(there).parameters.values() if p.default is not inspect.Parameter.empty]
        assert [ast.literal_eval(d) for d in defaults] == ours, name
    for name in classes:
        if name.startswith("DeepSaDe"):
            for method in classes[name].body + classes["_Estimator"].body:
                if isinstance(method, ast.FunctionDef):
                    assert hasattr(getattr(deepsade, name), method.name), (name, method.name)


WITHOUT_TORCH = """
import sys

class NotThere:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NotThere())
"""


@pytest.mark.parametrize("what", [
    "from deepsade import *; print(from_torch)",
    "import deepsade, inspect; print(inspect.getmembers(deepsade))",
    "import deepsade; print(hasattr(deepsade, 'torch'), 'torch' in dir(deepsade))",
    "import pydoc, deepsade; print(pydoc.render_doc(deepsade))",
])
def test_names_can_be_listed_without_torch(what):
    run = subprocess.run([sys.executable, "-c", WITHOUT_TORCH + what], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    if "hasattr" in what:
        assert run.stdout == "False False\n"


def test_without_torch_the_error_says_what_to_install():
    said = subprocess.run([sys.executable, "-c", WITHOUT_TORCH + "import deepsade.torch"], capture_output=True, text=True).stderr
    assert "ModuleNotFoundError: deepsade.torch needs PyTorch: pip install 'deepsade[torch]'" in said


def test_without_docstrings():
    program = "import deepsade; print(deepsade.DeepSaDeClassifier().hidden, deepsade.DeepSaDeRanker, deepsade.DeepSaDeRegressor)"
    run = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_everything_promised_is_there():
    assert "torch" not in deepsade.__all__
    for name in deepsade.__all__:
        assert getattr(deepsade, name) is not None
    assert (pathlib.Path(deepsade.__file__).parent / "py.typed").exists()
    assert inspect.signature(deepsade.DeepSaDeClassifier).parameters["momentum"].default == 0.0
