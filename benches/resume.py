#!/usr/bin/env python3
"""Whether an interrupted run ends with the bytes of one that was not: rule files enter, a count of differences leaves.

    cargo build --release -p deepsade
    python3 benches/resume.py                     # 200 interruptions over all examples
    python3 benches/resume.py --times 20 --only uc3,uc5-weights

Each case is trained once without a break. Then it is trained again and again, stopped by SIGINT or SIGKILL at random times, up to
three times a run, and resumed to its end; model.onnx and certificate.json must be the same files. Exit code 1 if one is not. The data
are looked for in $DEEPSADE_DATA or ../shared/data; cases whose data are missing are skipped and said so.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("DEEPSADE_DATA", ROOT.parent / "shared" / "data"))
# Example, epochs here, further options, a file of its data.
CASES = {
    "uc1": ("uc1", 1, [], "expense_prediction.csv.gz"),
    "uc2": ("uc2", 30, [], "loan_data_set.csv"),
    "uc3": ("uc3", 30, [], "uc3_equiv_music_data.csv"),
    "uc4": ("uc4", 2, [], "train-images-idx3-ubyte.gz"),
    "uc5": ("uc5", 8, [], "sushi.soc"),
    "uc5-weights": ("uc5", 8, ["--enforce", "weights"], "sushi.soc"),
    "uc2-paper": ("uc2", 3, ["--update", "paper"], "loan_data_set.csv"),
    "wine": ("wine", 60, [], None),
}
FILES = ["model.onnx", "certificate.json"]


def command(binary, case, out, resume=False):
    example, epochs, options, _ = CASES[case]
    file = ROOT / "examples" / f"{example}.toml"
    words = [binary, "train", "--force", str(file), "--out", str(out), "--epochs", str(epochs), "--data", str(DATA), "-q", *options]
    return words + (["--resume"] if resume else [])


def run(words, stop_after=None, how=signal.SIGINT):
    """Runs to the end, or stops after so many seconds; returns whether it came to its end."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, error = child.communicate(timeout=stop_after)
        if child.returncode not in (0, 1):
            sys.exit(f"{' '.join(words)}\n{error}")
        return True
    except subprocess.TimeoutExpired:
        child.send_signal(how)
        child.communicate()
        return False


def files(out):
    return [(out / name).read_bytes() if (out / name).exists() else None for name in FILES]


def interrupted(binary, case, out, seconds, rng):
    """Trains with up to three stops; returns how many there were."""
    stops, resume = 0, False
    for _ in range(rng.choice([1, 1, 2, 3])):
        how = rng.choice([signal.SIGINT, signal.SIGINT, signal.SIGKILL])
        if run(command(binary, case, out, resume), rng.uniform(0.05, seconds), how):
            return stops
        stops, resume = stops + 1, True
    run(command(binary, case, out, True))
    return stops


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200, help="interruptions in all (default 200)")
    parser.add_argument("--only", help="cases, with commas between them")
    parser.add_argument("--binary", default=str(ROOT / "target" / "release" / "deepsade"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    names = args.only.split(",") if args.only else list(CASES)
    present = [n for n in names if CASES[n][3] is None or (DATA / CASES[n][3]).exists()]
    for name in sorted(set(names) - set(present)):
        print(f"{name}: skipped, {CASES[name][3]} is not in {DATA}")
    different = 0
    for k, case in enumerate(present):
        share = args.times // len(present) + (k < args.times % len(present))
        with tempfile.TemporaryDirectory() as folder:
            whole = pathlib.Path(folder) / "whole"
            started = time.time()
            run(command(args.binary, case, whole))
            seconds = time.time() - started
            expected, stops, wrong, runs = files(whole), 0, 0, 0
            while stops < share:
                out = pathlib.Path(folder) / f"cut{runs}"
                stops += interrupted(args.binary, case, out, seconds, rng)
                wrong += files(out) != expected
                runs += 1
            different += wrong
            print(f"{case}: {stops} interruptions of {runs} runs of {seconds:.1f} s, {wrong} runs with other bytes", flush=True)
    print(f"{different} runs differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
