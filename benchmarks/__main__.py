"""Every benchmark, one after the other."""

from benchmarks import steps, weights

weights.main()
steps.main()
