"""The model card: what the model is, whom it was trained on, how it was chosen, how it serves each group."""

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from statistics import NormalDist

from raan._version import versions
from raan.fairness.audit import audit_counts
from raan.fairness.counts import Estimate
from raan.fairness.measures import ACCURACY, MEASURES
from raan.fit.outcome import Outcome
from raan.fit.record import TO_FILL_IN, WHO, describe_record
from raan.fit.words import budget, inputs, verdict
from raan.text import replace_controls


def escape(text: str) -> str:
    """The user's text as Markdown shows it letter by letter: no markup, no HTML, no line breaks."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]#|~]|^[-+])", r"\\\1", plain)


def model_card(outcome: Outcome, folder: str | None) -> str:
    """The card in Markdown; `folder` is where `raan fit` saved the model, None for a model made in Python."""
    return replace_controls("\n".join(_lines(outcome, folder))) + "\n"


def _lines(outcome: Outcome, folder: str | None) -> Iterator[str]:
    facts = outcome.facts
    crossed = " × ".join(map(escape, facts.sensitive))
    yield f"# Model card: {escape(facts.label)}, {outcome.method}"
    yield ""
    yield f"**{escape(verdict(outcome)[0])}**"
    yield ""
    yield (
        f"This model predicts **{escape(facts.label)}** ({', '.join(map(escape, facts.classes))}) from "
        f"{len(facts.columns)} columns of {escape(facts.source)}. It was trained and chosen by "
        f"raan on {datetime.now(UTC):%d %B %Y} to serve the groups of **{crossed}** alike."
    )
    yield ""
    yield from map(escape, inputs(outcome))
    yield from ("", "## What it is for", "")
    yield (
        "For rows like those it was trained on. Whoever uses it for decisions about people should first measure "
        "it on their own rows (`raan audit`), and consider what its errors cost, and whom: no metric here does."
    )
    yield from ("", "## For the record", "")
    yield from (f"- {name}: \\_\\_\\_\\_\\_\\_\\_\\_" for name in TO_FILL_IN)
    yield from (f"- {name}: {escape(text)}" for name, text in describe_record(outcome).items())
    yield from ("", "## Trained on", "")
    trained, evaluated, test = facts.sizes
    said = f"{trained:,} rows were used to train and to choose, each evaluated by a model that had not seen it"
    if trained != evaluated:
        said = f"{trained:,} rows trained the models, and {evaluated:,} others, which they had not seen, chose"
    yield f"{said}; {test:,} test rows took no part in that."
    yield from ("", *_cells(outcome), "")
    yield f"Columns: {', '.join(map(escape, facts.columns))}."
    yield from ("", "## How it was chosen", "", *_choice(outcome))
    yield from ("", "## Expected for new rows", "", *_promise(outcome))
    if outcome.verdict.claims:
        yield from ("", "## What test rows say of the promise", "", *_claims(outcome))
    yield from ("", "## On test rows", "", *_figures(outcome))
    yield from ("", "## Limits", "", *(f"- {line}" for line in _limits(outcome)))
    if folder is not None:
        yield from ("", "## Use", "", *_use(folder))
    yield from ("", "## Made with", "")
    yield ", ".join(f"{name} {number}" for name, number in versions("scikit-learn").items()) + "."


def _cells(outcome: Outcome) -> Iterator[str]:
    """How many rows each class and group has, those of groups too small to evaluate included."""
    facts = outcome.facts
    yield f"| | {' | '.join(map(escape, facts.all_groups))} |"
    yield f"|---|{'---:|' * len(facts.all_groups)}"
    for name, row in zip(facts.classes, facts.cells, strict=True):
        yield f"| {escape(name)} | {' | '.join(f'{count:,}' for count in row)} |"


def _choice(outcome: Outcome) -> Iterator[str]:
    rule, facts = outcome.rule, outcome.facts
    best = "best" if rule.goal.more_is_better else "smallest"
    asked = f"the {best} {rule.goal.title}"
    asked += "".join(f", with {limit}" for limit in rule.limits)
    guard = "no guard"
    if rule.worst_group_drop is not None:
        guard = f"{WHO[rule.guard]} at most {100 * rule.worst_group_drop:g} points below its accuracy there"
    within = f" within {facts.minutes:g} minute{'' if facts.minutes == 1 else 's'}" if facts.minutes else ""
    yield (
        f"Trained{within}: {', '.join(facts.trained)}. "
        f"Asked for: {asked}, at most {budget(rule)} less than the best "
        f"plain model has, {facts.plain_method}, and {guard}, each at a confidence of "
        f"{NormalDist().cdf(rule.margin):.2g}. All of this was evaluated on held-out rows. Test rows took no "
        "part in the choice."
    )


def _promise(outcome: Outcome) -> Iterator[str]:
    """What new rows may expect, by held-out rows."""
    promise = outcome.promise
    yield "| on held-out rows | plain | this model |"
    yield "|---|---:|---:|"
    for measure in outcome.rule.measures:
        pair = (promise.plain[measure.metric], promise.metrics[measure.metric])
        yield _row(measure.title, pair)
    yield _row("accuracy lost", (None, promise.accuracy_loss))
    if outcome.rule.performance != ACCURACY.key:
        yield _row(f"{outcome.rule.currency.title} lost", (None, promise.performance_loss))


def _claims(outcome: Outcome) -> Iterator[str]:
    """Each claim of the promise with the verdict of the test rows."""
    yield "| claim | promised | on test rows | verdict |"
    yield "|---|---:|---:|---|"
    for claim in outcome.verdict.claims:
        note = f" ({claim.note})" if claim.note else ""
        yield f"| {claim.title} | {claim.promised} | {claim.shown} | {claim.status}{note} |"


def _figures(outcome: Outcome) -> Iterator[str]:
    """The metrics of the plain and the saved model with intervals, then each group's."""
    facts = outcome.facts
    places = dict.fromkeys((0, outcome.place))  # one, if the plain model is saved
    audits = [audit_counts(outcome.test[place], facts.classes, facts.groups) for place in places]
    heads = [f"plain: {facts.plain_method}", outcome.method][: len(audits)]
    yield f"| | {' | '.join(heads)} |"
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
        "In brackets: 95 % bootstrap intervals over rows. They do not show how another split or another "
        "start of training would have turned out. The equalized-odds gap is the sum of the differences in true "
        "and false positive rates."
    )


def _row(name: str, estimates: Sequence[Estimate | None]) -> str:
    return f"| {name} | {' | '.join('' if each is None else str(each).strip() for each in estimates)} |"


def _limits(outcome: Outcome) -> Iterator[str]:
    yield "One split of the rows was used: the intervals do not include the chance in it."
    yield "No groups were examined but those of the given attribute, nor how the labels came about."
    yield from map(escape, outcome.facts.notes)
    yield from map(escape, outcome.facts.warnings)


def _use(folder: str) -> Iterator[str]:
    folder = " ".join(folder.replace("`", "").split())
    yield "```"
    yield f"raan predict {shlex.quote(folder)} NEW_ROWS.csv --out predictions.csv"
    yield "```"
    yield ""
    yield "or in Python; the baseline, to check the claim, is in `plain` beside `model`"
    yield ""
    yield "```py"
    yield "import raan"
    yield ""
    yield f"model = raan.load({folder + '/model'!r})"
    yield 'model.predict("NEW_ROWS.csv")'
    yield "```"
