"""The rate of `aan_weights` against the machine's own matrix product, and how its memory grows."""

import resource
import subprocess
import sys
import time

import torch

DIMENSIONS = 384
SIZES = (25_000, 50_000, 100_000)


def product_rate() -> float:
    """Floating-point operations a second of a plain float32 matrix product, at its best of several shapes."""
    return max(_product_rate(side) for side in (512, 1024, 2048, 4096))


def _product_rate(side: int) -> float:
    left, right = torch.randn(side, DIMENSIONS), torch.randn(DIMENSIONS, side)
    best = min(_timed(left, right) for _ in range(max(5, 40 * 1024 // side)))
    return 2 * side * side * DIMENSIONS / best


def _timed(left: torch.Tensor, right: torch.Tensor) -> float:
    start = time.perf_counter()
    left @ right
    return time.perf_counter() - start


def measure(rows: int) -> None:
    """In a process of its own: print seconds and the growth of peak memory in MB."""
    from raan import aan_weights

    generator = torch.Generator().manual_seed(0)
    label, attribute = (torch.randint(2, (rows,), generator=generator) for _ in range(2))
    aan_weights(torch.randn(4000, DIMENSIONS, generator=generator), label[:4000], attribute[:4000])
    embedding = torch.randn(rows, DIMENSIONS, generator=generator)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = min(_weighed(embedding, label, attribute) for _ in range(3))
    print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def _weighed(*problem: torch.Tensor) -> float:
    from raan import aan_weights

    start = time.perf_counter()
    aan_weights(*problem)
    return time.perf_counter() - start


def main() -> None:
    """Print the rate beside the machine's, and the peak memory at three sizes."""
    print(f"aan_weights, {DIMENSIONS} dimensions, two classes x two attribute values, float32")
    for rows in SIZES:
        machine = product_rate()
        command = [sys.executable, "-m", "benchmarks.weights", str(rows)]
        answer = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        seconds, memory = map(float, answer.split())
        # Neighbourhood is mutual: each pair is one dot product in each of two passes.
        operations = 2 * 2 * DIMENSIONS * 2 * (rows / 4) ** 2
        rate = operations / seconds
        print(
            f"  {rows:7,} rows  {seconds:6.2f} s  {rate / 1e9:4.0f} of the machine's {machine / 1e9:.0f} GFLOP/s "
            f"({rate / machine:.0%})  peak memory +{memory:.0f} MB, data {rows * DIMENSIONS * 4 / 2**20:.0f} MB"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        main()
