"""The programs under test: in the folder that DEEPSADE_BUILT names (`target/debug`, say, seen from the repository), else built and run by
cargo."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*args, **options):
    """`deepsade ARGS`; the options are those of subprocess.run."""
    return _run("deepsade", ["--package", "deepsade"], args, options)


def run_example(name, *args, **options):
    """An example of the crate `net`."""
    return _run(f"examples/{name}", ["--package", "deepsade-net", "--example", name], args, options)


def _run(path, cargo, args, options):
    built = os.environ.get("DEEPSADE_BUILT")
    start = [ROOT / built / path] if built else ["cargo", "run", "--quiet", "--manifest-path", ROOT / "Cargo.toml", *cargo, "--"]
    return subprocess.run([*start, *map(str, args)], **{"cwd": ROOT, **options})
