"""Groups, fairness metrics with their reasons for being undefined, and the audit of a classifier."""

from raan.fairness.aims import ACCURACY, AIMS, MEASURES, Aim, Measure, read_aim
from raan.fairness.audit import audit, audit_counts
from raan.fairness.bootstrap import Estimate, interval
from raan.fairness.counts import Counts, count, resample
from raan.fairness.findings import Audit, Cell, Group, Rates
from raan.fairness.groups import (
    UNKNOWN,
    Codes,
    check_lengths,
    encode_attribute,
    encode_classes,
    encode_label,
)
from raan.fairness.metrics import (
    Metrics,
    accuracy,
    attribute_accuracy,
    demographic_parity_gap,
    equalized_odds_gap,
    false_positive_rate,
    group_accuracy,
    metrics,
    selection_rate,
    true_positive_rate,
    undefined,
    worst_group_accuracy,
)
from raan.fairness.rule import Rule

__all__ = [
    "ACCURACY",
    "AIMS",
    "MEASURES",
    "UNKNOWN",
    "Aim",
    "Audit",
    "Cell",
    "Codes",
    "Counts",
    "Estimate",
    "Group",
    "Measure",
    "Metrics",
    "Rates",
    "Rule",
    "accuracy",
    "attribute_accuracy",
    "audit",
    "audit_counts",
    "check_lengths",
    "count",
    "demographic_parity_gap",
    "encode_attribute",
    "encode_classes",
    "encode_label",
    "equalized_odds_gap",
    "false_positive_rate",
    "group_accuracy",
    "interval",
    "metrics",
    "read_aim",
    "resample",
    "selection_rate",
    "true_positive_rate",
    "undefined",
    "worst_group_accuracy",
]
