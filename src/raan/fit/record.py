"""What a reviewer of a model asks: intended use, owner, what is guaranteed, selection ratios, which data."""

from collections.abc import Iterator
from statistics import NormalDist

from raan.fairness.audit import audit_counts
from raan.fairness.counts import Estimate
from raan.fairness.measures import read_measure
from raan.fit.outcome import Outcome
from raan.fit.words import budget

TO_FILL_IN = ("Intended use", "Not to be used for", "Owner", "Approved by, on", "Next review")
"""What only people can say: blank lines on the page and the card."""

WHO = {"worst": "the worst-served group", "groups": "every group", "cells": "every class of every group"}
"""What is guarded, in words."""

RATIO = read_measure("selection_rate.ratio")


def describe_record(outcome: Outcome) -> dict[str, str]:
    """Return the entries of the record by name: what is guaranteed, the selection ratios and the data."""
    facts = outcome.facts
    trained, _, test = facts.sizes
    ratios = "; ".join(f"{who} {found.as_number()}" for who, found in selection_ratios(outcome).items())
    entries = {
        "Guaranteed": " ".join(_guaranteed(outcome)),
        "Not guaranteed": (
            "Any figure of a group that is not named above, and any figure for people who are unlike the training "
            "rows, at another time or place."
        ),
        "Selection-rate ratio": f"{ratios}. {FOUR_FIFTHS}",
        "Data": f"{trained:,} training and {test:,} test rows of {facts.source}",
    }
    if facts.fingerprint:
        entries["Fingerprint of the training rows"] = f"SHA-256 {facts.fingerprint}"
    return entries


FOUR_FIFTHS = (
    "It is the smallest share of a group that is selected over the largest, on test rows, with a 95 % interval. "
    "United States guidelines on employment question ratios below 0.8."
)


def selection_ratios(outcome: Outcome) -> dict[str, Estimate]:
    """Return the ratio of the groups' selection rates on test rows, of the plain and of the saved model."""
    ratio = RATIO.at(outcome.rule.positive)
    found = {}
    for who, place in {"plain": 0, "saved": outcome.place}.items():
        audit = audit_counts(outcome.test[place], outcome.facts.classes, outcome.facts.groups, measures=[ratio])
        found[who] = audit.overall[ratio.metric]
    return found


def _guaranteed(outcome: Outcome) -> Iterator[str]:
    """The claims that were tested before the choice, with their confidence."""
    rule = outcome.rule
    if not outcome.improved:
        yield "Nothing: the plain model is saved."
        return
    claims = [f"{limit.measure.title} {limit.side} {limit.measure.format(limit.value)}" for limit in rule.limits]
    if not rule.seeks_performance or rule.accuracy_drop < 1:
        claims.append(f"at most {budget(rule)} lost against the plain model")
    if rule.worst_group_drop is not None:
        drop = (
            f"at most {100 * rule.worst_group_drop:g} points below" if rule.worst_group_drop else "no worse than"
        )
        claims.append(f"{WHO[rule.guard]} {drop} under the plain model")
    yield (
        f"For new rows like the training rows, each at a confidence of {NormalDist().cdf(rule.margin):.2g}, by a "
        f"test in cross-validation: {'; '.join(claims)}."
    )
    yield "A certificate gives bounds that hold all together, from rows that took no part in the fit."
