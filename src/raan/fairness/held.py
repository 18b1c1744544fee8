"""Whether predictions keep what was promised of them, chance considered."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from raan.fairness.aims import ACCURACY, AIMS, MEASURES, Measure
from raan.fairness.bootstrap import Estimate
from raan.fairness.findings import Audit

SURE = 1.6449
"""Standard errors beyond a promise from which it counts as broken; by chance that happens once in twenty."""

WIDTH = 2 * 1.95996
"""The width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class Held:
    """One measure: what was promised, what came, and whether it counts that it is kept."""

    measure: Measure
    promised: Estimate
    found: Estimate
    binding: bool

    @property
    def broken(self) -> bool:
        """Whether it is worse than promised by more than chance explains; what is undefined is not kept.

        Both numbers are noisy, so their errors are added in squares. A gap is an absolute difference, which noise
        alone makes larger: its own noise is taken off first, in squares too.
        """
        if not self.binding or math.isnan(self.promised.value):
            return False
        if math.isnan(self.found.value):
            return True
        noise, earlier = _error(self.found), _error(self.promised)
        value = self.found.value
        if not self.measure.more_is_better:
            value = math.sqrt(max(value**2 - noise**2, 0))
        return self.measure.gain(value - self.promised.value) < -SURE * math.hypot(noise, earlier)


def hold(found: Audit, promised: Mapping[str, Estimate], aim: str) -> tuple[Held, ...]:
    """All measures against a promise; it binds for the accuracy and the aim, which the model was chosen for."""
    binding = {ACCURACY.metric, *([AIMS[aim].metric] if aim in AIMS else [])}
    return tuple(
        Held(measure, promised[measure.metric], found.overall[measure.metric], measure.metric in binding)
        for measure in MEASURES
        if measure.metric in promised
    )


def _error(estimate: Estimate) -> float:
    """The standard error that the interval tells; none where there is no interval."""
    width = estimate.high - estimate.low
    return 0.0 if math.isnan(width) else width / WIDTH
