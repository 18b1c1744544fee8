"""The interactive figures of an explanation: the weights that RAAN gave, and maps of embeddings."""

from collections.abc import Mapping
from typing import Any

from raan.report.charts import Chart, categories, category, layout_of, plain
from raan.report.measures import group_name, name_cell
from raan.report.palette import SYMBOLS, colour

MOST_POINTS = 1500
"""Of a map: more would hide each other, and swell the page."""


def weight_chart(entry: Mapping[str, Any]) -> Chart:
    """The weights of each class and attribute value, as boxes between their quantiles."""
    cells = entry["cells"]
    groups = [name_cell(cell["class"], cell["attribute"]) for cell in cells]
    quantiles = list(zip(*(cell["quantiles"] for cell in cells), strict=True))
    box = {
        "type": "box",
        "orientation": "h",
        "y": list(map(category, groups)),
        "mean": [cell["mean"] for cell in cells],
        **dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), map(list, quantiles), strict=True)),
        "marker": {"color": "var(--method-1)"},
        "line": {"color": "var(--method-1)", "width": 1.5},
        "name": "",
    }
    layout = layout_of("weight (1 is the average person's)", "", 90 + 52 * len(cells))
    layout["yaxis"] |= categories(groups)
    label = "Weights of each group: boxes from the 25 % to the 75 % quantile, whiskers to 5 % and 95 %."
    return Chart("Weights of each group", label, [box], layout)


def feature_chart(entry: Mapping[str, Any]) -> Chart:
    """How the most up-weighted people differ from all, feature by feature."""
    features = entry["features"]
    names = [(feature["feature"],) for feature in features]
    shifts = [feature["difference"] for feature in features]
    said = [
        f"<b>{plain(feature['feature'])}</b><br>all people {feature['all']:.4g}<br>most up-weighted tenth "
        f"{feature['upweighted']:.4g}<br>{feature['difference']:+.2f} standard deviations"
        for feature in features
    ]
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": shifts,
        "y": list(map(category, names)),
        "hovertext": said,
        "hoverinfo": "text",
        "marker": {"color": ["var(--method-2)" if shift > 0 else "var(--method-1)" for shift in shifts]},
    }
    layout = layout_of("difference in standard deviations", "", 90 + 30 * len(features))
    layout["yaxis"] |= categories(names)
    layout["xaxis"] |= {"zeroline": True}
    label = (
        "How the tenth of people with the largest weights differs from all people; the table holds the numbers."
    )
    return Chart("Who the most up-weighted people are", label, [bar], layout)


def map_chart(entry: Mapping[str, Any]) -> Chart:
    """The embedding in the plane: colours are the attribute, shapes the class."""
    every = max(1, -(-len(entry["x"]) // MOST_POINTS))
    data = []
    for i, label in enumerate(entry["classes"]):
        for j, attribute in enumerate(entry["attributes"]):
            here = [
                row
                for row in range(0, len(entry["x"]), every)
                if (entry["label"][row], entry["attribute"][row]) == (i, j)
            ]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": plain(group_name(label, attribute)),
                    "x": [entry["x"][row] for row in here],
                    "y": [entry["y"][row] for row in here],
                    "hoverinfo": "name",
                    "marker": {
                        "size": 6,
                        "opacity": 0.65,
                        "symbol": ("circle-open", "triangle-up", *SYMBOLS[1:3])[i % 4],
                        "color": f"var(--method-{colour(j + 1)})",
                    },
                }
            )
    layout = layout_of("", "", 380)
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"showticklabels": False, "showgrid": False, "zeroline": False}
    layout |= {"showlegend": True, "legend": {"orientation": "h", "y": -0.02, "yanchor": "top"}}
    return Chart(entry["name"], separability_in_words(entry), data, layout)


def separability_in_words(entry: Mapping[str, Any]) -> str:
    """How well an embedding tells the attribute."""
    reached = entry["separability"]
    told = "undefined" if reached is None else f"{reached:.2f}"
    return f"{entry['name']}: the AUC of telling the attribute from the embedding is {told}."
