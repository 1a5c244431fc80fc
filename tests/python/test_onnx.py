"""Exported files: valid ONNX, the same numbers in onnxruntime within the float32 error bound, readable by Marabou.

    pip install -r tests/python/requirements.txt && pytest tests/python
"""


import numpy as np
import onnx
import pytest
from levels import LEVELS, session

import program

NAMES = ["plain", "skip", "scaled_skip", "gated", "wide", "shared", "single", "far", "column", "pictures"]
# Marabou takes neither products of two values nor factors that differ from column to column.
NOT_FOR_MARABOU = ["gated", "wide", "far", "column", "pictures"]


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    program.run_example("export_random", folder, check=True)
    return folder


def numbers(path, columns):
    return np.fromfile(path, "<f8").reshape(-1, columns)


def widths(model):
    width = lambda info: info.type.tensor_type.shape.dim[1].dim_value
    return width(model.graph.input[0]), width(model.graph.output[0])


@pytest.mark.parametrize("name", NAMES)
def test_file_is_valid_onnx(exported, name):
    model = onnx.load(exported / f"{name}.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert (model.ir_version, model.producer_name) == (8, "deepsade")
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    assert [(p.key, p.value) for p in model.metadata_props] == [("deepsade.test", name)]
    for info, tensor in ((model.graph.input, "x"), (model.graph.output, "y")):
        assert [i.name for i in info] == [tensor]
        assert info[0].type.tensor_type.shape.dim[0].dim_param == "N"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", LEVELS)
def test_onnxruntime_stays_within_the_error_bound(exported, name, level):
    path = exported / f"{name}.onnx"
    inputs, outputs = widths(onnx.load(path))
    x = numbers(path.with_suffix(".x"), inputs).astype(np.float32)
    running = session(path, level)
    y = running.run(["y"], {"x": x})[0]
    assert y.shape == (len(x), outputs) and len(x) >= 2000
    centre, radius = (numbers(path.with_suffix(f".{kind}"), outputs) for kind in ("centre", "radius"))
    off = np.abs(y.astype(np.float64) - centre)
    assert (off <= radius).all(), f"off by {np.max(off / np.maximum(radius, 1e-300))} times the bound"
    ours = numbers(path.with_suffix(".y"), outputs)
    assert (np.abs(ours - centre) <= radius).all()
    # The bound would prove little if it were huge.
    assert (radius <= 1e-3 * (1 + np.abs(centre).max())).all()
    one = running.run(["y"], {"x": x[:1]})[0]
    assert one.shape == (1, outputs) and (np.abs(one - centre[:1]) <= radius[:1]).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_FOR_MARABOU])
def test_marabou_reads_the_file_and_means_the_same(exported, name):
    """Marabou's own equations, solved at fixed inputs, give our outputs."""
    marabou = pytest.importorskip("maraboupy.Marabou", reason="maraboupy is not installed (pip install maraboupy, Python 3.11)")
    path = exported / f"{name}.onnx"
    inputs, outputs = widths(onnx.load(path))
    centre = numbers(path.with_suffix(".centre"), outputs)
    x = numbers(path.with_suffix(".x"), inputs)
    for row in (0, 2000):
        network = marabou.read_onnx(str(path))
        assert np.size(network.inputVars) == inputs and np.size(network.outputVars) == outputs
        for variable, value in zip(np.ravel(network.inputVars), x[row]):
            network.setLowerBound(variable, float(value))
            network.setUpperBound(variable, float(value))
        answer, values, _ = network.solve(verbose=False, options=marabou.createOptions(verbosity=0, timeoutInSeconds=60))
        assert answer == "sat"
        found = np.array([values[v] for v in np.ravel(network.outputVars)])
        np.testing.assert_allclose(found, centre[row], rtol=1e-3, atol=1e-3)
