"""Prints the size of a wheel and how long the installed package takes to import; fails beyond the goals (15 MB, 150 ms)."""

import os
import subprocess
import sys

BEST_OF = 7


def milliseconds(statement):
    program = f"import time; t = time.perf_counter(); {statement}; print((time.perf_counter() - t) * 1e3)"
    return min(float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout) for _ in range(BEST_OF))


size = os.path.getsize(sys.argv[1]) / 1e6
alone = milliseconds("import deepsade")
print(f"wheel: {size:.1f} MB; import deepsade: {alone:.0f} ms; with an estimator, so scikit-learn: {milliseconds('from deepsade import DeepSaDeClassifier'):.0f} ms")
if size > 15 or alone > 150:
    sys.exit("the wheel is larger, or its import slower, than 15 MB and 150 ms")
