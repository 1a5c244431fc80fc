"""Random ONNX graphs, node by node, with a name for each tensor."""

import numpy as np
from onnx import helper, numpy_helper


class Drawn:
    """Nodes and constants of a graph that is being drawn."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.count = rng, [], [], 0
        self.opset = int(rng.choice([9, 11, 13, 17, 21]))

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def node(self, op, inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"n_{name}", **attributes))
        return name

    def constant(self, value, dtype=np.float32):
        tensor = numpy_helper.from_array(np.asarray(value, dtype), self.name())
        self.constants.append(tensor)
        return tensor.name
