"""With CI=true a test that lacks something fails; elsewhere it is skipped."""

import pathlib
import subprocess
import sys

import pytest

CASES = {
    "in a test": "import pytest\ndef test(): pytest.skip('no data')\n",
    "in a fixture": "import pytest\n@pytest.fixture\ndef page(): pytest.skip('no browser')\ndef test(page): pass\n",
    "a module": "import pytest\npytest.importorskip('no_such_module')\ndef test(): pass\n",
    "by a mark": "import pytest\n@pytest.mark.skipif(True, reason='no solver')\ndef test(): pass\n",
}


@pytest.mark.parametrize("how", CASES)
@pytest.mark.parametrize("ci, codes", [("true", (1, 2)), ("", (0, 5))])
def test_a_skipped_test_fails_where_ci_insists(how, ci, codes, tmp_path, monkeypatch):
    (tmp_path / "test_it.py").write_text(CASES[how])
    monkeypatch.setenv("CI", ci)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "needs", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
    assert done.returncode in codes, done.stdout
    assert ("lets no test be skipped" in done.stdout) == (ci == "true"), done.stdout
