"""`brazo run` in the lab: waits for a page, reports the result, exits on Ctrl+C with its code."""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright
from websockets.sync.client import connect
from websockets.typing import Origin

from brazo.recording.recording import Recording
from tests.cli.command import brazo

COMMAND = [sys.executable, "-m", "brazo.cli.main", "run"]
SHORT = """\
name: short
robots:
  scara2: [{note: hello}, {move_joints: home}]
"""
OUT_OF_REACH = """\
name: too far
robots:
  scara2:
    - wait: 0.1s
    - move_to: {xyz: [9, 9, 9]}
"""
SOON = 120.0  # s, on a busy machine
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")


class Shell:
    """A running `brazo run`, read line by line."""

    def __init__(self, process):
        self.process = process
        self.lines: list[str] = []
        self._queue: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(line)
        self._queue.put("")  # the end

    def until(self, text):
        """Read lines up to one that contains the text."""
        while not self.lines or text not in self.lines[-1]:
            self.lines.append(self._queue.get(timeout=SOON))
            assert self.lines[-1], f"process ended: {self.output}"
        return self.lines[-1]

    def url(self):
        return self.until("http://").split()[2]

    def interrupt(self):
        """Send Ctrl+C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(SOON)
        self._thread.join(SOON)
        while not self._queue.empty():
            self.lines.append(self._queue.get())
        return code

    @property
    def output(self):
        return "".join(self.lines)


@contextmanager
def running(*arguments, **options):
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        **options,
    )
    try:
        yield Shell(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def page_of(url):
    """Connect to the lab's channel as a page does."""
    address = urlsplit(url)
    key = secrets.token_urlsafe(18)
    with connect(
        f"ws://{address.netloc}/channel?page={key}", origin=Origin(f"http://{address.netloc}")
    ) as channel:
        yield channel


def receive(channel, name, condition):
    """Read messages until the value of `name` satisfies the condition."""
    while True:
        message = json.loads(channel.recv(timeout=SOON))
        if name in message and condition(message[name]):
            return message[name]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "short.yaml"
    path.write_text(SHORT, encoding="utf-8")
    return path


@pytest.mark.browser
def test_run_starts_with_the_first_page_and_reports_its_result(program, tmp_path, chromium_path):
    out = tmp_path / "out"
    with running("cooperative", "-p", str(program), "-o", str(out)) as shell:
        url = shell.url()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium_path,
                args=["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader",
                      "--enable-unsafe-swiftshader"],
            )  # fmt: skip
            context = browser.new_context(viewport={"width": 800, "height": 500})
            context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
            page = context.new_page()
            page.set_default_timeout(1000 * SOON)
            page.goto(url)
            page.locator("[role=tab][aria-controls=panel-program]").click()
            panel = page.locator("#panel-program")
            expect(panel.get_by_text("done at ")).to_be_visible(timeout=1000 * SOON)
            # The panel shows the program given on the shell.
            assert "name: short" in panel.get_by_label("Program text").input_value()
            browser.close()
        shell.until("short: done in ")
        shell.until("replay: brazo replay ")
        assert shell.interrupt() == 0
    assert "unintended contacts" in shell.output and (out / "report.html").is_file()
    recording = Recording.open(out / "run.parquet")
    # Simulated time did not pass before the page connected, and no row is missing.
    assert recording.t[0] == 0.0 and recording.events_of("note")[0]["text"] == "hello"


def test_same_result_as_headless(program):
    headless = brazo("run", "cooperative", "-p", program, "--headless", "--json")
    with running("cooperative", "-p", str(program), "--json", stderr=subprocess.PIPE) as shell:
        assert shell.process.stderr is not None
        line = next(one for one in shell.process.stderr if "http://" in one)
        with page_of(line.split()[2]) as page:
            receive(page, "clock/time", lambda t: float(t) > 2.0)
        code = shell.interrupt()
    assert code == headless.returncode == 0
    shown, wanted = json.loads(shell.output), json.loads(headless.stdout)
    for key in ("program", "succeeded", "time", "goals", "failure", "collisions"):
        assert shown[key] == wanted[key]


def test_failed_run_exits_with_1(tmp_path):
    program = tmp_path / "far.yaml"
    program.write_text(OUT_OF_REACH, encoding="utf-8")
    with running("cooperative", "-p", str(program)) as shell, page_of(shell.url()):
        shell.until("too far: failed at ")
        assert shell.interrupt() == 1


def test_run_closed_before_its_end_is_not_done(program):
    with running("cooperative", "-p", str(program)) as shell:
        shell.url()  # no page connects
        assert shell.interrupt() == 1
    assert "short: not done after 0.00 s" in shell.output
