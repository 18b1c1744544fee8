"""Processes that are killed at moments spread over all of their life, and what they leave.

To import what a command needs takes longer than the command: a process that has it imported is forked for each, so
that the moments fall into the work. What is forked ends as any process of Python does.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

KILLS = [signal.SIGKILL, signal.SIGTERM]

FORKED = """
import importlib, json, os, sys
if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in sys.stdin:
        words, path = json.loads(line)
        child = os.fork()
        if not child:
            break
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        sys.exit()
    nothing = os.open(os.devnull, os.O_RDWR)
    said = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for here, there in ((0, nothing), (1, nothing), (2, said)):
        os.dup2(there, here)
    sys.argv = ["raan", *words]
    if words[0] == "-c":
        sys.argv = words[1:]
        exec(words[1], {"__name__": "code"})
    else:
        from raan.cli import main
        main()
"""


class Nursery:
    """Starts commands of raan, or code with arguments, by forking a process that has the modules imported."""

    def __init__(self, folder: Path, modules: Sequence[str]) -> None:
        self.said, script = folder / "said", folder / "forked.py"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "temporary").mkdir()
        self.temporary = folder / "temporary"
        script.write_text(FORKED)
        environment = {**os.environ, "TMPDIR": str(self.temporary), "OMP_WAIT_POLICY": "PASSIVE"}
        self.process = subprocess.Popen(
            [sys.executable, script, "raan.cli", *modules],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, *words: object) -> int:
        """Start a command; its process."""
        self.process.stdin.write(json.dumps([list(map(str, words)), str(self.said)]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> int:
        """Wait for the end of what was started; its exit code."""
        return int(self.process.stdout.readline())

    def run(self, *words: object, codes: Sequence[int] = (0,)) -> float:
        """Run a command to its end, which has one of these codes; the seconds it took."""
        begun = time.monotonic()
        self.start(*words)
        code = self.end()
        assert code in codes, f"{code}: {self.said.read_text()}"
        return time.monotonic() - begun

    def kill(self, moment: float, kill: signal.Signals, *words: object, codes: Sequence[int] = (0,)) -> int:
        """Start a command and send it the signal at the moment, if it is not over then; its exit code."""
        child = self.start(*words)
        time.sleep(moment)
        with suppress(ProcessLookupError):  # it is over
            os.kill(child, kill)
        code = self.end()
        words_said = self.said.read_text()
        allowed = (-kill, 128 + kill, *codes)
        assert code in allowed, f"{code} at {moment:.2f} s: {words_said}"
        assert "Traceback" not in words_said, words_said
        return code

    def close(self) -> None:
        """Let the process end, and see that nothing that it started lives on."""
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        deadline = time.monotonic() + 30
        while (alive := _alive_with(str(self.temporary))) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert alive == []


@contextmanager
def nursery(folder: Path, *modules: str) -> Iterator[Nursery]:
    found = Nursery(folder, modules)
    try:
        yield found
    finally:
        found.close()


def moments(seconds: float, number: int, seed: int) -> list[float]:
    """One random moment in each of so many equal parts of the time, in random order."""
    rng = random.Random(seed)
    return [(part + rng.random()) * seconds / number for part in rng.sample(range(number), number)]


def states(folder: Path, but: Sequence[str] = ()) -> dict[str, str]:
    """The files in and below the folder with what they hold."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in but
    }


def _alive_with(word: str) -> list[str]:
    """The processes that have the word in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word.encode() in entry.read_bytes():
                found.append(entry.parent.name)
        except OSError:
            continue
    return found
