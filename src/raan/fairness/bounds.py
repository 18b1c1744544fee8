"""Bounds and evidence that hold for any number of rows, as functions of counts.

A certificate is made once, on rows that nobody has looked at. Its bounds invert exact tests: a bound is the
largest value that a test at the level does not reject. Nuisance parameters (how many rows switch, the single
rates of a gap) are taken at their worst within a confidence set that costs a fiftieth of the level (Berger and
Boos, 1994).

Monitoring looks again every month. Its evidence is the capital of a bet against the claim: with a claim that is
true the capital ever exceeds 1 / level with a probability of at most the level, however often anybody looks
(Ville's inequality).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.fft import irfft, next_fast_len, rfft  # type: ignore[import-untyped]
from scipy.optimize import brentq  # type: ignore[import-untyped]
from scipy.special import betainc, betaincinv, betaln, gammaln, logsumexp, xlog1py, xlogy  # type: ignore[import-untyped]

NUISANCE = 0.02
"""The share of a level that is spent on what the claim says nothing about."""

PLACES = 5
"""Points between the likeliest and the most variable values of the nuisance, at which a tail is computed."""

STEPS = 100
"""Steps of the lattice of a weighted sum in its standard deviation. Values are rounded to the cautious side."""

SCAN = 8
"""Places at which a bound is looked for before it is located exactly."""

REACH = 9.0
"""Standard deviations up to which a binomial law is computed; what is beyond counts for the worse side."""

FALLS = np.array([0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.15, 0.25, 0.4])
"""By how much a share may have changed, for which bets are placed."""

STAKES = np.array([1, 2, 3, 4, 3, 2, 1, 1, 1]) / 18
"""How much of the capital is on each of `FALLS`."""

MEMORY = 200.0
"""The rows of the past, at most, that count in what a bet against a gap expects of each rate."""

Numbers = np.ndarray | float


def bound_rate(hits: Numbers, size: Numbers, level: float, *, upper: bool) -> np.ndarray:
    """Return the one-sided Clopper-Pearson bound of a rate of which `hits` of `size` rows are seen.

    Examples:
        >>> bound_rate(0, 59, 0.05, upper=True).round(4)  # the rule of three: about 3 / 59
        array(0.0495)
    """
    hits, rest = np.asarray(hits, float), np.asarray(size, float) - np.asarray(hits, float)
    if upper:
        return np.where(rest > 0, betaincinv(hits + 1, np.maximum(rest, 1e-9), 1 - level), 1.0)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), rest + 1, level), 0.0)


def bound_loss(worse: float, better: float, rows: float, level: float) -> float:
    """Return the upper bound of a paired difference: P(worse) - P(better), of which so many rows are seen.

    Examples:
        >>> round(bound_loss(40, 20, 2000, 0.05), 4)  # 1 point is seen
        0.0168
    """
    low, high = enclose(worse + better, rows, level)

    def p_value(loss: float) -> float:
        switched = np.linspace(max(float(low), abs(loss)), max(float(high), abs(loss)), PLACES)
        error = np.sqrt(max(worse + better + 1 - rows * loss**2, 1))
        apart = (worse - better - rows * loss) / error
        return max(paired_tail(apart, rows, each, loss) for each in switched) + NUISANCE * level

    seen = (worse - better) / rows
    return _turn_round(p_value, level, seen, 1.0, np.sqrt(max(worse + better, 1.0)) / rows)


def enclose(hits: Numbers, size: Numbers, level: float, several: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of one of several rates, all of which hold but for `NUISANCE` of the level."""
    share = NUISANCE * level / (2 * several)
    return bound_rate(hits, size, share, upper=False), bound_rate(hits, size, share, upper=True)


def _turn_round(p_value: Callable[[float], float], level: float, seen: float, most: float, scale: float) -> float:
    """Return the largest value that is not rejected, from the value that is seen up."""
    outside = min(seen + 3 * scale, most)
    while outside < most and p_value(outside) > level:
        outside = min(seen + 2 * (outside - seen), most)
    if p_value(outside) > level:
        return most
    # The p-value falls, but not at every step: the last crossing counts.
    inside = next((x for x in np.linspace(outside, seen, SCAN)[1:-1] if p_value(x) > level), seen)

    def excess(value: float) -> float:
        return float(np.log(max(p_value(value), 1e-300) / level))

    precision = 1e-3 * scale
    return float(min(brentq(excess, inside, outside, xtol=precision) + precision, most))


