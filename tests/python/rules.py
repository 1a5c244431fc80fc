"""The rule language a second time, from docs/rules.md alone: the text of a rule and a point enter, its exact truth leaves.

A point is a dictionary: features by name (numbers, or levels as text) and `scores`, the raw outputs. Numbers are exact.
Rules between two inputs (`increasing` and the like) are not read here, for a point is one input: test_pairs.py and test_clips.py compare
the outputs of pairs with what docs/rules.md says, and crates/spec/tests/pairs.rs the normal form.
"""

import fractions
import itertools
import re

import numpy as np

Fraction = fractions.Fraction
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?)|(?P<level>'[^']*')|`(?P<quoted>[^`]*)`|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><=>|=>|<=|>=|==|!=|\.\.|[-+*/()\[\]{},:<>]))"
)
WORDS = {"and", "or", "not", "in", "if", "then", "else", "for", "forall", "exists", "true", "false"}
COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}


def input_constant(value):
    """How a constant is read that stands alone beside a real feature: as a 64-bit number, rounded to float32, as the feature is."""
    return Fraction(float(np.float32(float(value))))


class Task:
    """What the outputs are: `kind` and the names of targets, classes, labels or items."""

    def __init__(self, kind, names, target=None):
        self.kind, self.names, self.target = kind, names, target

    def width(self):
        return len(self.names) ** 2 if self.kind == "ranking" else len(self.names)


def _number(value):
    return int(value) if isinstance(value, bool) else value


class _Node:
    """A part of a rule: its value as a function of the point, whether it is a bare number or a bare real feature."""

    def __init__(self, value, constant=None, feature=False):
        self.value, self.constant, self.feature = value, constant, feature


