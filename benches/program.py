"""What the benchmarks share: a command enters; what it prints leaves, or the reason why it failed. Nothing to run by itself."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("DEEPSADE_DATA", ROOT.parent / "shared" / "data"))


def output_of(command):
    command = list(map(str, command))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}{done.stdout}")
    return done.stdout


def make_hours(folder):
    """The made-up data of examples/hours.toml."""
    output_of([sys.executable, ROOT / "examples" / "python" / "hours.py", folder / "hours.csv"])
