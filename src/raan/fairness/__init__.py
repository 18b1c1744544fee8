"""Groups, fairness metrics with their reasons for being undefined, and the audit of a classifier."""

from raan.fairness.audit import audit, audit_counts
from raan.fairness.counts import Counts, Estimate, count, interval, resample
from raan.fairness.findings import Audit, Cell, Group, Rates
from raan.fairness.groups import (
    UNKNOWN,
    Codes,
    check_lengths,
    encode_attribute,
    encode_classes,
    encode_label,
)
from raan.fairness.measures import (
    ACCURACY,
    AIMS,
    MEASURES,
    RATES,
    Limit,
    Measure,
    Rate,
    cost,
    read_aim,
    read_measure,
)
from raan.fairness.metrics import *  # noqa: F403
from raan.fairness.metrics import __all__ as _metrics
from raan.fairness.rule import Rule

__all__ = [
    *_metrics,
    "ACCURACY",
    "AIMS",
    "MEASURES",
    "RATES",
    "UNKNOWN",
    "Limit",
    "Audit",
    "Cell",
    "Codes",
    "Counts",
    "Estimate",
    "Group",
    "Measure",
    "Rate",
    "Rates",
    "Rule",
    "audit",
    "audit_counts",
    "check_lengths",
    "cost",
    "count",
    "encode_attribute",
    "encode_classes",
    "encode_label",
    "interval",
    "read_aim",
    "read_measure",
    "resample",
]
