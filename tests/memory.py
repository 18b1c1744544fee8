"""How much anonymous memory, which no file stands behind, some code needs; in a process of its own."""

import subprocess
import sys

WATCH = """
import threading, time

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024

class Peak(threading.Thread):
    def __enter__(self):
        self.before, self.most, self.over = anonymous(), 0.0, threading.Event()
        self.start()
        return self
    def run(self):
        while not self.over.is_set():
            self.most = max(self.most, anonymous())
            time.sleep(0.002)
    def __exit__(self, *_):
        self.over.set()
        self.join()
        print("grown by", max(self.most, anonymous()) - self.before)
"""


def grown_by(script, *arguments, timeout=300):
    """The megabytes that the script's block `with Peak():` adds at its peak to what was there before it."""
    command = [sys.executable, "-c", WATCH + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.rpartition("grown by")[2])
