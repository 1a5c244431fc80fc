"""Progress of long work: a tqdm bar where tqdm is there, plain lines on standard error elsewhere."""

import sys
import time


class Progress:
    """Called with (done, total, loss, validation loss), or (done, total); a context manager."""

    def __init__(self, wanted, what):
        self._wanted, self._what, self._bar, self._said = wanted, what, None, 0.0

    def __enter__(self):
        return self if self._wanted else None

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    def __call__(self, done, total, loss=None, validation=None):
        words = "" if loss is None else f"loss {loss:.4f}"
        if validation is not None:
            words += f", validation {validation:.4f}"
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                if done == total or time.monotonic() - self._said > 2:
                    self._said = time.monotonic()
                    print(f"{self._what} {done}/{total} {words}", file=sys.stderr)
                return
            self._bar = tqdm(total=total, unit=self._what)
        self._bar.update(done - self._bar.n)
        if words:
            self._bar.set_postfix_str(words)
