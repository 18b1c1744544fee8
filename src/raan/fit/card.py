"""The model card: what the model is, whom it was trained on, how it was chosen, how it serves each group."""

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import torch

from raan.fairness.audit import audit
from raan.fairness.bootstrap import Estimate
from raan.fairness.findings import Audit
from raan.fit.fit import Fit
from raan.fit.points import Choice
from raan.results.records import versions

AIMS = {
    "equalized_odds": "the smallest equalized odds gap",
    "demographic_parity": "the smallest demographic parity gap",
    "worst_group": "the best accuracy of the worst-served group",
}


def audited(fit: Fit, choice: Choice) -> Audit:
    """The audit of a choice on the test rows, from its counts: every test row as often as it was counted."""
    cells = torch.from_numpy(choice.walk.test[choice.point]).long()
    label, attribute, prediction = (
        part.repeat_interleave(cells.flatten()) for part in torch.cartesian_prod(*map(torch.arange, cells.shape)).T
    )
    classes = fit.table.class_names
    groups = (*fit.table.attribute_names, None)
    return audit(
        [classes[code] for code in label],
        [classes[code] for code in prediction],
        [groups[code] for code in attribute],
    )


def escaped(text: str) -> str:
    """The user's text as Markdown shows it letter by letter: no markup, no HTML, no line breaks."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]#|~]|^[-+])", r"\\\1", plain)


def model_card(fit: Fit, label: str, attributes: Sequence[str], source: str, folder: str) -> str:
    """The card in Markdown."""
    return "\n".join(_lines(fit, label, attributes, source, folder)) + "\n"


def _lines(fit: Fit, label: str, attributes: Sequence[str], source: str, folder: str) -> Iterator[str]:
    table, split = fit.table, fit.loaded.split
    crossed = " × ".join(map(escaped, attributes))
    yield f"# Model card: {escaped(label)}, by {fit.chosen.walk.method}"
    yield ""
    yield (
        f"This model predicts **{escaped(label)}** ({', '.join(map(escaped, table.class_names))}) from "
        f"{len(fit.loaded.preprocessing.columns)} columns of {escaped(source)}. It was trained and chosen by "
        f"`raan fit` on {datetime.now(UTC):%d %B %Y} to serve the groups of **{crossed}** alike. "
        f"{_needs(fit, attributes)}"
    )
    yield from ("", "## What it is for", "")
    yield (
        "For rows drawn as the training rows were. Whoever uses it for decisions about people should measure it "
        "on rows of their own first (`raan audit`), and say what its errors cost whom: no metric here does."
    )
    yield from ("", "## Trained on", "")
    train, validation, test = (f"{len(part):,}" for part in split)
    yield f"{table.rows:,} rows: {train} trained, {validation} chose (validation), {test} judged (test)."
    yield from ("", *_cells(fit), "")
    yield f"Columns: {', '.join(map(escaped, fit.loaded.preprocessing.columns))}."
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
    table = fit.loaded.table
    yield f"| | {' | '.join(map(escaped, table.attribute_names))} |"
    yield f"|---|{'---:|' * table.attributes}"
    for name, row in zip(table.class_names, table.cells().tolist(), strict=True):
        yield f"| {escaped(name)} | {' | '.join(f'{count:,}' for count in row)} |"


def _choice(fit: Fit) -> Iterator[str]:
    wish, plain = fit.wish, fit.plain
    methods = ", ".join(dict.fromkeys(walk.method for walk in fit.walks))
    minutes = wish.seconds / 60
    yield (
        f"Trained within {minutes:g} minute{'' if minutes == 1 else 's'}: {methods}. "
        f"Asked for: {AIMS[wish.aim]}, at most {100 * wish.accuracy_drop:g} points of accuracy below the best "
        f"plain model, {plain.walk.method} ({100 * float(plain.validation.accuracy):.1f} % on validation rows). "
        f"{_verdict(fit)} Test rows took no part in the choice."
    )


def _verdict(fit: Fit) -> str:
    """Why this model."""
    method, plain = fit.chosen.walk.method, "**this is a plain model**, the most accurate one on validation rows."
    if fit.improved:
        return f"The best point of all methods by that rule, on validation rows, is {method}'s."
    if not fit.chosen.plain:
        return f"On validation rows, {method} is about as good for that as the plain model, and more accurate."
    if not fit.tried:
        return f"No model that knows of groups was trained in the time: {plain}"
    return f"No model that knows of groups did better than the plain ones within the allowance: {plain}"


def _figures(fit: Fit) -> Iterator[str]:
    """The metrics of the plain and the chosen model with intervals, then each group's."""
    choices = dict.fromkeys((fit.plain, fit.chosen))  # one, if the plain model was chosen
    audits = [audited(fit, choice) for choice in choices]
    yield f"| | {' | '.join(('plain: ' if c.walk.plain else '') + c.walk.method for c in choices)} |"
    yield f"|---|{'---:|' * len(audits)}"
    for name in ("accuracy", "worst_group_accuracy", "demographic_parity_gap", "equalized_odds_gap"):
        yield _row(name.replace("_", " "), [getattr(each, name) for each in audits])
    for group in zip(*(each.groups for each in audits), strict=True):
        who = f"{escaped(group[0].name)} ({group[0].count:,} rows)"
        yield _row(f"accuracy of {who}", [each.accuracy for each in group])
    for cell in zip(*(each.cells for each in audits), strict=True):
        who = f"{escaped(cell[0].label)}, {escaped(cell[0].group)} ({cell[0].count:,})"
        yield _row(f"accuracy of {who}", [each.accuracy for each in cell])
    yield ""
    yield (
        "In brackets: 95 % bootstrap intervals over test rows. They say nothing of how another split or another "
        "start of training would have fared. The equalized odds gap is the sum of the differences of true and "
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
    yield from map(escaped, fit.notes)
    yield from map(escaped, fit.loaded.warnings)


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
