"""How much random testing: DEEPSADE_EFFORT multiplies every count (default 1, which is what CI runs), DEEPSADE_SEED picks others."""

import os
import random

SEED = int(os.environ.get("DEEPSADE_SEED", "0"))


def count(few):
    return max(1, round(few * float(os.environ.get("DEEPSADE_EFFORT", "1"))))


def source(*place):
    """A source of random numbers for this place."""
    return random.Random(repr((SEED, *place)))
