"""Figures as files."""

from xml.etree import ElementTree

import pytest

from drawn import colours
from raan.report.content import Content
from raan.report.figures import plain, write_figures
from report.records import METHODS, as_records, explanation, line, study

HOSTILE = r"_$x^{$ & % _ # { } ~ \ <b>"


def test_every_figure_is_written_as_png_and_svg(tmp_path):
    content = Content("", as_records(study(seeds=2, candidates=1)), explanation())
    written = write_figures(content, tmp_path / "figures")
    assert sorted(path.name for path in written if path.suffix == ".svg") == [
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
    assert sorted(path.stem for path in written if path.suffix == ".png") == sorted(
        {path.stem for path in written}
    )
    of_methods = [path for path in written if path.stem.endswith(("trade-off", "path", "groups"))]
    assert len(set.intersection(*(colours(path) for path in of_methods if path.suffix == ".png"))) >= 3
    for path in written:
        words = ("RAAN", "RL-RAAN", "GroupDRO") if path in of_methods else ("no · Female", "yes · Male")
        if path.suffix == ".png":
            assert len(colours(path)) >= 2, path.name
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
            assert {f"<!-- {word} -->" in path.read_text() for word in words} == {True}, path.name
    assert len(written) == 18


def test_names_are_no_formulas_no_paths_and_hide_nothing(tmp_path):
    names = {"classes": (HOSTILE, "1"), "attributes": (HOSTILE, "b")}
    lines = [
        line(method, seed, data=f"../{HOSTILE}", **names) for method in (HOSTILE, "Vanilla") for seed in (0, 1)
    ]
    content = Content("", as_records(lines), explanation(HOSTILE, **names, name=HOSTILE))
    written = write_figures(content, tmp_path)
    assert {path.parent for path in written} == {tmp_path}
    assert len({path.name for path in written}) == len(written) == 12
    drawn = next(path for path in written if path.name.endswith("trade-off.svg")).read_text()
    assert "&lt;b&gt;" in drawn


@pytest.mark.parametrize(("given", "shown"), [("a$b$", r"a\$b\$"), ("_x", " _x"), ("a_b", "a_b")])
def test_plain_text_is_plain(given, shown):
    assert plain(given) == shown


def test_more_methods_than_colours_still_have_a_line_each(tmp_path):
    methods = [*METHODS, *(f"method {number}" for number in range(16))]
    lines = [line(method, seed, points=4) for method in methods for seed in (0, 1)]
    written = write_figures(Content("", as_records(lines)), tmp_path)
    drawn = next(path for path in written if path.name.endswith("path.svg")).read_text()
    assert all(f"<!-- {method} -->" in drawn for method in methods)
