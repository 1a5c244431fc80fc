"use strict";
// The output step behind a network: operators of ONNX as `crates/output/src/graph` runs them. Tensors by name enter, tensors by name leave.
//
// A tensor is { type, dims, data }. Numbers of type "float" stand in a Float32Array, which rounds what is put into it: the sum, difference,
// product or quotient of two float32 numbers in double precision, rounded again, is the float32 one. Whole numbers are exact to 2^53.
const outputStep = (() => {
  const size = (dims) => dims.reduce((product, d) => product * d, 1);
  const tensor = (type, dims, data) => ({ type, dims, data: type === "float" ? Float32Array.from(data) : Array.from(data) });

  // The axis or element that a file means: negative ones count from the end.
  function place(index, length) {
    const found = index < 0 ? index + length : index;
    if (!(found >= 0 && found < length)) throw new Error(`there is no place ${index} among ${length}`);
    return found;
  }
  // How many elements stand before, on and after an axis.
  const around = (dims, axis) => [size(dims.slice(0, axis)), dims[axis], size(dims.slice(axis + 1))];

  // The shape that several have together: axes are matched from the end, and a length of 1 fits every other.
  function joined(shapes) {
    const rank = Math.max(...shapes.map((dims) => dims.length));
    return Array.from({ length: rank }, (_, k) => {
      const lengths = shapes.map((dims) => dims[k - rank + dims.length] ?? 1);
      const length = lengths.find((d) => d !== 1) ?? 1;
      const fit = lengths.every((d) => d === 1 || d === length);
      if (!fit) throw new Error(`shapes do not fit: ${shapes.map((dims) => `[${dims}]`).join(" and ")}`);
      return length;
    });
  }

  // The elements of a tensor, repeated to fill a shape that it fits.
  function stretched({ dims: own, data }, dims) {
    const count = size(dims);
    if (data.length === count) return data;
    return Array.from({ length: count }, (_, rest) => {
      let [at, step] = [0, 1];
      for (let k = 1; k <= own.length; k++) {
        const length = dims[dims.length - k];
        if (own[own.length - k] !== 1) at += (rest % length) * step;
        step *= own[own.length - k];
        rest = Math.floor(rest / length);
      }
      return data[at];
    });
  }

  function elementwise(type, f, operands) {
    const dims = joined(operands.map((x) => x.dims));
    const data = operands.map((x) => stretched(x, dims));
    return tensor(type, dims, Array.from({ length: size(dims) }, (_, k) => f(...data.map((values) => values[k]))));
  }

  // Not a number if one of them is.
  const larger = (a, b) => (a > b || Number.isNaN(a) ? a : b);
  const smaller = (a, b) => (a < b || Number.isNaN(a) ? a : b);
  const round = Math.fround;

  const same = (f) => (operands) => elementwise(operands[0].type, f, operands);
  const truth = (f) => (operands) => elementwise("bool", f, operands);
  const folded = (f) => (operands) => operands.reduce((a, b) => elementwise(a.type, f, [a, b]));

  function cast([x], { to }) {
    const type = { 1: "float", 7: "int", 9: "bool" }[to];
    if (!type) throw new Error(`there is no type ${to}`);
    if (type === x.type) return x;
    const whole = (v) => (Number.isNaN(v) ? 0 : Math.min(2 ** 63, Math.max(-(2 ** 63), Math.trunc(v))) + 0);
    const turn = { float: Number, int: (v) => whole(Number(v)), bool: (v) => v !== 0 }[type];
    return tensor(type, x.dims, Array.from(x.data, (v) => turn(v)));
  }

  function divided(operands) {
    if (operands[0].type === "float") return elementwise("float", (a, b) => a / b, operands);
    if (operands[1].data.includes(0)) throw new Error("a whole number is divided by 0");
    return elementwise("int", (a, b) => Math.trunc(a / b) + 0, operands);
  }

  function concat(parts, { axis }) {
    const at = place(axis, parts[0].dims.length);
    const dims = [...parts[0].dims];
    dims[at] = parts.reduce((sum, part) => sum + part.dims[at], 0);
    const data = [];
    for (let o = 0; o < size(dims.slice(0, at)); o++) {
      for (const part of parts) {
        const block = size(part.dims.slice(at));
        for (let k = 0; k < block; k++) data.push(part.data[o * block + k]);
      }
    }
    if (data.length !== size(dims)) throw new Error("parts of different shapes stand side by side");
    return tensor(parts[0].type, dims, data);
  }

  function gather([x, index], { axis = 0 }) {
    const at = place(axis, x.dims.length);
    const [outer, length, inner] = around(x.dims, at);
    const data = [];
    for (let o = 0; o < outer; o++) {
      for (const i of index.data) {
        const start = (o * length + place(i, length)) * inner;
        for (let k = 0; k < inner; k++) data.push(x.data[start + k]);
      }
    }
    return tensor(x.type, [...x.dims.slice(0, at), ...index.dims, ...x.dims.slice(at + 1)], data);
  }

  // One element on the axis for each index, at the index's own place on the other axes.
  function gatherElements([x, index], { axis = 0 }) {
    const at = place(axis, x.dims.length);
    const element = (i, rest) => {
      let [from, step] = [0, 1];
      for (let k = x.dims.length - 1; k >= 0; k--) {
        from += step * place(k === at ? i : rest % index.dims[k], x.dims[k]);
        step *= x.dims[k];
        rest = Math.floor(rest / index.dims[k]);
      }
      return x.data[from];
    };
    return tensor(x.type, index.dims, Array.from(index.data, element));
  }

  // Each element of the product is summed from left to right, then what is added.
  function product([a, b, plus], { transA = 0, transB = 0 }) {
    if (a.dims.length !== 2 || b.dims.length !== 2) throw new Error("a product is of two matrices");
    const [rows, inner] = transA ? [a.dims[1], a.dims[0]] : a.dims;
    const [innerB, columns] = transB ? [b.dims[1], b.dims[0]] : b.dims;
    if (inner !== innerB) throw new Error(`[${a.dims}] and [${b.dims}] have no product`);
    const [stepA, nextA] = transA ? [rows, 1] : [1, inner];
    const [stepB, nextB] = transB ? [1, inner] : [columns, 1];
    const y = tensor("float", [rows, columns], new Float32Array(rows * columns));
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        let sum = 0;
        for (let k = 0; k < inner; k++) sum = round(sum + round(a.data[r * nextA + k * stepA] * b.data[c * nextB + k * stepB]));
        y.data[r * columns + c] = sum;
      }
    }
    return plus ? elementwise("float", (v, p) => v + p, [y, plus]) : y;
  }

  // Some axes, or all if none is named, become one element each.
  const reduced = (start, f) => ([x, named], { axes = named?.data ?? [], keepdims = 1, noop_with_empty_axes = 0 }) => {
    if (!axes.length && noop_with_empty_axes) return x;
    const gone = axes.length ? axes.map((axis) => place(axis, x.dims.length)) : x.dims.map((_, k) => k);
    const dims = x.dims.map((d, k) => (gone.includes(k) ? 1 : d));
    const y = tensor(x.type, dims, Array(size(dims)).fill(start));
    const to = stretched({ dims, data: [...y.data.keys()] }, x.dims);
    x.data.forEach((v, k) => (y.data[to[k]] = f(y.data[to[k]], v)));
    return keepdims ? y : { ...y, dims: dims.filter((_, k) => !gone.includes(k)) };
  };

  // The places of the elements on each line along an axis.
  function lines(dims, at) {
    const [outer, length, inner] = around(dims, at);
    const line = (l) => Array.from({ length }, (_, k) => (Math.floor(l / inner) * length + k) * inner + (l % inner));
    return Array.from({ length: outer * inner }, (_, l) => line(l));
  }

  // The first of the largest ones; everything is larger than not a number.
  function argMax([x], { axis = 0, keepdims = 1 }) {
    const at = place(axis, x.dims.length);
    const isLarger = (v, best) => v > best || (Number.isNaN(best) && !Number.isNaN(v));
    const first = (line) => line.reduce((best, k, i) => (isLarger(x.data[k], x.data[line[best]]) ? i : best), 0);
    const dims = x.dims.flatMap((d, k) => (k !== at ? [d] : keepdims ? [1] : []));
    return tensor("int", dims, lines(x.dims, at).map(first));
  }

  function softmax([x], { axis = -1 }) {
    const y = tensor("float", x.dims, x.data);
    for (const line of lines(x.dims, place(axis, x.dims.length))) {
      const largest = line.reduce((most, k) => larger(most, x.data[k]), -Infinity);
      for (const k of line) y.data[k] = Math.exp(round(x.data[k] - largest));
      const sum = line.reduce((total, k) => round(total + y.data[k]), 0);
      for (const k of line) y.data[k] /= sum;
    }
    return y;
  }

  function flatten([x], { axis = 1 }) {
    const at = axis === x.dims.length ? axis : place(axis, x.dims.length);
    return { ...x, dims: [size(x.dims.slice(0, at)), size(x.dims.slice(at))] };
  }

  // 0 keeps a length, and -1 takes what is left.
  function reshape([x, shape], { allowzero = 0 }) {
    const dims = shape.data.map((d, k) => (d === 0 && !allowzero ? x.dims[k] : d));
    const open = dims.indexOf(-1);
    if (open >= 0) dims[open] = x.data.length / -size(dims);
    if (size(dims) !== x.data.length || dims.some((d) => !(d >= 0))) throw new Error(`[${x.dims}] does not become [${shape.data}]`);
    return { ...x, dims };
  }

  // A matrix, its rows for its columns.
  function transpose([x]) {
    if (x.dims.length !== 2) throw new Error(`[${x.dims}] is no matrix`);
    const [rows, columns] = x.dims;
    const data = Array.from(x.data, (_, k) => x.data[(k % rows) * columns + Math.floor(k / rows)]);
    return tensor(x.type, [columns, rows], data);
  }

  function clip([x, lo, hi]) {
    const limits = [lo?.data[0] ?? -Infinity, hi?.data[0] ?? Infinity];
    return elementwise(x.type, (v) => smaller(larger(v, limits[0]), limits[1]), [x]);
  }

  const operators = {
    Abs: same(Math.abs), Neg: same((v) => -v), Floor: same(Math.floor), Ceil: same(Math.ceil), Relu: same((v) => (v < 0 ? 0 : v)),
    Exp: same(Math.exp), Sqrt: same(Math.sqrt), Sigmoid: same((v) => 1 / round(1 + round(Math.exp(-v)))),
    Not: truth((v) => !v), IsNaN: truth(Number.isNaN), Identity: ([x]) => x, Cast: cast, Clip: clip,
    Add: same((a, b) => a + b), Sub: same((a, b) => a - b), Mul: same((a, b) => a * b), Div: divided,
    Max: folded(larger), Min: folded(smaller),
    Greater: truth((a, b) => a > b), Less: truth((a, b) => a < b),
    GreaterOrEqual: truth((a, b) => a >= b), LessOrEqual: truth((a, b) => a <= b), Equal: truth((a, b) => a === b),
    And: truth((a, b) => a && b), Or: truth((a, b) => a || b),
    Where: (operands) => elementwise(operands[1].type, (c, a, b) => (c ? a : b), operands),
    Concat: concat, Flatten: flatten, Reshape: reshape, Transpose: transpose, Gather: gather, GatherElements: gatherElements,
    MatMul: product, Gemm: product, ArgMax: argMax, Softmax: softmax,
    ReduceSum: reduced(0, (a, b) => a + b), ReduceMax: reduced(-Infinity, larger), ReduceMin: reduced(Infinity, smaller),
  };
  const reduction = ["axes", "keepdims", "noop_with_empty_axes"];
  const attributes = {
    Cast: ["to"], Concat: ["axis"], Flatten: ["axis"], Reshape: ["allowzero"], Gather: ["axis"], GatherElements: ["axis"],
    Gemm: ["transA", "transB"], ArgMax: ["axis", "keepdims"], Softmax: ["axis"],
    ReduceSum: reduction, ReduceMax: reduction, ReduceMin: reduction,
  };

  // The constants, and the calls that the outputs need, in order. What is not known here is refused: the page shows what the file gives,
  // or nothing.
  function load({ calls, tensors, outputs }, floats) {
    const needed = new Set(outputs);
    const kept = [...calls].reverse().filter(({ op, reads, makes, ints }) => {
      if (!needed.has(makes)) return false;
      if (!Object.hasOwn(operators, op)) throw new Error(`its operator ${op} is not known here`);
      const odd = Object.keys(ints).find((name) => !attributes[op]?.includes(name));
      if (odd) throw new Error(`the attribute ${odd} of its ${op} is not known here`);
      reads.forEach((name) => needed.add(name));
      return true;
    });
    const constant = ({ name, dims, floats: text, ints }) => [name, ints ? tensor("int", dims, ints) : tensor("float", dims, floats(text))];
    return { calls: kept.reverse(), constants: tensors.filter((t) => needed.has(t.name)).map(constant), outputs };
  }

  // What the outputs are, given some tensors by name.
  function run(step, given) {
    const all = new Map([...step.constants, ...Object.entries(given)]);
    const read = (name) => {
      if (name !== "" && !all.has(name)) throw new Error(`its tensor ${name} is not there`);
      return all.get(name);
    };
    for (const { op, reads, makes, ints } of step.calls) all.set(makes, operators[op](reads.map(read), ints));
    return step.outputs.map(read);
  }

  return { load, run, tensor };
})();
