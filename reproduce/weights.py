"""The rate of `aan_weights` against the machine's own matrix product, and how much memory it takes.

`python -m reproduce.weights` for three sizes, with one thread and with as many as there are cores;
`python -m reproduce.weights --rows 450000` for a large one, which takes minutes.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import torch

DIMENSIONS = 384
SIZES = (25_000, 50_000, 100_000)
MANY = 200_000
"""From so many rows on weights are computed once: they take minutes, and the noise of seconds does not count."""


class Peak(threading.Thread):
    """The most anonymous memory, which no file stands behind, that the process holds within the block, in MB."""

    most, done = 0.0, False

    def run(self) -> None:
        """Look every few milliseconds."""
        while not self.done:
            self.most = max(self.most, anonymous())
            time.sleep(0.005)

    def __enter__(self) -> "Peak":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done = True
        self.join()


def anonymous() -> float:
    """The process's anonymous memory in MB, as Linux tells it; nan elsewhere."""
    if not os.path.exists("/proc/self/status"):
        return float("nan")
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024


def product_rate(threads: int) -> float:
    """Floating-point operations a second of a plain float32 matrix product, at its best of several shapes."""
    return max(_product_rate(side, threads) for side in (512, 1024, 2048, 4096))


def _product_rate(side: int, threads: int) -> float:
    left, right = torch.randn(side, DIMENSIONS), torch.randn(DIMENSIONS, side)
    best = min(_timed(lambda: left @ right, threads) for _ in range(max(5, 40 * 1024 // side)))
    return 2 * side * side * DIMENSIONS / best


def _timed(work: Callable[[], object], threads: int) -> float:
    """Seconds; with one thread the processor's, in which other programs do not count."""
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    work()
    return clock() - start


def measure(rows: int, threads: int) -> None:
    """In a process of its own: print seconds, memory before and at its peak in MB, and the product's rate."""
    from raan import aan_weights

    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(0)
    label, attribute = (torch.randint(2, (rows,), generator=generator) for _ in range(2))
    aan_weights(torch.randn(4000, DIMENSIONS, generator=generator), label[:4000], attribute[:4000])
    embedding = torch.randn(rows, DIMENSIONS, generator=generator)
    rates, seconds, before = [product_rate(threads)], list[float](), anonymous()
    with Peak() as peak:
        for _ in range(1 if rows >= MANY else 3):  # side by side, since times are noisy
            seconds.append(_timed(lambda: aan_weights(embedding, label, attribute), threads))
            rates.append(product_rate(threads))
    print(min(seconds), before, peak.most, max(rates))


def measure_even(rows: int = 1_000_000) -> float:
    """Seconds of temperature inf, a closed form, at a million rows."""
    from raan import aan_weights

    generator = torch.Generator().manual_seed(0)
    label, attribute = (torch.randint(2, (rows,), generator=generator).numpy() for _ in range(2))
    embedding = torch.zeros(rows, 1).numpy()
    start = time.perf_counter()
    aan_weights(embedding, label, attribute, temperature=float("inf"))
    return time.perf_counter() - start


def told(rows: int, threads: int) -> str:
    """One line: the time, the rate beside the machine's, and the memory."""
    asked = ["--here", "--rows", str(rows), "--threads", str(threads)]
    command = [sys.executable, "-m", "reproduce.weights", *asked]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    answer = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    seconds, before, peak, machine = map(float, answer.split())
    # Neighbourhood is mutual: each pair is one dot product in each of two passes.
    rate = 2 * 2 * DIMENSIONS * 2 * (rows / 4) ** 2 / seconds
    return (
        f"  {rows:7,} rows, {threads} thread{'s' * (threads > 1)}  {seconds:7.2f} s  {rate / 1e9:4.0f} of the "
        f"machine's {machine / 1e9:.0f} GFLOP/s ({rate / machine:.0%})  peak memory {peak:,.0f} MB, "
        f"{peak - before:,.0f} of it for the weights, {rows * DIMENSIONS * 4 / 2**20:,.0f} the data"
    )


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each size and number of threads."""
    parser = argparse.ArgumentParser(prog="python -m reproduce.weights", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    parser.add_argument("--threads", type=int, nargs="*", default=sorted({1, os.cpu_count() or 1}))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.here:
        measure(asked.rows[0], asked.threads[0])
        return
    print(f"aan_weights, {DIMENSIONS} dimensions, two classes x two attribute values, float32")
    for rows in asked.rows:
        for threads in asked.threads:
            print(told(rows, threads), flush=True)
    print(f"  1,000,000 rows at temperature inf, a closed form: {measure_even():.2f} s")


if __name__ == "__main__":
    main()