def paired_tail(apart: float, rows: float, switched: float, loss: float) -> float:
    """Return how likely B rows for the worse and C for the better are so many errors from a loss, or further.

    B + C is binomial, and so is B once B + C is given. Counted in errors, which B + C implies, a difference has
    nearly the same law however many rows switch.
    """
    if switched <= 0:
        return 1.0
    total, share = _binomial(rows, switched)
    worse = np.clip((1 + loss / switched) / 2, 0, 1)
    error = np.sqrt(np.maximum(total + 1 - rows * loss**2, 1))
    most = np.floor((total + rows * loss + apart * error) / 2 + 1e-9)
    inner = np.clip(most, 0, np.maximum(total - 1, 0))
    tail = np.where(total > 0, betainc(np.maximum(total - inner, 1e-9), inner + 1, 1 - worse), 1.0)
    tail = np.where(most < 0, 0.0, np.where(most >= total, 1.0, tail))
    return float(share @ tail + max(1 - share.sum(), 0.0))


def _binomial(size: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a binomial law within reach of its mean, and their probabilities."""
    around = REACH * np.sqrt(size * share * (1 - share)) + REACH
    x = np.arange(max(np.floor(size * share - around), 0), min(np.ceil(size * share + around), size) + 1)
    choices = gammaln(size + 1) - gammaln(x + 1) - gammaln(size - x + 1)
    return x, np.exp(choices + xlogy(x, share) + xlog1py(size - x, -share))


class Sum(NamedTuple):
    """A sum of rates of different rows with the signs 1 or -1, of which `hits` of `size` rows are seen."""

    hits: Float[np.ndarray, "rate"]
    size: Float[np.ndarray, "rate"]
    sign: Float[np.ndarray, "rate"]

    @property
    def seen(self) -> float:
        """The value that is seen."""
        return float(self.sign @ (self.hits / self.size))

    @property
    def error(self) -> float:
        """Its standard error; that of a rate that is 0 or 1 is not 0."""
        rate = (self.hits + 0.5) / (self.size + 1)
        return float(np.sqrt((rate * (1 - rate) / self.size).sum()))

    def p_value(self, total: float, level: float) -> float:
        """Return how likely so small a sum is at most, where the true one is `total`."""
        low, high = enclose(self.hits, self.size, level, len(self.size))
        sides = np.sort(self.sign * np.stack([low, high]), axis=0).sum(1)
        if not sides[0] <= total <= sides[1]:
            return NUISANCE * level
        rate = (self.hits + 0.5) / (self.size + 1)
        likely = self._at(
            total, np.clip(self.hits / self.size, low, high), rate * (1 - rate) / self.size, low, high
        )
        variable = self._at(total, np.full(len(self.size), 0.5), self.size, low, high)
        tails = [self.tail(likely + place * (variable - likely)) for place in np.linspace(0, 1, PLACES)]
        return max(tails) + NUISANCE * level

    def _at(
        self, total: float, centre: np.ndarray, weight: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Return the rates with this sum that are nearest to a centre, within bounds."""
        slope = self.sign * weight
        steps = np.sort(np.concatenate([(low - centre) / slope, (high - centre) / slope]))
        sums = np.clip(centre + steps[:, None] * slope, low, high) @ self.sign  # linear between the steps
        return np.asarray(np.clip(centre + np.interp(total, sums, steps) * slope, low, high))

    def tail(self, rate: np.ndarray) -> float:
        """Return the probability of a sum as small as the one that is seen, or smaller, with these rates."""
        deviation = np.sqrt((rate * (1 - rate) / self.size).sum())
        step = max(deviation, (1 / self.size).min()) / STEPS
        parts, start, beyond = [], 0, 0.0
        for size, sign, share in zip(self.size, self.sign, rate, strict=True):
            x, probability = _binomial(size, share)
            place = np.floor(sign * x / size / step).astype(np.int64)  # rounded down: the tail is not smaller
            start += int(place.min())
            beyond += max(1 - probability.sum(), 0.0)
            parts.append(np.bincount(place - place.min(), probability))
        length = next_fast_len(sum(map(len, parts)), real=True)
        law = irfft(np.prod([rfft(part, length) for part in parts], axis=0), length)
        last = int(np.floor(self.seen / step + 1e-6)) - start
        return float(np.clip(law[: max(last + 1, 0)].sum(), 0, 1) + beyond + 1e-12)


def bound_largest(sums: Sequence[Sum], level: float) -> float:
    """Return the upper bound of the largest of some sums of rates.

    No level is divided among them: whichever sum is truly the largest, its own bound fails with a probability of
    the level at most, and the largest of all bounds is not below it.
    """
    best = -np.inf
    for each in sorted(sums, key=lambda each: -each.seen - 2 * each.error):
        if best == -np.inf or each.p_value(best, level) > level:
            most = float(each.sign.clip(0).sum())
            found = _turn_round(lambda total: each.p_value(total, level), level, each.seen, most, each.error)  # noqa: B023
            best = max(best, found)
    return best


def bet_against(misses: Numbers, size: Numbers, share: Numbers) -> np.ndarray:
    """Return the logarithm of the capital of bets against the claim that at most this share of rows are misses.

    Each bet multiplies its capital by s / share at a miss and by (1 - s) / (1 - share) at any other row, for a
    larger share s. The expectation of the capital stays below 1 while the claim is true.
    """
    misses, size = np.asarray(misses, float)[..., None], np.asarray(size, float)[..., None]
    share = np.clip(np.asarray(share, float), 1e-9, 1 - 1e-9)[..., None]
    other = np.minimum(share + FALLS, (1 + share) / 2)
    capital = xlogy(misses, other / share) + xlogy(size - misses, (1 - other) / (1 - share))
    return np.asarray(logsumexp(capital, b=STAKES, axis=-1))


def bet_against_gap(sums: Sequence[Sum], most: float, past: Sequence[Sum]) -> float:
    """Return the logarithm of the capital of a bet against the claim that each of these sums is at most `most`.

    Half of the bet on each rate expects what it was in the past, half expects nothing, and both learn. The capital
    is the likelihood under this expectation divided by the largest of any rates for which the claim is true.
    """
    capital = []
    for each, before in zip(sums, past, strict=True):
        weight = np.minimum(MEMORY / np.maximum(before.size, 1), 1)
        hits, misses = weight * before.hits + 0.5, weight * (before.size - before.hits) + 0.5
        priors = ((hits, misses), (0.5, 0.5))  # as in the past, or anything
        several = [betaln(a + each.hits, b + each.size - each.hits) - betaln(a, b) for a, b in priors]
        capital.append((np.logaddexp(*several) - np.log(2)).sum() - best_likelihood(each, most))
    return float(max(capital))


def best_likelihood(total: Sum, most: float) -> float:
    """Return the logarithm of the largest likelihood of rates whose sum is at most `most`."""
    hits, size, sign = total

    def rates(price: float) -> np.ndarray:
        """Solve hits / p - (size - hits) / (1 - p) = price * sign; without rows, favour the claim."""
        cost = price * sign
        b = size + cost
        root = np.sqrt(np.maximum(b**2 - 4 * cost * hits, 0))
        small = 2 * hits / np.maximum(b + root, 1e-12)
        rate = np.where(b >= 0, small, (root - b) / np.maximum(-2 * cost, 1e-12))
        return np.clip(np.where(size > 0, rate, sign < 0), 0, 1)

    price = 0.0
    if sign @ rates(0.0) > most:
        highest = 1.0
        while sign @ rates(highest) > most and highest < 1e12:
            highest *= 4
        price = brentq(lambda price: sign @ rates(price) - most, 0.0, highest)
    rate = rates(price)
    return float((xlogy(hits, rate) + xlog1py(size - hits, -rate)).sum())


def follow_rate(hits: float, size: float, level: float) -> tuple[float, float]:
    """Return an interval of a rate that holds at all times together, however often it is looked at."""
    expected = betaln(hits + 0.5, size - hits + 0.5) - betaln(0.5, 0.5)

    def room(rate: float) -> float:
        return float(expected - xlogy(hits, rate) - xlog1py(size - hits, -rate) + np.log(level))

    seen = hits / size
    low = brentq(room, 1e-12, seen) if hits > 0 and room(1e-12) > 0 else 0.0
    high = brentq(room, seen, 1 - 1e-12) if hits < size and room(1 - 1e-12) > 0 else 1.0
    return float(low), float(high)
