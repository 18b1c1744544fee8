"""Write the numbers of the docs from the committed results: docs/results/*.md and the tables of README and guides.

`make results` runs it; a test fails when what it would write is not what is there.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from raan.fairness.measures import AIMS as AIMED
from raan.fairness.measures import MEASURES
from raan.lab.results.statistics import level, lost
from raan.lab.results.summary import Comparison
from raan.lab.studies import FOLDER
from raan.lab.study.study import read_study
from raan.report.content import Content, Paper, load
from raan.report.outline import comparisons_of, markdown_report
from raan.report.sheets import in_paper
from raan.report.tables import spread, two_places
from raan.report.words import headline, significance
from reproduce import celeba_end_to_end, celeba_page, coverage, frontier, goals
from reproduce.figures.draw import told
from reproduce.reweighting import AIMS, COMPARED, DROPS, METRICS, read, summaries

ROOT = Path(__file__).parents[1]
RESULTS, PAGES = ROOT / "results", ROOT / "docs" / "results"
BEGIN, MEASURED, END = "<!-- results of {} -->", "<!-- measures of {} -->", "<!-- end -->"
PAPER = ROOT / "docs" / "the-papers-tables.md"
TABULAR = ROOT / "docs" / "guides" / "tabular.md"
FRONTIER = ROOT / "docs" / "benchmarks.md"
COVERAGE = ROOT / "docs" / "coverage.md"
GOALS = ROOT / "docs" / "goals.md"
TITLES = {"adult": "Adult", "meps": "MEPS"}
BRIEF = ("plain", "OxonFair", "OxonFair on our posterior", "FairFrontier")
"""The methods of the README's table."""
NAMES = {
    "equalized_odds": "equalized-odds gap",
    "demographic_parity": "demographic-parity gap",
    "worst_group": "worst group",
}


def written() -> dict[Path, str]:
    """Every file that holds numbers of results, with the text that it must have."""
    pages = {PAGES / f"{file.stem}.md": _page(file) for file in _with_results()}
    through = celeba_page.page()
    if through:
        pages[PAGES / "celeba-end-to-end.md"] = through
    return {
        **pages,
        PAGES / "README.md": _index(),
        **{path: _with_tables(path) for path in (ROOT / "README.md", PAPER)},
        TABULAR: _with_comparisons(TABULAR.read_text(encoding="utf-8")),
        FRONTIER: _with_frontiers(FRONTIER.read_text(encoding="utf-8")),
        COVERAGE: _with_parts(COVERAGE, coverage.TABLES, coverage.read()),
        GOALS: _with_parts(GOALS, goals.PARTS, goals.read()),
    }


def _with_results() -> list[Path]:
    """The comparisons of which there are runs."""
    files = (file for file in sorted(FOLDER.glob("*.toml")) if read_study(file).kind == "comparison")
    there = [file for file in files if (RESULTS / f"{read_study(file).results}.jsonl.gz").exists()]
    return [file for file in there if _content(file).records]


@cache
def _content(file: Path) -> Content:
    """What a study's report is made from."""
    return replace(load([file], results=RESULTS), title=read_study(file).title)


def _page(file: Path) -> str:
    """A study's report in Markdown, with the command that makes it."""
    name, text = file.stem, markdown_report(_content(file))
    return f"{text}\nMade by `raan study {name}` and `raan report {name} --format md`.\n"


