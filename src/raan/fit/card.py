"""The model card: what the model is, whom it was trained on, how it was chosen, how it serves each group."""

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from raan.fairness.aims import MEASURES
from raan.fairness.audit import audit_counts
from raan.fairness.bootstrap import Estimate
from raan.fit.fit import Fit
from raan.results.records import versions


def escape(text: str) -> str:
    """The user's text as Markdown shows it letter by letter: no markup, no HTML, no line breaks."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]#|~]|^[-+])", r"\\\1", plain)


def model_card(fit: Fit, label: str, attributes: Sequence[str], source: str, folder: str) -> str:
    """The card in Markdown."""
    return "\n".join(_lines(fit, label, attributes, source, folder)) + "\n"


def _lines(fit: Fit, label: str, attributes: Sequence[str], source: str, folder: str) -> Iterator[str]:
    loaded = fit.loaded
    crossed = " × ".join(map(escape, attributes))
    yield f"# Model card: {escape(label)}, by {fit.chosen.method}"
    yield ""
    yield (
        f"This model predicts **{escape(label)}** ({', '.join(map(escape, fit.classes))}) from "
        f"{len(fit.loaded.preprocessing.columns)} columns of {escape(source)}. It was trained and chosen by "
        f"`raan fit` on {datetime.now(UTC):%d %B %Y} to serve the groups of **{crossed}** alike. "
        f"{_needs(fit, attributes)}"
    )
    yield from ("", "## What it is for", "")
    yield (
        "For rows drawn as the training rows were. Whoever uses it for decisions about people should measure it "
        "on rows of their own first (`raan audit`), and say what its errors cost whom: no metric here does."
    )
    yield from ("", "## Trained on", "")
    train, validation, test = (f"{len(part):,}" for part in loaded.split)
    yield f"{loaded.rows:,} rows: {train} trained, {validation} chose (validation), {test} judged (test)."
    yield from ("", *_cells(fit), "")
    yield f"Columns: {', '.join(map(escape, fit.loaded.preprocessing.columns))}."
    yield from ("", "## How it was chosen", "", *_choice(fit))
    yield from ("", "## On test rows", "", *_figures(fit))
    yield from ("", "## Limits", "", *(f"- {line}" for line in _limits(fit)))
    yield from ("", "## Use", "", *_use(folder))
    yield from ("", "## Made with", "")
    yield ", ".join(f"{name} {number}" for name, number in versions("scikit-learn").items()) + "."


def _needs(fit: Fit, attributes: Sequence[str]) -> str:
    """Whether predicting needs the attribute."""
    if set(attributes) & set(fit.loaded.preprocessing.columns):
        return "It uses the attribute to predict, as was asked for: in some places that is against the law."
    return "It needs no attribute to predict."


def _cells(fit: Fit) -> Iterator[str]:
    """How many rows each class and group has, those of groups too small to judge by included."""
    groups = fit.loaded.attribute.names
    yield f"| | {' | '.join(map(escape, groups))} |"
    yield f"|---|{'---:|' * len(groups)}"
    for name, row in zip(fit.classes, fit.loaded.cells.tolist(), strict=True):
        yield f"| {escape(name)} | {' | '.join(f'{count:,}' for count in row)} |"


def _choice(fit: Fit) -> Iterator[str]:
    rule, plain = fit.rule, fit.plain
    methods = ", ".join(dict.fromkeys(run.method for run in fit.runs))
    minutes = fit.wish.seconds / 60
    best = "best" if rule.goal.more_is_better else "smallest"
    yield (
        f"Trained within {minutes:g} minute{'' if minutes == 1 else 's'}: {methods}. "
        f"Asked for: the {best} {rule.goal.title}, at most {100 * rule.accuracy_drop:g} points of accuracy "
        f"below the best plain model, {plain.method} "
        f"({100 * float(plain.validation.accuracy):.1f} % on validation rows). "
        f"{_verdict(fit)} Test rows took no part in the choice."
    )


def _verdict(fit: Fit) -> str:
    """Why this model."""
    method, plain = fit.chosen.method, "**this is a plain model**, the most accurate one on validation rows."
    if fit.improved:
        return f"The best point of all methods by that rule, on validation rows, is {method}'s."
    if not fit.chosen.plain:
        return f"On validation rows, {method} is about as good for that as the plain model, and more accurate."
    if not fit.tried:
        return f"No model that knows of groups was trained in the time: {plain}"
    return f"No model that knows of groups did better than the plain ones within the allowance: {plain}"


def _figures(fit: Fit) -> Iterator[str]:
    """The metrics of the plain and the chosen model with intervals, then each group's."""
    picks = tuple(dict.fromkeys((fit.plain, fit.chosen)))  # one, if the plain model was chosen
    audits = [audit_counts(pick.test_counts, fit.classes, fit.groups) for pick in picks]
    yield f"| | {' | '.join(('plain: ' if pick.plain else '') + pick.method for pick in picks)} |"
    yield f"|---|{'---:|' * len(audits)}"
    for measure in MEASURES:
        yield _row(measure.title, [getattr(each, measure.metric) for each in audits])
    for group in zip(*(each.groups for each in audits), strict=True):
        who = f"{escape(group[0].name)} ({group[0].count:,} rows)"
        yield _row(f"accuracy of {who}", [each.accuracy for each in group])
    for cell in zip(*(each.cells for each in audits), strict=True):
        who = f"{escape(cell[0].label)}, {escape(cell[0].group)} ({cell[0].count:,})"
        yield _row(f"accuracy of {who}", [each.accuracy for each in cell])
    yield ""
    yield (
        "In brackets: 95 % bootstrap intervals over test rows. They do not show how another split or another "
        "start of training would have fared. The equalized-odds gap is the sum of the differences of true and "
        "false positive rates."
    )


def _row(name: str, estimates: Sequence[Estimate]) -> str:
    return f"| {name} | {' | '.join(str(each).strip() for each in estimates)} |"


def _limits(fit: Fit) -> Iterator[str]:
    starts = fit.effort.seeds if fit.effort else 1
    yield (
        f"One split of the rows was used, and {starts} start{'' if starts == 1 else 's'} of the networks on it: "
        "the chance in these is not in the intervals."
    )
    yield "Groups beyond those of the attribute given were not looked at, nor what lies behind the labels."
    yield from map(escape, fit.notes)
    yield from map(escape, fit.loaded.warnings)


def _use(folder: str) -> Iterator[str]:
    folder = " ".join(folder.replace("`", "").split())
    yield "```"
    yield f"raan predict {shlex.quote(folder)} NEW_ROWS.csv --out predictions.csv"
    yield "```"
    yield ""
    yield "or in Python"
    yield ""
    yield "```py"
    yield "import raan"
    yield ""
    yield f"model = raan.load({folder + '/model'!r})"
    yield 'model.predict("NEW_ROWS.csv")'
    yield "```"
