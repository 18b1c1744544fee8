"""The report's tables as one Markdown or LaTeX text, for papers and pull requests."""

from raan.report.content import Content
from raan.report.outline import Outline, outline
from raan.report.tables import escape_markdown, latex, markdown
from raan.text import replace_controls


def markdown_report(content: Content) -> str:
    """Headlines and tables in Markdown."""
    whole = outline(content)
    said = "\n".join(f"- {escape_markdown(line)}" for line in _lines(whole))
    tables = "\n".join(map(markdown, whole.tables))
    return f"# {escape_markdown(whole.title)}\n\n{said}\n\n{tables}"


def latex_report(content: Content) -> str:
    """Tables in LaTeX, the headlines as comments above them."""
    whole = outline(content)
    said = "\n".join(f"% {' '.join(replace_controls(line).split())}" for line in (whole.title, *_lines(whole)))
    return f"% Needs the package booktabs.\n{said}\n\n" + "\n".join(map(latex, whole.tables))


def _lines(whole: Outline) -> list[str]:
    """What the report says in words: notes, then for each section its headline and how sure it is."""
    of_sections = [
        " ".join(filter(None, (f"{each.name}: {each.headline}", each.sureness, each.regime, *each.caveats)))
        for each in whole.sections
    ]
    rules = dict.fromkeys(f"Reported is the point with {section.rule}." for section in whole.sections)
    return [*whole.notes, *of_sections, *rules]