def _index() -> str:
    """The pages, each with what it says first."""
    lines = ["# Results", "", "Written from the runs under results/ by `make results`; nothing here is typed.", ""]
    lines += ["[What differs from the paper](../the-papers-tables.md): objective, data, optimisation, splits.", ""]
    for file in _with_results():
        content = _content(file)
        lines += [f"## [{content.title}]({file.stem}.md)", ""]
        lines += [
            f"- {comparison.name}: {headline(comparison)} {significance(comparison)}"
            for comparison in comparisons_of(content)
        ]
        lines += [""]
    if celeba_page.page():
        lines += ["## [CelebA, trained through](celeba-end-to-end.md)", ""]
        lines += [
            "- A ResNet-18 end to end beside frozen features, by the same methods, hyperparameters and rule."
        ]
        lines += [f"- {celeba_page.verdict(celeba_page.differences(celeba_end_to_end.read()))}", ""]
    for file in sorted(RESULTS.glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        if "kind" in content:
            lines += [f"## {content['title']}", "", *(f"- {line}" for line in told(content)), ""]
            lines += [f"![{content['title']}](../images/{file.stem}.png)", ""]
    return "\n".join(lines)


def _with_tables(path: Path) -> str:
    """A page with its tables filled in."""
    text = path.read_text(encoding="utf-8")
    for file in _with_results():
        if BEGIN.format(file.stem) in text:
            text = _filled(text, BEGIN.format(file.stem), "\n".join(_summary(file)))
        if MEASURED.format(file.stem) in text:
            text = _filled(text, MEASURED.format(file.stem), "\n".join(_every_measure(file)))
    return _with_frontiers(_with_comparisons(text))


def _with_parts(path: Path, parts: Mapping[str, Any], records: list[dict[str, Any]]) -> str:
    """A page with the tables of a module of `reproduce`."""
    text = path.read_text(encoding="utf-8")
    for name, lines in parts.items():
        text = _filled(text, BEGIN.format(name), "\n".join(lines(records)))
    return text


def _with_frontiers(text: str) -> str:
    """The text with the comparisons of FairFrontier that it has places for."""
    records = frontier.read()
    if not records:
        return text
    if BEGIN.format("the README") in text:
        text = _filled(text, BEGIN.format("the README"), "\n".join(_brief(records)))
    for estimator, regime, drop in product(("boosting", "logistic"), ("unseen", "input", "known"), (0.005, 0.02)):
        name = f"FairFrontier over {estimator}, {regime}, within {drop}"
        if BEGIN.format(name) in text:
            text = _filled(text, BEGIN.format(name), "\n".join(_rivals(records, estimator, regime, drop)))
    return text


def _brief(records: list[dict[str, Any]]) -> Iterator[str]:
    """The README's table: two aims over boosting within half a point, and where another method is ahead."""
    found = {aim: dict(frontier.summarise(records, frontier.Asked(aim, 0.005, 0.0))) for aim in frontier.AIMED}
    yield f"| | {' | '.join(BRIEF)} |"
    yield "|---" * (1 + len(BRIEF)) + "|"
    for data, aim in product(TITLES, ("equalized_odds", "worst_group")):
        cells = [found[aim][data, False, "boosting", method] for method in BRIEF]
        shown = (f"{cell.aim:.1f} ± {cell.error:.1f} ({cell.lost:.2f})" for cell in cells)
        yield f"| {TITLES[data]}, {NAMES[aim]} (%) | {' | '.join(shown)} |"
    ahead: list[str] = []
    for method in sorted({key[3] for key in found["worst_group"]} - {"FairFrontier", *frontier.KNOWN}):
        pairs = [
            (AIMED[aim].gain(cells[data, False, "boosting", method].aim - own.aim), own, data, aim)
            for aim, cells in found.items()
            for data in TITLES
            for own in [cells[data, False, "boosting", "FairFrontier"]]
            if (data, False, "boosting", method) in cells
        ]
        better = [(own, data, aim) for gain, own, data, aim in pairs if gain > 0]
        if better:
            more = [found[aim][data, False, "boosting", method].lost - own.lost for own, data, aim in better]
            ahead.append(
                f"{method} in {len(better)} of {len(pairs)} rows ({min(more):+.2f} to {max(more):+.2f} points)"
            )
    text = f"{'; '.join(ahead)}." if ahead else "in no row."
    yield f"\n**Where it is not ahead** in the full table, with the accuracy lost against FairFrontier: {text}"


def _rivals(records: list[dict[str, Any]], estimator: str, regime: str, drop: float) -> Iterator[str]:
    """A row for each data set and aim: what every method of the regime reaches with the floor on test rows."""
    kept = regime == "input"
    found = {aim: dict(frontier.summarise(records, frontier.Asked(aim, drop, 0.0))) for aim in frontier.AIMED}
    own = (
        ("plain", *frontier.KNOWN)
        if regime == "known"
        else (m for m in frontier.METHODS if m not in frontier.KNOWN)
    )
    there = {key[3] for cells in found.values() for key in cells if key[1:3] == (kept, estimator)}
    methods = [method for method in own if method in there]
    splits = {
        cell.splits for cells in found.values() for key, cell in cells.items() if key[1:3] == (kept, estimator)
    }
    yield f"| {min(splits)} splits: aim ± s.e. (lost; worst group) | {' | '.join(methods)} |"
    yield "|---" * (1 + len(methods)) + "|"
    for data, aim in product(TITLES, frontier.AIMED):
        cells = [found[aim][data, kept, estimator, method] for method in methods]
        shown = (f"{cell.aim:.1f} ± {cell.error:.1f} ({cell.lost:.2f}; {cell.worst:.1f})" for cell in cells)
        yield f"| {TITLES[data]}, {NAMES[aim]} | {' | '.join(shown)} |"
    for data in TITLES:
        fits = (f"{found['worst_group'][data, kept, estimator, method].fits:.1f}" for method in methods)
        yield f"| {TITLES[data]}, plain fits for all aims | {' | '.join(fits)} |"


def _with_comparisons(text: str) -> str:
    """The text with the comparisons of AANReweighting that it has places for."""
    found = dict(summaries(read()))
    for estimator, drop in product(("logistic", "boosting"), DROPS):
        name = f"{estimator} within {drop}"
        if BEGIN.format(name) in text:
            text = _filled(text, BEGIN.format(name), "\n".join(_compared(found, estimator, drop)))
    return text


def _compared(found: Mapping[Any, np.ndarray], estimator: str, drop: float) -> Iterator[str]:
    """A row for each data set and aim: the aim's metric of every method on test rows, accuracy in brackets."""
    yield f"| test rows, % (accuracy) | {' | '.join(COMPARED)} |"
    yield "|---" * (1 + len(COMPARED)) + "|"
    for data, (aim, metric) in product(TITLES, AIMS.items()):
        rows = [found[data, True, estimator, aim, drop, method] for method in COMPARED]
        means = np.array([each[:, METRICS.index(metric)].mean() for each in rows])
        best = means.argmax() if aim == "worst_group" else means.argmin()
        cells = [_cell(each, METRICS.index(metric), place == best) for place, each in enumerate(rows)]
        yield f"| {TITLES[data]}, {NAMES[aim]} | {' | '.join(cells)} |"
    for data in TITLES:
        seconds = [
            np.mean([found[data, True, estimator, aim, drop, method][:, -1].mean() for aim in AIMS])
            for method in COMPARED
        ]
        yield f"| {TITLES[data]}, seconds of one core | {' | '.join(f'{each:.1f}' for each in seconds)} |"


def _cell(rows: np.ndarray, column: int, best: bool) -> str:
    """Mean and standard deviation over the splits, and the mean accuracy."""
    spread = f" ± {rows[:, column].std(ddof=1):.1f}" if len(rows) > 1 else ""
    shown = f"{rows[:, column].mean():.1f}{spread}"
    return f"{f'**{shown}**' if best else shown} ({rows[:, METRICS.index('accuracy')].mean():.1f})"


def _filled(text: str, mark: str, table: str) -> str:
    """Return the text with the table after the mark, up to the next end mark."""
    begin = f"{mark}\n"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{table}\n\n{END}{rest.partition(END)[2]}"


def _summary(file: Path) -> Iterator[str]:
    """A row for each method: its worst group in every data set and style, what was lost, the paper's beside it."""
    content = _content(file)
    comparisons, paper = comparisons_of(content), content.paper or {}
    names = dict.fromkeys(name for comparison in comparisons for name in comparison.methods)
    titles = [title for comparison in comparisons for title in (comparison.name, *["in the paper"] * bool(paper))]
    yield f"| ± s.d. (lost) | {' | '.join(titles)} |"
    yield "|---" * (1 + len(titles)) + "|"
    for name in names:
        cells = [cell for comparison in comparisons for cell in _cells(comparison, name, paper)]
        yield f"| {name} | {' | '.join(cells)} |"


def _cells(comparison: Comparison, name: str, paper: Paper) -> Iterator[str]:
    """What a method reaches, in brackets the points of accuracy lost on test rows; then what the paper prints."""
    choice = comparison.chosen.get(name)
    yield (
        f"{spread(level(choice, comparison.aim))} ({two_places(lost(comparison, choice).mean)})" if choice else ""
    )
    if paper:
        yield in_paper(comparison, name, comparison.aim, paper)


def _every_measure(file: Path) -> Iterator[str]:
    """Yield a table with a row for each data set and method of the paper: its figures beside ours."""
    content = _content(file)
    paper = content.paper or {}
    printed = [measure for measure in MEASURES if any(key[3] == measure.metric for key in paper)]
    titles = [f"{measure.short} % | in the paper" for measure in printed]
    yield f"| data | method | {' | '.join(titles)} |"
    yield "|---" * (2 + 2 * len(printed)) + "|"
    for comparison in comparisons_of(content):
        for name, choice in comparison.chosen.items():
            theirs = [in_paper(comparison, name, measure, paper) for measure in printed]
            if any(theirs):
                ours = [spread(level(choice, measure)) for measure in printed]
                cells = [f"{own} | {other}" for own, other in zip(ours, theirs, strict=True)]
                yield f"| {comparison.data} | {name} | {' | '.join(cells)} |"


def main() -> None:
    """Write what has changed."""
    for path, text in written().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
