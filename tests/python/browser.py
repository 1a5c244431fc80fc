"""Drives headless Chromium over its own debugging pipe: nothing but the standard library."""

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome"]


def find():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. Messages are JSON between zero bytes, commands on the browser's descriptor 3, answers on 4."""

    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory(prefix="deepsade-browser-", ignore_cleanup_errors=True)
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()

        def descriptors():
            # Above the two that are taken, so that neither overwrites the other.
            read, write = os.dup2(command_read, 103), os.dup2(answer_write, 104)
            os.dup2(read, 3)
            os.dup2(write, 4)

        flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"]
        # Chromium's sandbox does not work for root; the only page opened is our own.
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        self.process = subprocess.Popen(
            [path, *flags, f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser did not answer")
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise ConnectionError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, path, width=1200, height=900, scheme="light"):
        """Opens a file and waits for its explorer; forgets what earlier pages said."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + 60
        while self.evaluate("location.protocol + document.readyState") != "file:complete":
            assert time.monotonic() < deadline, "the page did not load"
            time.sleep(0.05)

    def complaints(self):
        """Errors and warnings of the console, exceptions, and requests for anything but the page itself."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ["error", "warning", "assert"]:
                found.append(params["args"])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ["error", "warning"]:
                found.append(params["entry"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:")):
                found.append(params["request"]["url"])
        return found

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (ConnectionError, TimeoutError, BrokenPipeError):
            self.process.kill()
        self.process.wait(30)
        os.close(self.commands)
        os.close(self.answers)
        self.folder.cleanup()
