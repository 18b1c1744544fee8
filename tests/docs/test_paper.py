import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "paper.md").read_text()
CLAIMS = re.findall(r"^\| (Eq\. \(\d\)|Alg\. \d) \|.*\| `(raan\.[\w.]+)` \|$", PAGE, flags=re.M)
NUMBERED = [f"Eq. ({number})" for number in range(1, 9)] + [f"Alg. {number}" for number in range(1, 4)]


def test_each_equation_and_algorithm_is_claimed_exactly_once():
    assert [name for name, _ in CLAIMS] == NUMBERED


@pytest.mark.parametrize(("name", "home"), CLAIMS)
def test_the_function_that_is_named_says_so_itself(name, home):
    module, _, function = home.rpartition(".")
    assert name in getattr(import_module(module), function).__doc__


def test_every_function_named_on_the_page_exists():
    for home in re.findall(r"`(raan(?:\.\w+)+)", PAGE):
        parts = home.split(".")
        thing = import_module("raan")
        for depth, part in enumerate(parts[1:], start=2):
            try:
                thing = getattr(thing, part)
            except AttributeError:
                thing = import_module(".".join(parts[:depth]))
