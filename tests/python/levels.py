"""onnxruntime at each of its optimisation levels, and the bounds that `enclose` gives for a file."""

import json

import numpy as np
import onnxruntime

import program

LEVELS = {
    name.removeprefix("ORT_").lower(): getattr(onnxruntime.GraphOptimizationLevel, name)
    for name in ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL"]
    if hasattr(onnxruntime.GraphOptimizationLevel, name)
}


def session(model, level, optimised=None):
    """`model`: bytes or a path. `optimised`: where the graph is written as it is run."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if optimised is not None:
        options.optimized_model_filepath = str(optimised)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def enclose(folder):
    """What import says of each file of the folder, by name: `refused`, `inexact`, and where read `centre` and `radius`."""
    program.run_example("enclose_files", folder, check=True)
    found = {}
    for path in sorted(folder.glob("*.onnx")):
        said = json.loads(path.with_suffix(".json").read_text())
        if said["refused"] is None:
            bounds = np.fromfile(path.with_suffix(".bounds"), "<f8").reshape(-1, said["outputs"], 2)
            said["centre"], said["radius"] = bounds[..., 0], bounds[..., 1]
        found[path.stem] = said
    return found


def outside(y, said):
    """Which numbers leave their ball; where something may overflow nothing is claimed."""
    claimed = np.isfinite(said["radius"]) & np.isfinite(said["centre"])
    with np.errstate(invalid="ignore", over="ignore"):
        inside = np.abs(y.astype(np.float64) - said["centre"]) <= said["radius"]
    return claimed & ~inside, claimed
