// What the exported model computes, operator by operator in float32, and the truth of its rules. No page is needed for this.
const deepsade = (() => {
  const f = Math.fround;

  // Base64 of little-endian float32 -> numbers.
  function floats(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float32Array.from({ length: bytes.length / 4 }, (_, k) => view.getFloat32(4 * k, true));
  }

  // Weights and constants become numbers once.
  function load({ nodes, step }) {
    const node = (n) => {
      const loaded = { ...n };
      for (const name of ["w", "b", "scale", "shift"]) if (name in n) loaded[name] = floats(n[name]);
      return loaded;
    };
    return { nodes: nodes.map(node), step: step && outputStep.load(step, floats) };
  }

  // In the order of the program's own forward pass: sixteen partial sums side by side, what is left over, the bias.
  function dot(w, start, x, bias) {
    const lanes = new Float32Array(16);
    const whole = x.length - (x.length % 16);
    for (let k = 0; k < whole; k++) lanes[k % 16] = f(lanes[k % 16] + f(w[start + k] * x[k]));
    let rest = 0;
    for (let k = whole; k < x.length; k++) rest = f(rest + f(w[start + k] * x[k]));
    let sum = 0;
    for (const lane of lanes) sum = f(sum + lane);
    return f(f(sum + rest) + bias);
  }

  const activations = {
    relu: (x) => (x < 0 ? 0 : x),
    sigmoid: (x) => f(1 / f(1 + f(Math.exp(-x)))),
    tanh: (x) => f(Math.tanh(x)),
  };

  // One number a window and channel, line by line; `of` is told the channel and how to visit a window of a channel that is read.
  function overWindows({ input: [, height, width], size, stride, dilation, pads }, channels, of) {
    const places = (n, k) => Math.floor((n + pads[k] + pads[k + 2] - (size[k] - 1) * dilation[k] - 1) / stride[k]) + 1;
    const [down, right] = [places(height, 0), places(width, 1)];
    const y = new Float32Array(channels * down * right);
    for (let o = 0; o < y.length; o++) {
      const [top, left] = [Math.floor((o / right) % down) * stride[0] - pads[0], (o % right) * stride[1] - pads[1]];
      y[o] = of(Math.floor(o / (down * right)), (channel, visit) => {
        for (let k = 0; k < size[0] * size[1]; k++) {
          const [i, j] = [top + Math.floor(k / size[1]) * dilation[0], left + (k % size[1]) * dilation[1]];
          if (i >= 0 && i < height && j >= 0 && j < width) visit((channel * height + i) * width + j, k);
        }
      });
    }
    return y;
  }

  const operations = {
    affine: (n, [x]) => x.map((v, k) => f(f(v * n.scale[k]) + n.shift[k])),
    dense: (n, [x]) => Float32Array.from({ length: n.b.length }, (_, o) => dot(n.w, o * x.length, x, n.b[o])),
    activation: (n, [x]) => x.map(activations[n.of]),
    select: (n, [x]) => Float32Array.from(n.columns, (c) => x[c]),
    concat: (n, from) => Float32Array.from(from.flatMap((v) => [...v])),
    conv: (n, [x]) => {
      const each = n.window.input[0] / n.groups, size = n.window.size[0] * n.window.size[1];
      return overWindows(n.window, n.b.length, (o, at) => {
        let sum = 0;
        for (let c = 0; c < each; c++) {
          const first = Math.floor(o / (n.b.length / n.groups)) * each + c;
          at(first, (column, k) => {
            const w = n.w[(o * each + c) * size + k];
            if (w !== 0) sum = f(sum + f(w * x[column]));
          });
        }
        return f(sum + n.b[o]);
      });
    },
    maxpool: (n, [x]) =>
      overWindows(n.window, n.window.input[0], (o, at) => {
        let most = -Infinity;
        at(o, (column) => (most = x[column] > most || Number.isNaN(x[column]) ? x[column] : most));
        return most;
      }),
    gate: (n, [x, g]) => x.map((v) => f(v * g[0])),
    // The row of a table whose column of the value read is largest; of several the first.
    choose: (n, [x]) => {
      let best = 0;
      for (let k = 1; k < x.length; k++) if (x[k] > x[best]) best = k;
      return n.w.slice(best * n.cols, (best + 1) * n.cols);
    },
  };

  // What the network itself gives for one row of columns.
  function scores(nodes, columns) {
    const all = [Float32Array.from(columns)];
    for (const node of nodes) all.push(operations[node.op](node, node.from.map((v) => all[v])));
    return all.pop();
  }

  // The outputs that the file gives for one row of columns: those of the output step where there is one, and whether its candidate
  // passed (else its fallback answered).
  function answer({ nodes, step }, columns) {
    const own = scores(nodes, columns);
    if (!step) return { y: own, ok: true };
    const row = (data) => outputStep.tensor("float", [1, data.length], data);
    const [y, , ok] = outputStep.run(step, { x: row(columns), scores: row(own) });
    return { y: y.data, ok: ok ? ok.data[0] : true };
  }

  // Feature values -> network columns. A category's value is the index of its level.
  function encode(features, dropFirst, inputs) {
    return features.flatMap((feature, k) =>
      feature.kind !== "category"
        ? [f(inputs[k])]
        : feature.levels.map((_, level) => (level === inputs[k] ? 1 : 0)).slice(dropFirst ? 1 : 0),
    );
  }

  // Whether a value is in its feature's domain, after rounding to float32.
  function inside(feature, value) {
    if (feature.kind === "category") return value >= 0 && value < feature.levels.length;
    const v = f(value);
    const step = stepOf(feature);
    return v >= f(feature.lo) && v <= f(feature.hi) && (!step || Number.isInteger(v / step));
  }

  // What every value of a feature is a multiple of; undefined if it may be any number.
  function stepOf(feature) {
    return feature.kind === "integer" ? 1 : feature.step;
  }

  // Exact fractions of big integers, for the few sums that floats can't decide.
  function fraction(text) {
    const [n, d] = text.split("/");
    return [BigInt(n), BigInt(d ?? "1")];
  }
  function exactly(value) {
    let d = 1n;
    while (!Number.isInteger(value)) [value, d] = [value * 2, d * 2n];
    return [BigInt(value), d];
  }
  const quotients = new Map();
  function quotient(text) {
    if (!quotients.has(text)) {
      const [n, d] = text.split("/");
      quotients.set(text, Number(n) / Number(d ?? "1"));
    }
    return quotients.get(text);
  }

  // The sign of sum of coefficient * value + constant: in floats where they decide beyond rounding, else exactly.
  function sign(atom, value) {
    let sum = quotient(atom.constant);
    let size = Math.abs(sum);
    for (const [kind, a, b, c] of atom.terms) {
      const term = quotient(c) * value(kind, a, b);
      sum += term;
      size += Math.abs(term);
    }
    if (Math.abs(sum) > size * 1e-9) return Math.sign(sum);
    let [n, d] = fraction(atom.constant);
    for (const [kind, a, b, c] of atom.terms) {
      const [cn, cd] = fraction(c);
      const [vn, vd] = exactly(value(kind, a, b));
      [n, d] = [n * cd * vd + cn * vn * d, d * cd * vd];
    }
    return n > 0n ? 1 : n < 0n ? -1 : 0;
  }

  // 1 true, -1 false, 0 not decided: where `outputs` is null, atoms about outputs are not.
  function truth(formula, value, outputs) {
    if (formula === true || formula === false) return formula ? 1 : -1;
    if (formula.terms) {
      if (!outputs && formula.terms.some(([kind]) => kind === "y")) return 0;
      const s = sign(formula, value);
      return s > 0 || (s === 0 && !formula.strict) ? 1 : -1;
    }
    if (formula.and) return Math.min(...formula.and.map((part) => truth(part, value, outputs)));
    if (formula.or) return Math.max(...formula.or.map((part) => truth(part, value, outputs)));
    const parts = formula.count.map(([weight, part]) => [quotient(weight), truth(part, value, outputs)]);
    const reached = (count) => (formula.strict ? count > quotient(formula.bound) : count >= quotient(formula.bound));
    const least = parts.reduce((sum, [w, t]) => sum + (t > 0 ? w : 0), 0);
    const most = parts.reduce((sum, [w, t]) => sum + (t >= 0 ? w : 0), 0);
    return reached(least) ? 1 : reached(most) ? 0 : -1;
  }

  // "holds", "idle" (the inputs alone make it true: its condition is not met) or "broken".
  function state(rule, features, inputs, y) {
    if (y.some((v) => !Number.isFinite(v))) return "broken";
    const value = (kind, a, b) => (kind === "y" ? y[a] : kind === "x" ? f(inputs[a]) : inputs[a] === b ? 1 : 0);
    if (truth(rule.claim, value, null) > 0) return "idle";
    return truth(rule.claim, value, y) > 0 ? "holds" : "broken";
  }

  return { load, answer, encode, inside, stepOf, state };
})();
if (typeof module !== "undefined") module.exports = deepsade;
