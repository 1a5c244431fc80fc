"""The README's quick start and the examples of docs/python.md run as they stand there."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / path).read_text(), re.MULTILINE | re.DOTALL)


def test_the_quick_start_has_ten_lines_and_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [quick] = blocks("README.md")
    assert len(quick.splitlines()) <= 10
    exec(compile(quick, "README.md", "exec"), {})


def test_the_examples_of_the_manual_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    assert len(blocks("docs/python.md")) == 3
    for block in blocks("docs/python.md"):
        exec(compile(block, "docs/python.md", "exec"), space)
