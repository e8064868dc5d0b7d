"""A few lines of the DevTools protocol, spoken to a headless Chromium over pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SECONDS = 600  # on a busy machine
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)


@cache
def find_chromium() -> str | None:
    """Path of a browser that runs; some systems have a command that only advertises one."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = filter(None, map(shutil.which, names))
    return next((path for path in found if _runs(path)), None)


def _runs(path: str) -> bool:
    return subprocess.run([path, "--version"], capture_output=True).returncode == 0


class Browser:
    """One page in a browser; keeps what was logged, thrown and asked of the network."""

    def __init__(self, folder: Path) -> None:
        executable = find_chromium()
        assert executable is not None
        from_us, to_browser = os.pipe()
        self._read, from_browser = os.pipe()
        self._write = to_browser
        # The browser listens on 3 and answers on 4, which a shell can arrange.
        command = f'exec "$@" 3<&{from_us} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", command, "bash", executable, *_FLAGS,
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            pass_fds=(from_us, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(from_us)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(20)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str) -> None:
        while all(event["method"] != method for event in self.events):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], _SECONDS)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise EOFError("the browser has gone")
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path: Path, *, width: int = 1200, height: int = 900) -> None:
        self.resize(width, height)
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired")

    def resize(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def prefer(self, theme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str) -> Any:
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """What was thrown or logged."""
        self.run("0")  # whatever was said before has arrived then
        bad = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in bad]

    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, *, whole: bool = True) -> bytes:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            shot = self.call(
                "Page.captureScreenshot", captureBeyondViewport=True, clip={**size, "scale": 1}
            )
        return base64.b64decode(shot["data"])
