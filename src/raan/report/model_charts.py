"""The interactive figures about a saved model: the trade-off around it, ROC, calibration, importance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.aims import Aim
from raan.fairness.metrics import metrics
from raan.report.charts import Chart, categories, category, layout_of, plain
from raan.report.measures import NOTHING, percent
from raan.report.palette import SYMBOLS, colour, marker
from raan.report.saved import Choice, Saved
from raan.report.served import group_names
from raan.report.tables import Table, table

INK, MUTED, ACCENT = "var(--ink)", "var(--muted)", "var(--accent)"

LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}}
"""Above the drawing, where it meets no title of an axis."""


def place_points(saved: Saved, aim: Aim) -> Float[np.ndarray, "point two"]:
    """Each point's accuracy and aim out of fold, in percent."""
    found = metrics(saved.held_out)
    return np.round(100 * np.stack([found.accuracy, aim.of(found)], axis=1), 2)


def trade_off_chart(saved: Saved, aim: Aim, choices: Sequence[Choice]) -> Chart:
    """Accuracy against an aim out of fold: all points, what allowances buy, the plain model and the saved one.

    The last trace is the marker that the slider moves.
    """
    places = place_points(saved, aim)
    here = [choice for choice in choices if choice.aim == aim.key]
    lines = [
        _line(places, [c for c in here if (c.worst_group_drop is None) == free], free) for free in (False, True)
    ]
    cloud = _scatter(places, {"color": MUTED, "size": 4, "opacity": 0.35}) | {"hoverinfo": "skip"}
    data = [
        cloud,
        *(line for line in lines if line["x"]),
        _single(places[saved.plain], "plain model", "circle", MUTED),
        _single(places[saved.chosen], "saved model", "star", "var(--method-4)"),
        _marker(places[saved.chosen]),
    ]
    better = "up and right is better" if aim.more_is_better else "down and right is better"
    title = f"{aim.title[0].upper()}{aim.title[1:]} against accuracy: {better}"
    layout = layout_of("accuracy out of fold (%)", f"{aim.title} (%)", 500)
    layout |= {"showlegend": True, "legend": LEGEND}
    seen = places[[saved.plain, saved.chosen, *(choice.point for choice in here)]]
    for axis, values in zip(("xaxis", "yaxis"), seen.T, strict=True):
        layout[axis] |= {"range": _range(values)}
    label = f"{title}. The table of choices in the appendix holds the numbers."
    return Chart(title, label, data, layout)


def _range(values: Float[np.ndarray, "some"]) -> list[float]:
    """An axis on which what can be chosen is well seen: points far from all of it are cut off."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 100.0)
    spare = max(0.12 * (high - low), 0.2)
    return [round(low - spare, 2), round(high + spare, 2)]


def _scatter(places: Float[np.ndarray, "some two"], look: Mapping[str, Any]) -> dict[str, Any]:
    x, y = places.T.tolist()
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "",
        "showlegend": False,
        "x": x,
        "y": y,
        "hoverinfo": "text",
        "marker": dict(look),
    }


def _line(places: Float[np.ndarray, "point two"], choices: Sequence[Choice], free: bool) -> dict[str, Any]:
    """What each allowance buys, with the floor or without it."""
    ordered = sorted(choices, key=lambda choice: choice.accuracy_drop)
    trace = _scatter(places[[choice.point for choice in ordered]], {"color": ACCENT, "size": 7})
    name = "choices without the floor" if free else "choices"
    said = [
        f"up to {100 * choice.accuracy_drop:g} points may be lost{', no floor' if free else ''}<br>accuracy "
        f"{places[choice.point, 0]:.1f} %, aim {places[choice.point, 1]:.1f} %"
        for choice in ordered
    ]
    trace |= {"mode": "lines+markers", "name": name, "hovertext": said, "showlegend": True}
    if free:
        trace["marker"] |= {"symbol": "circle-open"}
    return trace | {"line": {"color": ACCENT, "width": 1.5, "dash": "dot" if free else "solid"}}


def _single(place: Float[np.ndarray, "two"], name: str, symbol: str, hue: str) -> dict[str, Any]:
    said = f"<b>{name}</b><br>accuracy {place[0]:.1f} %, aim {place[1]:.1f} %"
    look = {"color": hue, "size": 14 if symbol == "star" else 11, "symbol": symbol}
    return _scatter(place[None], look) | {"name": name, "showlegend": True, "hovertext": [said]}


def _marker(place: Float[np.ndarray, "two"]) -> dict[str, Any]:
    look = {"color": INK, "size": 20, "symbol": "circle-open", "line": {"color": INK, "width": 2.5}}
    return _scatter(place[None], look) | {"name": "your choice", "showlegend": True, "hoverinfo": "skip"}


def score_charts(saved: Saved) -> list[Chart]:
    """ROC and calibration of every group, plain dashed and saved solid; none where there are no scores."""
    if not any(saved.scores.values()):
        return []
    return [_roc_chart(saved), _calibration_chart(saved)]


def _roc_chart(saved: Saved) -> Chart:
    data, rows = [_diagonal()], []
    for which, place, name, scores in _each_score(saved):
        trace = _curve(which, place, name, scores.roc)
        data += [trace, _operating(which, place, name, scores.operating)]
        rows.append([f"{name}, {which}", *map(percent, scores.operating)])
    layout = _square("false positive rate (%)", "true positive rate (%)")
    numbers = table("Where the models decide, test rows", ("group", "false positive %", "true positive %"), rows)
    label = "ROC curves of every group, plain and saved, with the points where the models decide; test rows."
    return Chart("ROC: markers are where the models decide", label, data, layout, numbers)


def _calibration_chart(saved: Saved) -> Chart:
    data = [_diagonal()]
    rows = []
    for which, place, name, scores in _each_score(saved):
        data.append(_curve(which, place, name, scores.calibration) | {"mode": "lines+markers"})
        rows += [
            [f"{name}, {which}", percent(mean), percent(share)] for mean, share in scores.calibration.tolist()
        ]
    layout = _square("mean predicted probability (%)", "share it came true for (%)")
    numbers = table("Calibration, test rows", ("group", "predicted %", "came true %"), rows)
    label = "Predicted probability against the share it came true for, by group, plain and saved; test rows."
    return Chart("Calibration: on the diagonal, scores mean what they say", label, data, layout, numbers)


def _each_score(saved: Saved) -> Any:
    called = dict(zip(saved.groups, group_names(saved), strict=True))
    for key, which in (("plain", "plain"), ("chosen", "saved")):
        for scores in saved.scores.get(key, ()):
            place = list(saved.groups).index(scores.group) if scores.group in called else len(called)
            yield which, place, called.get(scores.group, scores.group), scores


def _curve(which: str, place: int, name: str, points: Float[np.ndarray, "some two"]) -> dict[str, Any]:
    """A group's curve in its colour: saved solid and in the legend, plain dashed."""
    trace = _scatter(np.round(100 * points, 2), {"color": _hue(place), "size": 5})
    solid = which == "saved"
    trace |= {"mode": "lines", "name": plain(name), "showlegend": solid, "hovertext": f"{plain(name)}, {which}"}
    trace["legendgroup"] = f"group-{place}"
    return trace | {"line": {"color": _hue(place), "width": 2, "dash": "solid" if solid else "dot"}}


