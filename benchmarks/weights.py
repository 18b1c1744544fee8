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
    """In a process of its own: print seconds, the growth of peak memory in MB, the product's rate meanwhile."""
    from raan import aan_weights

    generator = torch.Generator().manual_seed(0)
    label, attribute = (torch.randint(2, (rows,), generator=generator) for _ in range(2))
    aan_weights(torch.randn(4000, DIMENSIONS, generator=generator), label[:4000], attribute[:4000])
    embedding, rates, seconds = torch.randn(rows, DIMENSIONS, generator=generator), [product_rate()], list[float]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):  # side by side, since times are noisy
        seconds.append(_weighed(embedding, label, attribute))
        rates.append(product_rate())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(min(seconds), grown, max(rates))


def measure_even(rows: int = 1_000_000) -> float:
    """Seconds of temperature inf, a closed form, at a million rows."""
    from raan import aan_weights

    generator = torch.Generator().manual_seed(0)
    label, attribute = (torch.randint(2, (rows,), generator=generator).numpy() for _ in range(2))
    embedding = torch.zeros(rows, 1).numpy()
    start = time.perf_counter()
    aan_weights(embedding, label, attribute, temperature=float("inf"))
    return time.perf_counter() - start


def _weighed(*problem: torch.Tensor) -> float:
    from raan import aan_weights

    start = time.perf_counter()
    aan_weights(*problem)
    return time.perf_counter() - start


def main() -> None:
    """Print the rate beside the machine's, and the peak memory at three sizes."""
    threads = torch.get_num_threads()
    print(f"aan_weights, {DIMENSIONS} dimensions, two classes x two attribute values, float32, {threads} threads")
    for rows in SIZES:
        command = [sys.executable, "-m", "benchmarks.weights", str(rows)]
        answer = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        seconds, memory, machine = map(float, answer.split())
        # Neighbourhood is mutual: each pair is one dot product in each of two passes.
        operations = 2 * 2 * DIMENSIONS * 2 * (rows / 4) ** 2
        rate = operations / seconds
        print(
            f"  {rows:7,} rows  {seconds:6.2f} s  {rate / 1e9:4.0f} of the machine's {machine / 1e9:.0f} GFLOP/s "
            f"({rate / machine:.0%})  peak memory +{memory:.0f} MB, data {rows * DIMENSIONS * 4 / 2**20:.0f} MB"
        )
    print(f"  1,000,000 rows at temperature inf, a closed form: {measure_even():.2f} s")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        main()
