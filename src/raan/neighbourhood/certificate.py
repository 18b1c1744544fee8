"""What is known of how far weights are from the exact ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """How far weights are from the exact ones: relative errors, measured on rows that were computed apart.

    Both errors are those of the worst (class, attribute) cell, before totals of one's own and the strength.
    """

    tolerance: float | None  # what was asked for: the most that the median error may be
    median: float  # of the errors; 0 where the weights are exact
    tail: float  # 99 of 100 errors are smaller
    rows: int  # that were computed apart
    centroids: int  # in the place of each cell's rows; 0: none, the weights are exact
    note: str  # in words

    @property
    def exact(self) -> bool:
        """Whether the weights are exact."""
        return self.centroids == 0


def exact_certificate(tolerance: float | None, why: str) -> Certificate:
    """Return the certificate of weights that are exact."""
    return Certificate(tolerance, 0.0, 0.0, 0, 0, f"exact: {why}")
