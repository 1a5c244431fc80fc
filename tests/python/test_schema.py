"""`deepsade schema`: what it calls a rule file is one that the program reads, and the other way round."""

import copy
import json
import subprocess
import sys
import tomllib

import pytest

import program

jsonschema = pytest.importorskip("jsonschema")

#: A value of each type that a table may hold.
VALUES = ["word", -3, 2.5, True, [[1]], ["a", "b", "c"], {"zz": 1}, 99999999999]


@pytest.fixture(scope="module")
def schema():
    done = program.run("schema", check=True, capture_output=True, text=True)
    said = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(said)
    return said


@pytest.fixture(scope="module")
def validator(schema):
    return jsonschema.Draft202012Validator(schema)


def resolved(schema, part):
    while "$ref" in part:
        part = {**schema["$defs"][part["$ref"].rsplit("/", 1)[1]], **{k: v for k, v in part.items() if k != "$ref"}}
    for one in part.get("anyOf", []):
        if one.get("type") != "null":
            return resolved(schema, one)
    return part


def places(schema, part, path=()):
    """The paths of all settings: tables, and what they hold."""
    part = resolved(schema, part)
    if "items" in part and isinstance(part["items"], dict) and resolved(schema, part["items"]).get("properties"):
        yield from places(schema, part["items"], (*path, 0))
    for name, inner in part.get("properties", {}).items():
        yield (*path, name)
        yield from places(schema, inner, (*path, name))
    inner = part.get("additionalProperties")
    if isinstance(inner, dict):
        yield from places(schema, inner, (*path, "x"))


def with_value(path, value):
    """A rule file with a value at a path, and what must stand beside it."""
    whole = {"task": {"kind": "regression"}}
    at = whole
    for step, after in zip(path, (*path[1:], None)):
        last = after is None
        if isinstance(at, list):
            at.append({"name": "r", "text": "y >= 0"})
            at, step = at[-1], None
            continue
        at[step] = value if last else at.get(step, [] if after == 0 else {})
        at = at[step]
    return whole


def toml(value):
    """A rule file as text: all tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def reads(tmp_path, whole):
    """Whether the program can read a file; a value out of range, or data that are not there, are another matter."""
    (tmp_path / "r.toml").write_text("".join(f"{name} = {toml(value)}\n" for name, value in whole.items()))
    done = program.run("explain", tmp_path / "r.toml", "-q", capture_output=True, text=True)
    assert "panicked" not in done.stderr
    said = done.stderr
    return not any(words in said for words in ["unknown setting", "unknown value", "expected ", "is missing", "TOML parse error"])


def test_it_is_made_from_the_sources(schema):
    made = subprocess.run([sys.executable, program.ROOT / "scripts" / "rule-file-schema", "-"], check=True, capture_output=True, text=True)
    assert json.loads(made.stdout) == schema, "run scripts/rule-file-schema"


@pytest.mark.parametrize("path", sorted((program.ROOT / "examples").glob("*.toml")), ids=lambda p: p.name)
def test_examples_are_rule_files(validator, path):
    validator.validate(tomllib.loads(path.read_text()))


def test_the_file_that_training_writes_is_one(validator, tmp_path):
    rows = "".join(f"{k},{k % 7}\n" for k in range(60))
    (tmp_path / "d.csv").write_text("a,y\n" + rows)
    (tmp_path / "r.toml").write_text(
        '[data]\nfile = "d.csv"\ntargets = ["y"]\n[task]\nkind = "regression"\n[network]\nhidden = [2]\n[train]\nepochs = 1\n'
        '[report]\ntitle = "t"\n[[rule]]\nname = "r"\ntext = "y >= 0"\n'
    )
    program.run("train", tmp_path / "r.toml", "--out", tmp_path / "run", "-q", check=True, capture_output=True)
    validator.validate(tomllib.loads((tmp_path / "run" / "rules.toml").read_text()))


def test_every_setting_has_words(schema):
    for path in places(schema, schema):
        part = schema
        for step in path:
            part = resolved(schema, part)
            part = part["items"] if step == 0 else part.get("properties", {}).get(step, part.get("additionalProperties"))
        assert part.get("description") or resolved(schema, part).get("description") or path[0] == "rule", path


def test_schema_and_reader_refuse_alike(schema, validator, tmp_path):
    """Each setting with a value of each type: what the schema refuses the program can't read, and what it allows the program does."""
    known = list(places(schema, schema))
    assert {("data", "file"), ("task", "cutoff"), ("train", "epochs"), ("report", "title"), ("network", "hidden"), ("features", "x", "range")} <= set(known)
    tables = {path[:k] for path in known for k in range(1, len(path))}
    refused, differ = 0, []
    for path in known:
        for value in VALUES:
            # The program reads a list in place of a table as the table's values in their order; nobody is told so.
            if path in tables and isinstance(value, list):
                continue
            whole = with_value(path, value)
            allowed = validator.is_valid(copy.deepcopy(whole))
            refused += not allowed
            if allowed != reads(tmp_path, whole):
                differ.append(f"{path} = {value!r}: the schema {'allows' if allowed else 'refuses'} it")
    assert differ == [] and refused > len(known)


@pytest.mark.parametrize(
    "text",
    [
        "[task]\nkind = 'regresion'",
        "[data]\nfile = 'a.csv'",
        "[task]\nkind = 'binary'\n[dat]\nfile = 'a.csv'",
        "[task]\nkind = 'binary'\n[train]\nepoch = 3",
        "[task]\nkind = 'binary'\n[train]\nepochs = 'many'",
        "[task]\nkind = 'binary'\n[features.a]\nrange = [1]",
        "[task]\nkind = 'binary'\n[[rule]]\nname = 3",
    ],
)
def test_wrong_files_fail(validator, text):
    assert not validator.is_valid(tomllib.loads(text))
