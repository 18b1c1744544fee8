"""Everything that can be measured of decisions, by name, for `FairFrontier`, `choose` and `audit`.

    from raan import measures as m

    fair = raan.FairFrontier(classifier, aim=m.precision.gap, performance=m.balanced_accuracy, max_drop=0.01)
    fair.choose(at_least={m.selection_rate.ratio: 0.8})  # the four-fifths rule
    fair.choose(at_most={m.selection_rate: 0.10})  # capacity: at most 10 % are selected
    fair.choose(performance=m.cost(fp=1, fn=5), max_drop=0.01)  # your costs

`raan measures` lists the names; `raan.fairness.measures` explains formulas.
"""

from typing import Any

from raan.errors import nearest
from raan.fairness.measures import AIMS, RATES, Limit, Measure, Rate, cost, read_measure

__all__ = ["AIMS", "RATES", "Limit", "Measure", "Rate", "cost", "read_measure"]


def __getattr__(name: str) -> Any:
    """Return the rate or the aim of this name."""
    for known in (RATES, AIMS):
        if name in known:
            return known[name]
    near = nearest(name, [*RATES, *AIMS])
    raise AttributeError(f"there is no measure {name!r}" + (f"; did you mean {near}?" if near else ""))


def __dir__() -> list[str]:
    """The names of all measures."""
    return sorted([*__all__, *RATES, *AIMS])
