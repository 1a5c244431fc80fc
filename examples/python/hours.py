"""Makes hours.csv for examples/hours.toml: how a day's units are spread over its 24 hours.

    python examples/python/hours.py [FILE]       # examples/hours.csv if no file is named; needs nothing but Python

Each of 1000 days has a whole number of ordered units, a temperature and a weekday. The units follow the hour of the day: two peaks on
working days, one at the weekend, more in the evening when it is cold. Each unit falls into an hour of its own, so a day's row sums
up to exactly what was ordered. The same file every time.
"""

import argparse
import csv
import math
import pathlib
import random

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def share(hour, weekend, temperature):
    """How likely a unit is to fall into an hour, up to a factor."""

    def peak(at, width):
        return math.exp(-(((hour - at) / width) ** 2))

    cold = max(0.0, 15.0 - temperature) / 15.0
    day = 1.2 * peak(13, 5) if weekend else peak(8, 2) + 0.9 * peak(18, 2.5)
    return 0.1 + day + 0.4 * cold * peak(20, 3)


def rows(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        ordered = round(rng.triangular(50, 1800, 600))
        temperature = round(rng.gauss(11.0, 8.0), 1)
        weekday = rng.choice(DAYS)
        weights = [share(hour, weekday in ("Sat", "Sun"), temperature) for hour in range(24)]
        hours = [0] * 24
        for hour in rng.choices(range(24), weights, k=ordered):
            hours[hour] += 1
        yield [ordered, temperature, weekday, *hours]


def main():
    beside = pathlib.Path(__file__).resolve().parents[1] / "hours.csv"
    read = argparse.ArgumentParser(description="Makes the data of examples/hours.toml.")
    read.add_argument("file", nargs="?", type=pathlib.Path, default=beside)
    read.add_argument("--quick", action="store_true", help="as the other examples take it; this one is quick")
    path = read.parse_args().file
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["ordered", "temperature", "weekday", *(f"h{hour}" for hour in range(24))])
        out.writerows(rows(1000, seed=0))
    print(path)


if __name__ == "__main__":
    main()
