"""Every benchmark, one after the other."""

from reproduce import steps, weights

weights.main()
steps.main()
