"""Write the numbers of the docs from the committed results: docs/results/*.md and the README's tables.

`make results` runs it; a test fails when what it would write is not what is there.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from raan.report.content import Content, Paper
from raan.report.inputs import load
from raan.report.outline import readings_of
from raan.report.pictures import told
from raan.report.reading import Reading
from raan.report.text import markdown_report
from raan.report.words import headline
from raan.study.study import read_study

ROOT = Path(__file__).parents[1]
STUDIES, RESULTS, PAGES = ROOT / "studies", ROOT / "results", ROOT / "docs" / "results"
BEGIN, END = "<!-- results of {} -->", "<!-- end -->"


def written() -> dict[Path, str]:
    """Every file that holds numbers of results, with the text that it must have."""
    pages = {PAGES / f"{file.stem}.md": _page(file) for file in _with_results()}
    return {**pages, PAGES / "README.md": _index(), ROOT / "README.md": _readme()}


def _with_results() -> list[Path]:
    """The comparisons of which there are runs."""
    files = (file for file in sorted(STUDIES.glob("*.toml")) if read_study(file).kind == "comparison")
    there = [file for file in files if (RESULTS / f"{read_study(file).results}.jsonl.gz").exists()]
    return [file for file in there if _content(file).records]


@cache
def _content(file: Path) -> Content:
    """What a study's report is made from."""
    return load([file], results=RESULTS)


def _page(file: Path) -> str:
    """A study's report in Markdown, with the command that makes it."""
    name = file.relative_to(ROOT)
    text = markdown_report(_content(file))
    return f"{text}\nMade by `raan study {name}` and `raan report {name} --format md`.\n"


def _index() -> str:
    """The pages, each with what it says first."""
    lines = ["# Results", "", "Written from the runs under results/ by `make results`; nothing here is typed.", ""]
    for file in _with_results():
        content = _content(file)
        lines += [f"## [{content.title}]({file.stem}.md)", ""]
        lines += [f"- {reading.name}: {headline(reading)}" for reading in readings_of(content)]
        lines += [""]
    for file in sorted(RESULTS.glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        if "kind" in content:
            lines += [f"## {content['title']}", "", *(f"- {line}" for line in told(content)), ""]
            lines += [f"![{content['title']}](../images/{file.stem}.png)", ""]
    return "\n".join(lines)


def _readme() -> str:
    """The README with its tables filled in."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for file in _with_results():
        begin = BEGIN.format(file.stem) + "\n"
        before, _, rest = text.partition(begin)
        if rest:
            table = "\n".join(_summary(file))
            text = f"{before}{begin}\n{table}\n\n{END}{rest.partition(END)[2]}"
    return text


def _summary(file: Path) -> Iterator[str]:
    """A row for each method: accuracy and worst group in every data set and style, the paper's beside it."""
    content = _content(file)
    readings = readings_of(content)
    names = dict.fromkeys(name for reading in readings for name in reading.comparison.methods)
    yield "| | " + " | ".join(f"{reading.name} | the paper" for reading in readings) + " |"
    yield "|---" * (1 + 2 * len(readings)) + "|"
    for name in names:
        cells = [cell for reading in readings for cell in _cells(reading, name, content.paper or {})]
        yield f"| {name} | " + " | ".join(cells) + " |"


def _cells(reading: Reading, name: str, paper: Paper) -> tuple[str, str]:
    """Ours, accuracy in brackets, and the paper's."""
    comparison = reading.comparison
    theirs = paper.get((comparison.data, comparison.style, name))
    told = f"{theirs[0]:.1f} ± {theirs[1]:.1f}" if theirs else ""
    if name not in reading.chosen:
        return "", told
    test = reading.chosen[name].test
    worst, accuracy = 100 * test.worst_group_accuracy, 100 * test.accuracy
    return f"{worst.mean():.1f} ± {worst.std():.1f} ({accuracy.mean():.1f})", told


def main() -> None:
    """Write what has changed."""
    for path, text in written().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