def _operating(which: str, place: int, name: str, point: tuple[float, float]) -> dict[str, Any]:
    symbol = SYMBOLS[marker(place + 1)] + ("" if which == "saved" else "-open")
    trace = _scatter(np.round(100 * np.array([point]), 2), {"color": _hue(place), "size": 12, "symbol": symbol})
    said = (
        f"<b>{plain(name)}, {which}</b><br>true positive rate {percent(point[1])} %, "
        f"false positive rate {percent(point[0])} %"
    )
    return trace | {"hovertext": [said], "legendgroup": f"group-{place}"}


def _diagonal() -> dict[str, Any]:
    line = {"color": "var(--line)", "width": 1.5}
    trace = _scatter(np.array([[0.0, 0.0], [100.0, 100.0]]), {"color": "var(--line)"})
    return trace | {"mode": "lines", "line": line, "hoverinfo": "skip"}


def _square(across: str, up: str) -> dict[str, Any]:
    layout = layout_of(across, up, 380)
    layout |= {"showlegend": True, "legend": LEGEND}
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"range": [-2, 102]}
    return layout


def _hue(place: int) -> str:
    return f"var(--method-{colour(place + 1)})"


def importance_chart(saved: Saved) -> Chart:
    """How much accuracy each column carries: a bar over all people, a marker for each group."""
    names = [(each.column,) for each in saved.importance]
    up = list(map(category, names))
    x = [100 * each.overall for each in saved.importance]
    bar = {
        "type": "bar",
        "orientation": "h",
        "name": "all",
        "x": [round(value, 2) for value in x],
        "y": up,
        "marker": {"color": "var(--line)"},
        "hoverinfo": "x+y",
    }
    data: list[dict[str, Any]] = [bar]
    for place, group in enumerate(group_names(saved)):
        shares = [100 * each.by_group[place] for each in saved.importance]
        look = {"color": _hue(place), "size": 10, "symbol": SYMBOLS[marker(place + 1)]}
        said = [
            f"<b>{plain(each.column)}</b><br>{plain(group)}: {share:.2f} points"
            for each, share in zip(saved.importance, shares, strict=True)
        ]
        shape = {"type": "scatter", "mode": "markers", "x": shares, "y": up, "name": plain(group)}
        data.append(shape | {"marker": look, "hovertext": said, "hoverinfo": "text"})
    layout = layout_of("points of accuracy lost", "", 110 + 28 * len(names))
    layout["yaxis"] |= categories(names)
    layout["xaxis"] |= {"zeroline": True}
    layout |= {"showlegend": True, "legend": LEGEND}
    label = "Accuracy that the saved model loses when a column is shuffled, over all people and by group."
    return Chart(
        "Accuracy the saved model loses when a column is shuffled", label, data, layout, _importance_table(saved)
    )


def _importance_table(saved: Saved) -> Table:
    rows = [
        [
            each.column,
            *(NOTHING if value != value else f"{100 * value:.2f}" for value in (each.overall, *each.by_group)),
        ]
        for each in saved.importance
    ]
    header = ("column", "all", *group_names(saved))
    return table("Points of accuracy lost when a column is shuffled, saved model, test rows", header, rows)
