"""Random rules as text, over small domains of which every point can be looked at."""

from fractions import Fraction

from rules import Task

#: Features: two whole numbers and a category.
DOMAINS = {"n": list(range(-2, 4)), "m": [0, 1, 2], "c": ["u", "v", "w"]}
FEATURES = {"n": "integer", "m": "integer", "c": "category"}
TASKS = {
    "regression": Task("regression", ["y", "z"]),
    "binary": Task("binary", ["a", "b"], "k"),
    "multiclass": Task("multiclass", ["a", "b", "d"], "k"),
    "multilabel": Task("multilabel", ["p", "q", "r"]),
    "ranking": Task("ranking", ["i", "j"]),
}
CONSTANTS = ["0", "1", "2", "3", "0.5", "1.5", "0.25", "1e0", "2.50"]
SIGNS = ["<", "<=", "==", "!=", ">=", ">"]


def head(task, domains=None):
    """The rule file without rules."""
    lines = ["[task]", f'kind = "{task.kind}"', f"targets = {[task.target] if task.target else task.names}"]
    if task.target:
        lines.append(f"classes = {task.names}")
    for name, values in (domains or DOMAINS).items():
        lines.append(f"[features.{name}]")
        if isinstance(values[0], str):
            lines += ['kind = "category"', f"levels = {values}"]
        elif isinstance(values[0], int):
            lines += ['kind = "integer"', f"range = [{values[0]}, {values[-1]}]"]
        else:
            lines.append(f"range = [{float(values[0])}, {float(values[-1])}]")
    return "\n".join(lines) + "\n"


def rule_file(task, texts, domains=None):
    rules = "".join(f'[[rule]]\nname = "r{k}"\ntext = """{text}"""\n' for k, text in enumerate(texts))
    return head(task, domains) + rules


class Writer:
    """Writes rules for a task; parentheses only where it likes, so that binding strength counts."""

    def __init__(self, task, random):
        self.task, self.random = task, random

    def rule(self):
        """A rule that mentions an output."""
        out = self.condition(self.random.randint(0, 2), True)
        pick = self.random.random()
        if pick < 0.4:
            return f"{self.condition(self.random.randint(0, 2), False)} => {out}"
        if pick < 0.5:
            return f"{self.condition(1, False)} <=> {out}"
        return out

    def condition(self, depth, outputs):
        """A condition; with `outputs` one that mentions an output, else one on inputs alone."""
        pick = self.random
        if depth == 0 or pick.random() < 0.15:
            return self.output_atom() if outputs else self.input_atom()
        a, b = self.condition(depth - 1, outputs), self.condition(depth - 1, outputs and pick.random() < 0.7)
        if pick.random() < 0.5:
            a, b = b, a
        kind = pick.randrange(8)
        if kind < 2:
            return f"{a} and {b}"
        if kind < 4:
            return f"({a}) or {b}" if pick.random() < 0.5 else f"{a} or {b}"
        if kind == 4:
            return f"not ({a}) and ({b})"
        if kind == 5:
            return f"(({a}) => {b})"
        if kind == 6:
            return f"(({a}) <=> ({b}))"
        quantifier = pick.choice(["forall", "exists"])
        start = pick.randint(-1, 1)
        return f"({quantifier} e in {start}..{start + pick.randint(1, 3)}: {a} or n {pick.choice(SIGNS)} e)"

    def input_atom(self):
        pick = self.random
        kind = pick.randrange(6)
        if kind == 0:
            return f"c {pick.choice(['==', '!='])} '{pick.choice(DOMAINS['c'])}'"
        if kind == 1:
            return f"c {pick.choice(['in', 'not in'])} {{{', '.join(repr(v) for v in pick.sample(DOMAINS['c'], pick.randint(1, 3)))}}}"
        if kind == 2:
            return f"n {pick.choice(['in', 'not in'])} {{{', '.join(str(v) for v in pick.sample(range(4), 2))}}}"
        if kind == 3:
            return f"{self.constant()} {pick.choice(['<', '<='])} {pick.choice('nm')} {pick.choice(['<', '<='])} {self.number(0, False)}"
        return f"{self.number(1, False)} {pick.choice(SIGNS)} {self.number(0, False)}"

    def output_atom(self):
        pick, task = self.random, self.task
        if task.target and pick.random() < 0.6:
            if pick.random() < 0.5:
                return f"{task.target} {pick.choice(['==', '!='])} '{pick.choice(task.names)}'"
            some = pick.sample(task.names, pick.randint(1, len(task.names) - 1))
            return f"{task.target} {pick.choice(['in', 'not in'])} {{{', '.join(map(repr, some))}}}"
        if task.kind in ("multilabel", "ranking") and pick.random() < 0.6:
            return self.labels()
        return f"{self.number(pick.randint(0, 2), True)} {pick.choice(SIGNS)} {self.number(0, pick.random() < 0.5)}"

    def labels(self):
        pick = self.random
        label = lambda: ("not " if pick.random() < 0.3 else "") + self.output()
        kind = pick.randrange(4)
        if kind == 0:
            return label()
        if kind == 1:
            name = pick.choice(["exactly", "at_least", "at_most"])
            return f"{name}({pick.randint(0, 3)}, {', '.join(label() for _ in range(pick.randint(1, 4)))})"
        size = len(self.task.names)
        each = f"label[e]" if self.task.kind == "multilabel" else f"at[e, {pick.randrange(size)}]"
        if kind == 2:
            return f"{pick.choice(['exactly', 'at_least', 'at_most'])}({pick.randint(0, 2)}, {each} for e in 0..{size})"
        return f"sum({pick.choice(['e', '(e - 1)', '2'])} * {each} for e in 0..{size}) {pick.choice(SIGNS)} {pick.randint(-1, 3)}"

    def output(self):
        pick, names = self.random, self.task.names
        kind = self.task.kind
        if kind == "regression":
            return pick.choice(names)
        if self.task.target:
            return f"score('{pick.choice(names)}')"
        if kind == "ranking":
            item = pick.randrange(len(names))
            return f"at[{item if pick.random() < 0.5 else repr(names[item])}, {pick.randrange(len(names))}]"
        at = pick.randrange(len(names))
        return pick.choice([f"label[{at}]", f"label['{names[at]}']", names[at]])

    def constant(self):
        return ("-" if self.random.random() < 0.2 else "") + self.random.choice(CONSTANTS)

    def number(self, depth, outputs):
        """A linear expression."""
        pick = self.random
        if depth == 0:
            if outputs:
                return self.output()
            return pick.choice(["n", "m", self.constant()])
        a, b = self.number(depth - 1, outputs), self.number(depth - 1, outputs and pick.random() < 0.5)
        kind = pick.randrange(9)
        return [
            f"{a} + {b}",
            f"{a} - {b}",
            f"{self.constant()} * {a} + {b}",
            f"({a} - {b}) / {pick.choice(['2', '4', '0.5'])}",
            f"-{a}",
            f"{pick.choice(['min', 'max', 'sum'])}({a}, {b})",
            f"abs({a} - {b})",
            f"(if {self.condition(0, False)} then {a} else {b})",
            f"sum({a} for e in 0..2) + {b}",
        ][kind]


def scores(task, random):
    """Raw outputs at which ties and zeros are likely."""
    values = [Fraction(v, 2) for v in range(-3, 6)] if task.kind == "regression" else [-1, 0, 1, Fraction(1, 2)]
    return [random.choice(values) for _ in range(task.width())]
