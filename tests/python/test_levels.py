"""Every example model, trained for a moment, at every optimisation level of onnxruntime: outputs and scores stay within the bounds that
`enclose` gives for the file, and the checker has accepted that file. What an output step gives has no such bounds: it is finite, and the
step knows the domain; that it obeys the rules test_step.py and test_guarantee.py say."""

import json

import numpy as np
import onnx
import pytest
from attack import Domain, data_file, data_folder
from levels import LEVELS, enclose, outside, session
from program import ROOT, run

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.toml"))
ROWS = 200


def rows(model):
    """Rows of the domain that the file states: half of them uniform, half corners."""
    schema = json.loads({p.key: p.value for p in model.metadata_props}["deepsade.schema"])
    domain, rng = Domain(schema), np.random.default_rng(7)
    parts = [domain.encode(place(rng, ROWS // 2, {})) for place in (domain.uniform, domain.corners)]
    return np.concatenate(parts)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_stays_within_its_bounds_at_every_level(example, tmp_path):
    folder = data_folder(example)
    if folder is None:
        pytest.skip(f"no {data_file(example)} in $DEEPSADE_DATA or ../shared/data (docs/data.md)")
    out = tmp_path / "trained"
    run("train", ROOT / "examples" / f"{example}.toml", "--data", folder, "--epochs", 1, "--out", out, "-q", check=True)
    data = (out / "model.onnx").read_bytes()
    model = onnx.load_from_string(data)
    x = rows(model)
    outputs = [o.name for o in model.graph.output]
    step = [name for name in outputs if name in ("y", "in_domain", "ok")] if "ok" in outputs else []
    outputs = [name for name in outputs if name not in step]
    for name in outputs:
        (tmp_path / f"{name}.onnx").write_bytes(data)
        (tmp_path / f"{name}.output").write_text(name)
        x.astype("<f8").tofile(tmp_path / f"{name}.x")
    found = enclose(tmp_path)
    for name in outputs:
        assert found[name]["refused"] is None and not found[name]["inexact"], found[name]
    for level in LEVELS:
        running = session(data, level)
        if step:
            y, in_domain, _ = running.run(["y", "in_domain", "ok"], {"x": x})
            assert np.isfinite(y).all() and in_domain.all()
        for size in (len(x), 1, 7):
            parts = [running.run(outputs, {"x": x[i : i + size]}) for i in range(0, len(x) if size > 1 else 9, size)]
            for name, y in zip(outputs, map(np.concatenate, zip(*parts))):
                said = {key: found[name][key][: len(y)] for key in ("centre", "radius")}
                bad, claimed = outside(y, said)
                assert not bad.any() and claimed.all(), f"{name} at {level}, {size} at a time: {y[bad][:4]}, not {said['centre'][bad][:4]}"
