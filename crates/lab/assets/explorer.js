"use strict";
// A table of many rules shows those that hold what is typed.
(() => {
  const filter = document.getElementById("rule-filter");
  if (!filter) return;
  const rows = [...document.querySelectorAll("#rule-table tbody tr")];
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    rows.forEach((row) => (row.hidden = !row.textContent.toLowerCase().includes(wanted)));
    const left = rows.filter((row) => !row.hidden).length;
    document.getElementById("rule-count").textContent = wanted ? `${left} of ${rows.length} rules` : `${rows.length} rules`;
  });
})();
// The page's controls: values of features enter, the prediction and the state of every rule leave, live.
(() => {
  const data = JSON.parse(document.getElementById("model").textContent);
  const find = (id) => document.getElementById(id);
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const short = (v) => (Number.isFinite(v) ? String(Number(v.toPrecision(7))) : String(v));
  // A number as the program's own output prints it: the shortest that reads back as the same float32.
  const float = (v) => {
    for (let digits = 1; digits < 10; digits++) {
      const text = String(Number(v.toPrecision(digits)));
      if (Math.fround(Number(text)) === v) return text;
    }
    return String(v);
  };

  // Nothing is shown rather than something that the file does not give.
  function refuse(why) {
    find("explorer").replaceChildren(make("p", `This page can't compute what the model gives: ${why.message}.`, { class: "note outside" }));
  }
  let model;
  try {
    model = deepsade.load(data);
  } catch (why) {
    refuse(why);
    return;
  }

  const inputs = data.features.map((feature) => feature.start);
  const controls = new Map();

  function control(k) {
    if (controls.has(k)) return controls.get(k);
    const feature = data.features[k];
    const row = make("div", undefined, { class: "feature" });
    const id = `feature-${k}`;
    const label = make("label", feature.name, { for: id });
    if (feature.ruled) label.append(make("small", "in a rule"));
    row.append(label);
    let show;
    if (feature.kind === "category") {
      const menu = make("select", undefined, { id, "data-feature": feature.name });
      feature.levels.forEach((level, index) => menu.append(make("option", level, { value: index })));
      menu.addEventListener("change", () => set(k, Number(menu.value)));
      row.append(menu);
      show = () => (menu.value = String(inputs[k]));
    } else {
      const own = deepsade.stepOf(feature);
      const step = own || (feature.hi - feature.lo) / 500 || "any";
      const range = make("input", undefined, { type: "range", min: feature.lo, max: feature.hi, step, "aria-label": `${feature.name}, slider` });
      const number = make("input", undefined, { type: "number", id, step: "any", "data-feature": feature.name, "aria-describedby": `${id}-flag` });
      const flag = make("span", "", { class: "flag", id: `${id}-flag` });
      range.addEventListener("input", () => {
        const v = Number(range.value);
        // The ends are the domain's own, not a rounded step beside them.
        const near = Math.abs(v - feature.hi) < 1e-9 * Math.abs(feature.hi - feature.lo) ? feature.hi : v;
        set(k, Math.min(feature.hi, Math.max(feature.lo, own ? Math.round(near / own) * own : Number(short(near)))));
      });
      number.addEventListener("input", () => set(k, number.value.trim() === "" ? NaN : Number(number.value), true));
      row.append(range, number, flag);
      show = (typed) => {
        range.value = String(inputs[k]);
        if (!typed) number.value = Number.isFinite(inputs[k]) ? String(inputs[k]) : "";
        const ok = deepsade.inside(feature, inputs[k]);
        const whole = feature.kind === "integer" ? "whole " : own ? `multiples of ${own} from ` : "";
        flag.textContent = ok ? "" : Number.isFinite(inputs[k]) ? `outside: ${whole}${short(feature.lo)} to ${short(feature.hi)}` : "a number is missing";
        row.classList.toggle("outside", !ok);
        number.setAttribute("aria-invalid", String(!ok));
      };
    }
    controls.set(k, { row, show });
    show();
    return controls.get(k);
  }

  function set(k, value, typed = false) {
    inputs[k] = value;
    controls.get(k)?.show(typed);
    update();
  }

  // With many features, those that rules mention come first, and a filter finds the others.
  const most = 40;
  const order = data.features.map((_, k) => k).sort((a, b) => data.features[b].ruled - data.features[a].ruled || a - b);
  function list() {
    const wanted = find("filter").value.trim().toLowerCase();
    const matching = order.filter((k) => data.features[k].name.toLowerCase().includes(wanted));
    find("features").replaceChildren(...matching.slice(0, most).map((k) => control(k).row));
    const hidden = matching.length - Math.min(most, matching.length);
    find("more").textContent = hidden > 0 ? `${hidden} more features: type a part of a name above to find them.` : "";
  }

  // What the outputs mean. Those of an output step are 0 or 1 a label, which reads the same way as scores do.
  function prediction(y) {
    const task = data.task;
    const winner = [...y].reduce((best, v, c) => (v > y[best] ? c : best), 0);
    const box = find("prediction");
    if (y.some((v) => Number.isNaN(v))) {
      box.replaceChildren(make("p", "no prediction: a value is missing or out of range"));
      return [];
    }
    if (task.kind === "regression") {
      box.replaceChildren(...task.targets.map((target, j) => {
        const row = make("div", undefined, { class: "answer" });
        row.append(make("span", target), make("b", float(y[j]), { "data-output": target }));
        return row;
      }));
    } else if (task.kind === "binary" || task.kind === "multiclass") {
      const row = make("div", undefined, { class: "answer" });
      row.append(make("span", task.target), make("b", task.classes[winner], { "data-output": task.target }));
      const scores = task.classes.map((name, c) => bar(name, y[c], y, c === winner));
      box.replaceChildren(row, ...scores);
    } else if (task.kind === "multilabel") {
      box.replaceChildren(...task.labels.map((name, j) => bar(name, y[j], y, y[j] > 0, y[j] > 0 ? "yes" : "no")));
    } else {
      const n = task.items.length;
      const table = make("table");
      const head = make("tr");
      head.append(make("th", "item"), ...task.items.map((_, p) => make("th", `place ${p + 1}`)));
      table.append(head, ...task.items.map((item, i) => {
        const row = make("tr");
        const cell = (p) => make("td", y[i * n + p] > 0 ? "●" : "·", { "data-output": `${item}@${p + 1}`, title: float(y[i * n + p]) });
        row.append(make("th", item), ...task.items.map((_, p) => cell(p)));
        return row;
      }));
      const scroll = make("div", undefined, { class: "scroll" });
      scroll.append(table);
      box.replaceChildren(scroll);
    }
    return [...y];
  }

  // A score as a bar to the right of zero or to the left of it.
  function bar(name, score, all, chosen, word) {
    const row = make("div", undefined, { class: chosen ? "score chosen" : "score" });
    const most = Math.max(...[...all].map(Math.abs), 1e-30);
    const track = make("span", undefined, { class: "track", "aria-hidden": "true" });
    const fill = make("i");
    fill.style.width = `${(50 * Math.abs(score)) / most}%`;
    fill.style.left = score < 0 ? `${50 - (50 * Math.abs(score)) / most}%` : "50%";
    track.append(fill);
    const shown = word ? { "data-output": name } : {};
    row.append(make("span", name), track, make("span", word ?? float(score), { ...shown, "data-score": float(score), title: `output ${float(score)}` }));
    return row;
  }

  // Of many rules those that are broken are listed, then those whose condition is met.
  const mostRules = 12;
  function few() {
    const lines = [...find("rule-states").children];
    if (lines.length <= mostRules) return;
    const rank = (line) => ["broken", "unknown", "holds", "idle"].indexOf(line.dataset.state);
    const order = [...lines].sort((a, b) => rank(a) - rank(b));
    order.forEach((line, k) => (line.hidden = k >= mostRules));
    const count = (state) => lines.filter((line) => line.dataset.state === state).length;
    const note = find("rule-states-note");
    note.hidden = false;
    note.textContent = `${lines.length} rules: ${count("broken")} broken, ${count("holds")} hold, ${count("idle")} whose condition is not met; ${mostRules} are listed.`;
  }

  const words = { holds: "holds", idle: "holds: its condition is not met here", broken: "BROKEN" };
  function update() {
    const columns = deepsade.encode(data.features, data.dropFirst, inputs);
    const known = inputs.every((v) => Number.isFinite(v));
    let answer;
    try {
      answer = deepsade.answer(model, columns);
    } catch (why) {
      refuse(why);
      return;
    }
    // A step answers whatever it is given; where a value is missing, that is no prediction.
    const y = known ? answer.y : answer.y.map(() => NaN);
    prediction(y);
    find("step-note").hidden = !known || answer.ok;
    data.rules.forEach((rule, k) => {
      const line = find(`rule-${k}`);
      const state = known ? deepsade.state(rule, data.features, inputs, y) : "unknown";
      line.className = `rule ${state}`;
      line.dataset.state = state;
      line.querySelector("b").textContent = words[state] ?? "a value is missing";
    });
    few();
    const outside = data.features.filter((feature, k) => !deepsade.inside(feature, inputs[k]));
    const note = find("domain-note");
    note.className = outside.length ? "note outside" : "note";
    note.dataset.outside = outside.length;
    note.textContent = outside.length
      ? `Outside the domain (${outside.slice(0, 3).map((o) => o.name).join(", ")}${outside.length > 3 ? ", …" : ""}): nothing is guaranteed here.`
      : "Inside the domain.";
  }

  // Rows to start from: the middle of the domain, a random point of it, rows of the data.
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  function all(values) {
    values.forEach((v, k) => (inputs[k] = v));
    for (const { show } of controls.values()) show();
    update();
  }
  find("middle").addEventListener("click", () => all(data.features.map((feature) => feature.start)));
  find("random").addEventListener("click", () =>
    all(data.features.map((feature) => {
      if (feature.kind === "category") return Math.floor(random() * feature.levels.length);
      const v = feature.lo + random() * (feature.hi - feature.lo);
      const own = deepsade.stepOf(feature);
      return own ? Math.round(v / own) * own : Math.min(feature.hi, Math.max(feature.lo, Number(short(v))));
    })),
  );
  const rows = find("rows");
  if (data.examples.length) {
    rows.append(...data.examples.map((_, k) => make("option", `row ${k + 1} of the data`, { value: k })));
    rows.addEventListener("change", () => rows.value !== "" && all(data.examples[Number(rows.value)]));
    rows.parentElement.hidden = false;
  }
  find("filter").addEventListener("input", list);
  find("filter-line").hidden = data.features.length <= most;
  data.rules.forEach((rule, k) => {
    const line = make("li", undefined, { id: `rule-${k}`, class: "rule" });
    line.append(make("span", rule.name), make("b", ""));
    find("rule-states").append(line);
  });
  list();
  update();
  document.documentElement.dataset.ready = "true";
})();
