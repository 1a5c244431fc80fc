"""Ctrl-C, progress, threads."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import deepsade
from deepsade import DeepSaDeRegressor


def slow(**more):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (5000, 10))
    return DeepSaDeRegressor(rules=["y <= 10 * x0"], epochs=100_000, hidden=(50, 50), **more), X, X.sum(axis=1)


def test_ctrl_c_stops_a_fit_in_good_order():
    program = textwrap.dedent("""
        import sys
        sys.path.insert(0, %r)
        from test_interrupt import slow
        model, X, y = slow()
        print("ready", flush=True)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("stopped", hasattr(model, "model_"), flush=True)
            print(model.set_params(epochs=1).fit(X, y).certified_)
    """) % os.path.dirname(__file__)
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "ready\n"
    time.sleep(1.5)
    begun = time.monotonic()
    run.send_signal(signal.SIGINT)
    assert run.stdout.readline() == "stopped False\n"
    assert time.monotonic() - begun < 10
    assert run.stdout.readline() == "True\n" and run.wait(60) == 0


def test_ctrl_c_stops_a_check():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (200, 6))
    rules = [f"y <= {10 + k} * x0" for k in range(12)]
    model = DeepSaDeRegressor(rules=rules, epochs=1, hidden=(80, 80), enforce="weights", regions=64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X.sum(axis=1))
    begun = time.monotonic()
    assert deepsade.check(model)["verdict"] == "accepted"
    whole = time.monotonic() - begun
    threading.Timer(whole / 8, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        deepsade.check(model)
        time.sleep(10)
    assert time.monotonic() - begun < 0.75 * whole


def test_nothing_is_made_of_what_is_thrown_away():
    # Scores of this many rows alone would take longer.
    program = textwrap.dedent("""
        import os, signal, threading, time
        import numpy as np
        from deepsade import DeepSaDeMultilabel
        X = np.random.default_rng(0).uniform(1, 2, (200_000, 10))
        model = DeepSaDeMultilabel(rules=["at_most(3, label[i] for i in 0..10)"], hidden=(50, 50), batch=256)
        at = []
        def stop(done, *_):
            at.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        from deepsade import _core
        import json
        settings, table = model._problem(X, (X > 1.5).astype(int))
        begun = time.monotonic()
        try:
            _core.fit(json.dumps(settings), table, 0, stop)
        except KeyboardInterrupt:
            print(at[0] - begun, time.monotonic() - at[0])
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    trained, after = map(float, run.stdout.split())
    assert after < trained / 4, (trained, after)


def test_the_lock_is_free_while_fitting():
    model, X, y = slow()
    model.set_params(epochs=30)
    worker = threading.Thread(target=model.fit, args=(X, y))
    worker.start()
    beats = 0
    while worker.is_alive():
        time.sleep(0.005)
        beats += 1
    worker.join()
    assert model.certified_ and beats > 3


def test_progress_is_told_and_its_errors_come_through(capsys):
    model, X, y = slow(verbose=True)
    model.set_params(epochs=5).fit(X, y)
    assert "5/5" in capsys.readouterr().err

    from deepsade import _core
    import json

    class Enough(Exception):
        pass

    def stop(*_):
        raise Enough

    settings, table = model._problem(X, y)
    with pytest.raises(Enough):
        _core.fit(json.dumps(settings), table, 0, stop)
