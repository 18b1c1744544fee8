"""The fairness metrics sample by sample and pair by pair, as their definitions read.

Each function takes lists of codes (attribute -1 is unknown), the numbers of classes and of attribute
values, and the smallest denominator that counts as measured.
"""

from itertools import combinations
from math import isnan, nan


def rate(hits, among, min_count):
    """How many of the samples `among` are `hits`, nan if they are too few."""
    if among == 0 or among < min_count:
        return nan
    return hits / among


def largest(values):
    """The largest value; nan if there is none, or if one is nan."""
    if not values or any(isnan(value) for value in values):
        return nan
    return max(values)


def accuracy(label, attribute, prediction, classes, attributes, min_count=1):
    hits = among = 0
    for y, p in zip(label, prediction, strict=True):
        among += 1
        if p == y:
            hits += 1
    return rate(hits, among, min_count)


def attribute_accuracy(label, attribute, prediction, classes, attributes, min_count=1):
    table = []
    for group in range(attributes):
        hits = among = 0
        for y, a, p in zip(label, attribute, prediction, strict=True):
            if a == group:
                among += 1
                if p == y:
                    hits += 1
        table.append(rate(hits, among, min_count))
    return table


def group_accuracy(label, attribute, prediction, classes, attributes, min_count=1):
    table = []
    for k in range(classes):
        row = []
        for group in range(attributes):
            hits = among = 0
            for y, a, p in zip(label, attribute, prediction, strict=True):
                if y == k and a == group:
                    among += 1
                    if p == y:
                        hits += 1
            row.append(rate(hits, among, min_count))
        table.append(row)
    return table


def worst_group_accuracy(label, attribute, prediction, classes, attributes, min_count=1):
    table = group_accuracy(label, attribute, prediction, classes, attributes, min_count)
    return -largest([-cell for row in table for cell in row])


def _predicted_rate(label, attribute, prediction, classes, attributes, min_count, condition):
    """P(prediction = k | attribute, condition(label, k)) for each attribute value and class k."""
    table = []
    for group in range(attributes):
        row = []
        for k in range(classes):
            hits = among = 0
            for y, a, p in zip(label, attribute, prediction, strict=True):
                if a == group and condition(y, k):
                    among += 1
                    if p == k:
                        hits += 1
            row.append(rate(hits, among, min_count))
        table.append(row)
    return table


def selection_rate(label, attribute, prediction, classes, attributes, min_count=1):
    return _predicted_rate(label, attribute, prediction, classes, attributes, min_count, lambda y, k: True)


def true_positive_rate(label, attribute, prediction, classes, attributes, min_count=1):
    return _predicted_rate(label, attribute, prediction, classes, attributes, min_count, lambda y, k: y == k)


def false_positive_rate(label, attribute, prediction, classes, attributes, min_count=1):
    return _predicted_rate(label, attribute, prediction, classes, attributes, min_count, lambda y, k: y != k)


def demographic_parity_gap(label, attribute, prediction, classes, attributes, min_count=1):
    selected = selection_rate(label, attribute, prediction, classes, attributes, min_count)
    gaps = []
    for first, second in combinations(range(attributes), 2):
        for k in range(classes):
            gaps.append(abs(selected[first][k] - selected[second][k]))
    return largest(gaps)


def equalized_odds_gap(label, attribute, prediction, classes, attributes, min_count=1, aggregate="sum"):
    hit = true_positive_rate(label, attribute, prediction, classes, attributes, min_count)
    false = false_positive_rate(label, attribute, prediction, classes, attributes, min_count)
    gaps = []
    for first, second in combinations(range(attributes), 2):
        for k in range(classes):
            pair = [abs(hit[first][k] - hit[second][k]), abs(false[first][k] - false[second][k])]
            combined = {"sum": sum(pair), "max": largest(pair), "mean": sum(pair) / 2}
            gaps.append(combined[aggregate])
    return largest(gaps)


def equal_opportunity_gap(label, attribute, prediction, classes, attributes, min_count=1):
    hit = true_positive_rate(label, attribute, prediction, classes, attributes, min_count)
    measured = [1] if classes == 2 else range(classes)
    pairs = combinations(range(attributes), 2)
    return largest([abs(hit[first][k] - hit[second][k]) for first, second in pairs for k in measured])
