"""The page about one saved model: what it does to each group, what that costs, and what else can be chosen."""

from pathlib import Path
from typing import Any

from raan.fairness.aims import AIMS
from raan.files.write import write_text
from raan.report.charts import Chart
from raan.report.content import Content
from raan.report.kept import broken, kept_table
from raan.report.measures import percent, points
from raan.report.model_charts import importance_chart, score_charts
from raan.report.outline import Outline, outline
from raan.report.page import render, study_parts
from raan.report.saved import Saved
from raan.report.served import compare, count_people
from raan.report.slider import choices_table, make_slider, points_table
from raan.report.stored import check_saved, from_dict, to_dict

__all__ = ["from_dict", "model_page", "to_dict", "write_model_page"]

FEW = 3
"""So many groups stand beside their table; more stand above it."""


def write_model_page(saved: Saved, path: str | Path, appendix: Content | None = None) -> None:
    """Write the page, whole or not at all; its folder is made where it is missing."""
    write_text(path, model_page(saved, appendix))


def model_page(saved: Saved, appendix: Content | None = None) -> str:
    """The page's HTML; `appendix` is what was trained on the way, of which the page tells at its end."""
    check_saved(saved)
    whole = outline(appendix) if appendix is not None and appendix.records else None
    parts: dict[str, Any] = {"whole": None} if appendix is None or whole is None else study_parts(appendix, whole)
    slider = make_slider(saved)
    scores = {f"scores-{place}": chart for place, chart in enumerate(score_charts(saved), 1)}
    importance = importance_chart(saved) if saved.importance else None
    kept = kept_table(saved)
    return render(
        "model.html.jinja",
        title_of(saved),
        _charts(slider.chart if slider else None, scores, importance, whole),
        kind="model",
        slid=slider.data if slider else None,
        saved=saved,
        about=_about(saved),
        test_rows=f"{saved.test[saved.chosen].sum():,.0f}",
        compared=compare(saved),
        people=count_people(saved),
        many=len(saved.groups) > FEW,
        unchanged=saved.chosen == saved.plain,
        kept=kept,
        broken=broken(kept),
        slider=slider,
        scores=scores,
        importance=importance,
        choices=choices_table(saved),
        points=points_table(saved),
        **parts,
    )


def title_of(saved: Saved) -> str:
    """The page's title, which says so where test rows contradict the promise."""
    return saved.title if saved.fairer else f"Not fairer: {saved.title}"


def _charts(
    trade_off: Chart | None, scores: dict[str, Chart], importance: Chart | None, whole: Outline | None
) -> dict[str, Chart]:
    """Every figure of the page, by its id."""
    charts = {"trade-off": trade_off, **scores, "importance-1": importance, **(whole.charts if whole else {})}
    return {name: chart for name, chart in charts.items() if chart is not None}


def _about(saved: Saved) -> str:
    """Which model, chosen how."""
    rule = saved.rule
    floor = ", the worst group no worse than the plain model's" if rule.worst_group_drop is not None else ""
    limits = ", ".join(f"{AIMS[aim].title} {percent(most)} %" for aim, most in rule.limits)
    wish = f"to be the most accurate with at most {limits}" if limits else f"so that {rule.goal.meaning}"
    within = "" if limits else f", within {points(rule.accuracy_drop)} of accuracy"
    return f"{saved.method[:1].upper()}{saved.method[1:]}. Chosen out of fold {wish}{within}{floor}."
