"""Figures as files: the page's own drawings."""

from xml.etree import ElementTree

from raan.report.charts import COLOURS, GLYPHS, colour, marker, range_of, ticks
from raan.report.content import Content
from raan.report.page import write_figures
from report.records import METHODS, as_records, explanation, line, study

HOSTILE = r"_$x^{$ & % _ # { } ~ \ <b>"


def test_every_figure_is_written_as_svg_with_names_and_colours(tmp_path):
    content = Content("", as_records(study(seeds=2, candidates=1)), explanation())
    written = write_figures(content, tmp_path / "figures")
    assert sorted(path.name for path in written) == [
        "meps-adam-groups.svg",
        "meps-adam-path.svg",
        "meps-adam-trade-off.svg",
        "meps-plain-training-map.svg",
        "meps-raan-weights.svg",
        "meps-rl-raan-map.svg",
        "meps-sgd-groups.svg",
        "meps-sgd-path.svg",
        "meps-sgd-trade-off.svg",
    ]
    for path in written:
        of_methods = path.stem.endswith(("trade-off", "path", "groups"))
        words = ("RAAN", "RL-RAAN", "GroupDRO") if of_methods else ("Female", "Male")
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg")
        shown = " ".join(each.text or "" for each in root.iter() if each.tag.endswith("text"))
        assert all(word in shown for word in words), path.name
        assert all(value in path.read_text() for value in COLOURS)


def test_names_are_no_markup_no_paths_and_hide_nothing(tmp_path):
    names = {"classes": (HOSTILE, "1"), "attributes": (HOSTILE, "b")}
    lines = [
        line(method, seed, data=f"../{HOSTILE}", **names) for method in (HOSTILE, "Vanilla") for seed in (0, 1)
    ]
    content = Content("", as_records(lines), explanation(HOSTILE, **names, name=HOSTILE))
    written = write_figures(content, tmp_path)
    assert {path.parent for path in written} == {tmp_path}
    assert len({path.name for path in written}) == len(written) == 6
    for path in written:
        assert "<b>" not in path.read_text()
        ElementTree.parse(path)


def test_more_methods_than_colours_differ_by_marker(tmp_path):
    methods = [*METHODS, *(f"method {number}" for number in range(16))]
    looks = {(colour(number), marker(number)) for number in range(len(methods))}
    assert len(looks) == len(methods)
    assert len(GLYPHS) == len(COLOURS)
    lines = [line(method, seed, points=4) for method in methods for seed in (0, 1)]
    written = write_figures(Content("", as_records(lines)), tmp_path)
    drawn = next(path for path in written if path.name.endswith("path.svg")).read_text()
    assert all(f">{method}<" in drawn for method in methods)


def test_ticks_are_round_numbers_within_the_range():
    for low, high in ((0, 1), (-3.2, 7.9), (84.31, 84.47), (0, 131_072), (-1e-9, 1e-9)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 7
        assert all(low <= each <= high for each in found)
    low, high = range_of([1.0, float("nan"), 3.0])
    assert low < 1 < 3 < high
    assert range_of([]) != (0, 0)