class Rule:
    """A rule for a task and features (real, integer or category): `Rule(text, task, features).holds(point)`."""

    def __init__(self, text, task, features):
        self.text, self.task, self.features = text, task, features
        self.tokens, at = [], 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            assert found, f"no token at {text[at:]!r}"
            kind = found.lastgroup
            token = found.group(kind)
            self.tokens.append(("word" if kind == "name" and token in WORDS else "name" if kind == "quoted" else kind, token))
            at = found.end()
        self.tokens.append(("end", ""))
        self.at = 0
        self.truth = self._iff().value
        assert self.tokens[self.at][0] == "end", f"{self.tokens[self.at:]} is left of {text!r}"

    def holds(self, point):
        return bool(self.truth(point))

    # Binding strength, loosest first.
    def _take(self, *words):
        kind, token = self.tokens[self.at]
        if kind in ("sign", "word") and token in words:
            self.at += 1
            return token
        return None

    def _expect(self, word):
        assert self._take(word), f"expected {word!r} at {self.tokens[self.at:]} of {self.text!r}"

    def _iff(self):
        left = self._implies()
        while self._take("<=>"):
            a, b = left.value, self._implies().value
            left = _Node(lambda p, a=a, b=b: bool(a(p)) == bool(b(p)))
        return left

    def _implies(self):
        left = self._or()
        if self._take("=>"):
            a, b = left.value, self._implies().value
            return _Node(lambda p: not a(p) or bool(b(p)))
        return left

    def _or(self):
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        values = [part.value for part in parts]
        return parts[0] if len(parts) == 1 else _Node(lambda p: any(v(p) for v in values))

    def _and(self):
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        values = [part.value for part in parts]
        return parts[0] if len(parts) == 1 else _Node(lambda p: all(v(p) for v in values))

    def _not(self):
        if self._take("not"):
            inner = self._not().value
            return _Node(lambda p: not inner(p))
        quantifier = self._take("forall", "exists")
        if quantifier:
            generators = [self._generator()]
            while self._take(","):
                generators.append(self._generator())
            self._expect(":")
            body, join = self._iff().value, all if quantifier == "forall" else any
            return _Node(lambda p: join(body(q) for q in _points(generators, p)))
        return self._comparison()

    def _comparison(self):
        left, links = self._sum(), []
        while True:
            kind, token = self.tokens[self.at]
            if kind == "sign" and token in COMPARE:
                self.at += 1
                right = self._sum()
                links.append(self._compared(left, token, right))
                left = right
            elif kind == "word" and (token == "in" or (token == "not" and self.tokens[self.at + 1] == ("word", "in"))):
                self.at += 1 if token == "in" else 2
                links.append(self._member(left, token == "in"))
            else:
                break
        return _Node(lambda p: all(link(p) for link in links)) if links else left

    def _compared(self, a, sign, b):
        compare, left, right = COMPARE[sign], a.value, b.value
        for node, other in ((a, b), (b, a)):
            if node.constant is not None and other.feature:
                read = input_constant(node.constant)
                left, right = (left, lambda p: read) if node is b else (lambda p: read, right)
        return lambda p: compare(_number(left(p)), _number(right(p)))

    def _member(self, left, wanted):
        self._expect("{")
        items = [self._sum()]
        while self._take(","):
            items.append(self._sum())
        self._expect("}")
        equal = [self._compared(left, "==", item) for item in items]
        return lambda p: any(e(p) for e in equal) == wanted

    def _sum(self):
        left = self._product()
        while sign := self._take("+", "-"):
            a, b, factor = left.value, self._product().value, 1 if sign == "+" else -1
            left = _Node(lambda p, a=a, b=b, f=factor: _number(a(p)) + f * _number(b(p)))
        return left

    def _product(self):
        left = self._unary()
        while sign := self._take("*", "/"):
            a, b = left.value, self._unary().value
            if sign == "*":
                left = _Node(lambda p, a=a, b=b: _number(a(p)) * _number(b(p)))
            else:
                left = _Node(lambda p, a=a, b=b: Fraction(_number(a(p))) / _number(b(p)))
        return left

    def _unary(self):
        if self._take("-"):
            inner = self._unary()
            constant = None if inner.constant is None else -inner.constant
            return _Node(lambda p: -_number(inner.value(p)), constant)
        return self._atom()

    def _atom(self):
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            exact = Fraction(token)
            return _Node(lambda p: exact, exact)
        if kind == "level":
            level = token[1:-1]
            return _Node(lambda p: level)
        if (kind, token) == ("sign", "("):
            inner = self._iff()
            self._expect(")")
            return inner
        if (kind, token) == ("sign", "["):
            inner = self._iff().value
            self._expect("]")
            return _Node(lambda p: int(bool(inner(p))))
        if kind == "word" and token in ("true", "false"):
            return _Node(lambda p: token == "true")
        if (kind, token) == ("word", "if"):
            condition = self._iff().value
            self._expect("then")
            yes = self._sum().value
            self._expect("else")
            no = self._sum().value
            return _Node(lambda p: yes(p) if condition(p) else no(p))
        assert kind == "name", f"{token!r} of {self.text!r}"
        if self.tokens[self.at] == ("sign", "("):
            return self._call(token)
        if self.tokens[self.at] == ("sign", "["):
            return self._indexed(token)
        return self._name(token)

    def _name(self, name):
        if name in self.features:
            return _Node(lambda p: p[name], feature=self.features[name] == "real")
        kind, names = self.task.kind, self.task.names
        if kind == "regression" and name in names:
            at = names.index(name)
            return _Node(lambda p: p["scores"][at])
        if name == self.task.target:
            return _Node(lambda p: names[_first_largest(p["scores"])])
        if kind == "multilabel" and name in names:
            at = names.index(name)
            return _Node(lambda p: p["scores"][at] > 0)
        # An index of a quantifier or of `for`.
        return _Node(lambda p: p[name])

    def _indexed(self, name):
        self._expect("[")
        first = self._sum().value
        names = self.task.names
        place = lambda v: names.index(v) if isinstance(v, str) else int(v)
        if name == "label":
            node = _Node(lambda p: p["scores"][place(first(p))] > 0)
        else:
            assert name == "at"
            self._expect(",")
            second = self._sum().value
            node = _Node(lambda p: p["scores"][place(first(p)) * len(names) + int(second(p))] > 0)
        self._expect("]")
        return node

    def _call(self, name):
        self._expect("(")
        values = [self._argument()]
        while self._take(","):
            values.append(self._argument())
        self._expect(")")
        if name == "score":
            names = self.task.names
            return _Node(lambda p: p["scores"][names.index(next(values[0](p)))])
        all_values = lambda p: [v for value in values for v in value(p)]
        numbers = lambda p: [_number(v) for v in all_values(p)]
        counted = lambda p: sum(bool(v) for v in all_values(p)[1:])
        return _Node(
            {
                "sum": lambda p: sum(numbers(p)),
                "min": lambda p: min(numbers(p)),
                "max": lambda p: max(numbers(p)),
                "abs": lambda p: abs(numbers(p)[0]),
                # A weighted count of the normal form has terms such as `2 * [label[0]]`.
                "count": lambda p: sum(numbers(p)),
                "exactly": lambda p: counted(p) == numbers(p)[0],
                "at_least": lambda p: counted(p) >= numbers(p)[0],
                "at_most": lambda p: counted(p) <= numbers(p)[0],
            }[name]
        )

    def _argument(self):
        """Values of one argument: several where it has `for`."""
        body, generators = self._iff().value, []
        while self._take("for"):
            generators.append(self._generator())
        return lambda p: (body(q) for q in _points(generators, p))

    def _generator(self):
        kind, name = self.tokens[self.at]
        assert kind == "name", f"an index at {self.tokens[self.at:]}"
        self.at += 1
        self._expect("in")
        start = self._sum().value
        self._expect("..")
        return name, start, self._sum().value


def _points(generators, point):
    """The point with every value of the indices; a later range may depend on an earlier index."""
    if not generators:
        yield point
        return
    (name, start, end), *rest = generators
    for value in range(int(start(point)), int(end(point))):
        yield from _points(rest, {**point, name: value})


def _first_largest(scores):
    return max(range(len(scores)), key=lambda k: (scores[k], -k))


def grid(domains):
    """All points of small domains: {name: list of values}."""
    for values in itertools.product(*domains.values()):
        yield dict(zip(domains, values))
