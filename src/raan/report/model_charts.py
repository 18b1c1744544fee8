"""The figures about a saved model: the trade-off, ROC and calibration by group, importance of columns."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from raan.fairness.counts import MIN_CHOSEN
from raan.fairness.measures import Measure
from raan.fairness.metrics import false_positive_rate, true_positive_rate
from raan.fit.inspect import GroupScores
from raan.fit.outcome import Choice, Outcome
from raan.fit.words import budget
from raan.report.charts import ACCENT, INK, LINE, MUTED, Canvas, Chart, Key, hue, marker, range_of
from raan.report.groups import group_names
from raan.report.tables import NOTHING, percent, table

CLOUD = 150
"""Points of the trade-off that are drawn beside those that some choice takes."""

MOST_COLUMNS = 30
"""Columns whose importance is drawn, the most important first."""

STAR = 7
"""The shape of the saved model's marker."""


class TradeOffChart:
    """Accuracy against an aim on held-out rows: points, what each budget gives, the plain and the saved model.

    `place` is where the slider's marker goes for a point.
    """

    def __init__(self, outcome: Outcome, aim: Measure) -> None:
        currency = outcome.rule.currency
        scales = [100 if each.unit else 1 for each in (currency, aim)]
        found = [each(outcome.held_out) for each in (currency, aim)]
        self.places = np.round(np.stack(found, axis=1) * scales, 2 if min(scales) > 1 else 4)
        here = [choice for choice in outcome.choices if choice.aim == aim.key]
        seen = self.places[[0, outcome.place, *(choice.point for choice in here)]]
        x, y = (range_of(values, 0.12) for values in seen.T)
        titles = [f"{currency.title} on held-out rows", aim.title]
        self._title, self._units = currency.title, [" %" if each.unit else "" for each in (currency, aim)]
        units = [" (%)" if each.unit else "" for each in (currency, aim)]
        self._canvas = Canvas(x, y, (titles[0] + units[0], titles[1] + units[1]), height=400)
        self._draw(outcome, here, (x, y))
        up, right = ("up", "down")[not aim.more_is_better], ("right", "left")[not currency.more_is_better]
        title = f"{aim.title[0].upper()}{aim.title[1:]} against {currency.title}: {up} and {right} is better"
        keys = [
            ("choices", ACCENT, 0, False),
            ("without the guard", ACCENT, 0, True),
            ("plain model", MUTED, 0, False),
            ("saved model", hue(4), STAR, False),
            ("your choice", INK, 0, True),
        ]
        label = f"{title}. The table of choices in the appendix holds the numbers."
        self.chart = Chart(title, label, self._canvas.svg(), keys=keys)

    def place(self, point: int) -> tuple[float, float]:
        """Where a point is in the drawing."""
        x, y = self.places[point].tolist()
        return self._canvas.x(x), self._canvas.y(y)

    def _describe(self, across: float, up: float) -> str:
        return f"{self._title} {across:.4g}{self._units[0]}, aim {up:.4g}{self._units[1]}"

    def _draw(self, outcome: Outcome, choices: Sequence[Choice], window: tuple[tuple[float, float], ...]) -> None:
        canvas, places = self._canvas, self.places
        within = np.all([(lo <= v) & (v <= hi) for (lo, hi), v in zip(window, places.T, strict=True)], axis=0)
        some = np.flatnonzero(within)
        for point in some[:: max(1, len(some) // CLOUD)]:
            across, up = places[point].tolist()
            canvas.mark(across, up, MUTED, size=2, opacity=0.35)
        for free in (True, False):
            ordered = sorted(
                (c for c in choices if (c.worst_group_drop is None) == free), key=lambda c: c.accuracy_drop
            )
            line = places[[choice.point for choice in ordered]].tolist()
            canvas.line(line, ACCENT, width=1.5, dash="2 4" if free else "")
            for choice, (across, up) in zip(ordered, line, strict=True):
                hint = (
                    f"up to {budget(replace(outcome.rule, accuracy_drop=choice.accuracy_drop))} may be lost"
                    f"{', no guard' if free else ''}\n{self._describe(across, up)}"
                )
                canvas.mark(across, up, ACCENT, size=4, hollow=free, hint=hint)
        for point, name, shape, colour in ((0, "plain", 0, MUTED), (outcome.place, "saved", STAR, hue(4))):
            across, up = places[point].tolist()
            hint = f"{name} model\n{self._describe(across, up)}"
            canvas.mark(across, up, colour, shape=shape, size=7, hint=hint)
        canvas.mark(across, up, INK, size=11, hollow=True, name="here")


def chart_sections(outcome: Outcome) -> list[tuple[str, str, str, list[Chart]]]:
    """Return the sections of the page that hold charts only: identifier, heading, hint and charts."""
    importance = importance_chart(outcome)
    sections = [
        (
            "scores",
            "How scores order and calibrate each group",
            "Test rows. Solid lines and full markers are the saved model, dotted lines and open markers the plain "
            "one. A marker may stand off its curve: the saved model can decide by more than the probability. "
            f"Bins with fewer than {MIN_CHOSEN} rows are left out of the calibration.",
            score_charts(outcome),
        ),
        ("importance", "What the model leans on", "", [importance] if importance else []),
    ]
    return [section for section in sections if section[-1]]


def score_charts(outcome: Outcome) -> list[Chart]:
    """ROC and calibration of every group, plain dashed and saved solid; none where there are no scores."""
    if not any(outcome.scores.values()):
        return []
    return [_roc_chart(outcome), _calibration_chart(outcome)]


def _roc_chart(outcome: Outcome) -> Chart:
    canvas = _square("false positive rate (%)", "true positive rate (%)")
    rates = {
        which: [rate(outcome.test[place])[:, -1] for rate in (false_positive_rate, true_positive_rate)]
        for which, place in (("plain", 0), ("saved", outcome.place))
    }
    rows = []
    for which, code, name, scores in _each_score(outcome):
        _curve(canvas, which, code, scores.roc)
        false, true = (float(rate[code]) for rate in rates[which])
        hint = f"{name}, {which}\ntrue positive rate {percent(true)} %, false positive rate {percent(false)} %"
        canvas.mark(
            *(100 * false, 100 * true, hue(code + 1)),
            shape=marker(code + 1),
            size=6,
            hollow=which == "plain",
            hint=hint,
        )
        rows.append([f"{name}, {which}", percent(false), percent(true)])
    numbers = table("Where the models decide, test rows", ("group", "false positive %", "true positive %"), rows)
    label = "ROC curves of every group, plain and saved, with the points where the models decide; test rows."
    return Chart("ROC: markers are where the models decide", label, canvas.svg(), numbers, _keys(outcome))


def _calibration_chart(outcome: Outcome) -> Chart:
    canvas = _square("mean predicted probability (%)", "share it came true for (%)")
    rows = []
    for which, code, name, scores in _each_score(outcome):
        _curve(canvas, which, code, scores.calibration)
        for mean, share in scores.calibration.tolist():
            canvas.mark(
                *(100 * mean, 100 * share, hue(code + 1)),
                shape=marker(code + 1),
                size=3,
                hollow=which == "plain",
                hint=f"{name}, {which}: {percent(share)} % of those given {percent(mean)} %",
            )
            rows.append([f"{name}, {which}", percent(mean), percent(share)])
    numbers = table("Calibration, test rows", ("group", "predicted %", "came true %"), rows)
    label = "Predicted probability against the share it came true for, by group, plain and saved; test rows."
    title = "Calibration: on the diagonal, scores mean what they say"
    return Chart(title, label, canvas.svg(), numbers, _keys(outcome))


def _each_score(outcome: Outcome) -> Iterator[tuple[str, int, str, GroupScores]]:
    names = group_names(outcome)
    for key, which in (("plain", "plain"), ("chosen", "saved")):
        for scores in outcome.scores.get(key, ()):
            code = outcome.facts.groups.index(scores.group)
            yield which, code, names[code], scores


def _curve(canvas: Canvas, which: str, code: int, points: Float[np.ndarray, "some two"]) -> None:
    """A group's curve in its colour: saved solid, plain dashed."""
    canvas.line((100 * points).tolist(), hue(code + 1), dash="" if which == "saved" else "3 4")


def _keys(outcome: Outcome) -> list[Key]:
    return [(name, hue(code + 1), marker(code + 1), False) for code, name in enumerate(group_names(outcome))]


def _square(across: str, up: str) -> Canvas:
    canvas = Canvas((-2, 102), (-2, 102), (across, up), height=400)
    canvas.line([(0, 0), (100, 100)], LINE, width=1.5)
    return canvas


def importance_chart(outcome: Outcome) -> Chart | None:
    """How much accuracy each column carries: a bar over all people, a marker for each group."""
    importance = outcome.probe.importance(_weights(outcome), len(outcome.facts.groups))
    if not importance:
        return None
    title = "Accuracy the saved model loses when a column is shuffled"
    if len(importance) > MOST_COLUMNS:
        title += f": the first {MOST_COLUMNS} of {len(importance)} columns"
    importance = importance[:MOST_COLUMNS]
    groups = group_names(outcome)
    ends = [100 * value for _, whole, by_group in importance for value in (whole, *by_group)]
    canvas = Canvas(
        range_of([*ends, 0]),
        (-0.5, len(importance) - 0.5),
        ("points of accuracy lost", ""),
        height=70 + 26 * len(importance),
        names=[(column,) for column, _, _ in importance],
    )
    for row, (column, whole, by_group) in enumerate(importance):
        canvas.bar((0, 100 * whole), row, LINE, thick=16, hint=f"{column}: {100 * whole:.2f} points")
        for code, (group, share) in enumerate(zip(groups, by_group, strict=True)):
            hint = f"{column}, {group}: {100 * share:.2f} points"
            canvas.mark(100 * share, row, hue(code + 1), shape=marker(code + 1), size=4, hint=hint)
    rows = [
        [column, *(NOTHING if value != value else f"{100 * value:.2f}" for value in (whole, *by_group))]
        for column, whole, by_group in importance
    ]
    label = f"{title}, over all people and by group."
    header = ("column", "all", *groups)
    numbers = table("Points of accuracy lost when a column is shuffled, saved model, test rows", header, rows)
    return Chart(title, label, canvas.svg(), numbers, _keys(outcome))


def _weights(outcome: Outcome) -> Float[np.ndarray, "label group"]:
    return np.asarray(outcome.points.weights[outcome.place])
