"""The notebooks run from the first cell to the last, and so do the examples that need packages of their own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_two_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["any_model.ipynb", "first_model.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")
    if path.stem == "any_model":
        pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install deepsade[shield]")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    # A cell that fails raises here, with its traceback.
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("script, package, options", [
    ("tune.py", "optuna", []),
    ("tune.py", "ray.tune", ["--ray"]),
    ("shap_values.py", "shap", []),
])
def test_an_example_with_its_package(script, package, options):
    try:
        there = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        pytest.skip(f"{package} is not installed")
    command = [sys.executable, str(ROOT / "examples" / "python" / script), "--quick", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=os.environ)
    if "ray[tune]" in done.stdout:
        pytest.skip("Ray is there without Tune")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "not installed" not in done.stdout and "proved" in done.stdout
