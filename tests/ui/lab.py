"""A real JupyterLab and a real Chromium for tests: started on 127.0.0.1, watched for requests and console errors."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = os.environ.get("GX_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-dev-shm-usage",
]  # fmt: skip
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:", "file:")


def need_chromium() -> None:
    """Skip with a reason where there is no Chromium; fail there when GX_REQUIRE_BROWSER is set (CI)."""
    if not Path(CHROMIUM).exists():
        message = f"no Chromium at {CHROMIUM} (Debian package chromium; or set GX_CHROMIUM)"
        if os.environ.get("GX_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)


def noise(text: str) -> bool:
    """Messages of JupyterLab itself: its debugger drops a request when a busy kernel answers late."""
    return text.startswith("Could not restore the debugger state")


@dataclass
class Watch:
    """What a page asked for and complained about."""

    urls: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        """Record requests, console errors and uncaught exceptions of a page."""
        page.on("request", lambda r: self.urls.append(r.url))
        page.on("websocket", lambda w: self.urls.append(w.url))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" and not noise(m.text) else None)
        page.on("pageerror", lambda e: self.errors.append(str(e)))

    @property
    def outside(self) -> list[str]:
        """Requests that left this machine."""
        return [u for u in self.urls if not u.startswith(LOCAL)]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser."""
    need_chromium()
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def jupyterlab(root: Path, tmp: Path) -> Iterator[str]:
    """JupyterLab serving ``root``; yields its address. Its own config, data, settings and workspace folders."""
    for extension, name, text in (
        ("notebook", "tracker", '{"windowingMode":"none"}'),
        ("apputils", "notification", '{"fetchNews":"false","checkForUpdates":false}'),
    ):
        folder = tmp / "settings" / "@jupyterlab" / f"{extension}-extension"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jupyterlab-settings").write_text(text)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(
        os.environ,
        JUPYTER_CONFIG_DIR=str(tmp / "config"),
        JUPYTER_DATA_DIR=str(tmp / "data"),
        JUPYTERLAB_SETTINGS_DIR=str(tmp / "settings"),
        JUPYTERLAB_WORKSPACES_DIR=str(tmp / "workspaces"),
    )
    log = tmp / "lab.log"
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={root}", "--ServerApp.disable_check_xsrf=True",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with log.open("w") as out:
        server = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        deadline = time.time() + 90
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status", timeout=1)
                break
            except OSError:
                if server.poll() is not None or time.time() > deadline:
                    raise RuntimeError(f"JupyterLab did not start: {log.read_text()[-2000:]}") from None
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()


def copy_notebook(source: Path, folder: Path) -> Path:
    """Copy of a notebook in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(source, folder / source.name))


def accept_dialogs(page: Page) -> None:
    """Lab may ask which kernel to use while the session starts; take what it offers."""
    while page.locator(".jp-Dialog button.jp-mod-accept").count():
        page.locator(".jp-Dialog button.jp-mod-accept").first.click()
        page.wait_for_timeout(300)


PROMPTS = '[...document.querySelectorAll(".jp-Notebook .jp-CodeCell .jp-InputPrompt")].map(e => e.textContent)'


def open_notebook(page: Page, address: str, name: str) -> None:
    """Open a notebook and wait until its kernel is idle."""
    page.goto(f"{address}/lab/tree/{name}?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=90000)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=90000)


def run_all(page: Page, code_cells: int, timeout: float = 240) -> None:
    """Run every cell and wait until each has a number.

    The command is lost, wholly or after a first cell, when it comes before the kernel socket is up; it is issued again
    whenever nothing runs and cells are left.
    """
    deadline, issued = time.time() + timeout, 0.0
    prompts: list[str] = []
    while time.time() < deadline:
        prompts = page.evaluate("() => " + PROMPTS)
        if sum(any(c.isdigit() for c in p) for p in prompts) >= code_cells:
            return
        running = any("*" in p for p in prompts)
        if not running and time.time() - issued > 4:
            accept_dialogs(page)
            page.click('#jp-MainMenu >> text="Run"')
            page.click('.lm-Menu-item[data-command="runmenu:run-all"]')
            issued = time.time()
        page.wait_for_timeout(100)
    raise TimeoutError(f"cells did not finish: {prompts}")


def theme(page: Page, name: str) -> None:
    """Switch Lab's theme ("light" or "dark") through its menu."""
    wanted = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[name]
    page.click('#jp-MainMenu >> text="Settings"')
    page.hover('.lm-Menu-item:has-text("Theme")')
    page.click(f'.lm-Menu-item:has-text("{wanted}")')
    page.wait_for_selector(f'body[data-jp-theme-light="{str(name == "light").lower()}"]', state="attached")
