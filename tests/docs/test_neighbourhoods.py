"""When to use neighbourhoods: the page is written from the lines, its figures once more by loops, fair draws."""

import json
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest

from reproduce import neighbourhoods, neighbourhoods_told
from reproduce.mixtures import MIXTURES, Rows, correlated, few, natural

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("as_users_call")


def lines():
    return [json.loads(line) for line in (ROOT / "results" / "neighbourhoods.jsonl").read_text().splitlines()]


def worst(counts):
    """The smallest share of a cell's rows that are given their own class."""
    shares = [cell[y] / sum(cell) for y, of_class in enumerate(counts) for cell in of_class]
    return 100 * min(shares)


def source(rows=3000):
    rng = np.random.default_rng(0)
    return Rows(np.arange(rows)[:, None].astype(float), rng.integers(0, 2, rows), rng.integers(0, 2, rows))


def test_the_page_is_what_the_command_writes():
    expected = neighbourhoods_told.written()
    assert neighbourhoods_told.PAGE.read_text(encoding="utf-8") == expected, (
        "run python -m reproduce.neighbourhoods --table"
    )


def test_every_mixture_has_the_same_seeds_and_every_line_all_families():
    seeds = {}
    for line in lines():
        seeds.setdefault((line["kind"], line["data"], line["title"]), []).append(line["seed"])
        for chosen in line["chosen"].values():
            assert list(chosen) == list(neighbourhoods.FAMILIES)
    assert set(seeds) == {mixture[:3] for mixture in MIXTURES}
    assert len({tuple(several) for several in seeds.values()}) == 1


def test_the_differences_are_paired_means_with_their_standard_errors():
    for mixture in MIXTURES:
        own = [line for line in lines() if (line["kind"], line["data"], line["title"]) == mixture[:3]]
        for rival in neighbourhoods_told.RIVALS:
            chosen = [line["chosen"]["free"] for line in own]
            shifts = [worst(each["neighbourhoods"]) - worst(each[rival]) for each in chosen]
            told = neighbourhoods_told.gain(own, "free", rival)
            assert told.mean == pytest.approx(fmean(shifts))
            assert told.error == pytest.approx(stdev(shifts) / len(shifts) ** 0.5)


@pytest.mark.parametrize(
    ("draw", "cells"),
    [
        (lambda seed: correlated(source, 0.1, 400, seed), [[180, 20], [20, 180]]),
        (lambda seed: few(source, 10, seed), [[300, 10], [10, 300]]),
    ],
)
def test_a_mixture_has_the_cells_that_it_says_and_no_row_in_two_parts(draw, cells):
    train, validation, test = draw(3)
    for rows, wanted in ((train, np.array(cells)), (validation, np.array(cells) // 2)):
        found = [[int(((rows.y == y) & (rows.a == a)).sum()) for a in (0, 1)] for y in (0, 1)]
        assert found == wanted.tolist()
    drawn = np.concatenate([part.X[:, 0] for part in (train, validation, test)])
    assert len(np.unique(drawn)) == len(drawn)
    assert not np.array_equal(train.X, draw(4)[0].X)


def test_rows_as_they_come_are_all_used_once():
    parts = natural(source, 1000, 0)
    assert [len(part.y) for part in parts] == [1000, 500, 1500]
    assert sorted(np.concatenate([part.X[:, 0] for part in parts])) == list(range(3000))


def test_a_cell_with_too_few_rows_is_refused():
    with pytest.raises(ValueError, match=r"class 0 with attribute 0 has \d+ rows; 500 are needed"):
        few(lambda: source(600), 10, 0)


@pytest.mark.filterwarnings("ignore:the classifier is the plain one", "ignore:accuracy_drop=1")
def test_all_families_choose_on_validation_rows():
    """With test rows' labels turned round, every family chooses as before: their counts are only relabelled."""
    parts = correlated(source, 0.1, 200, 0)
    rng = np.random.default_rng(1)
    train, validation, test = (
        part._replace(X=np.c_[part.y, part.a] + rng.normal(0, 1, (len(part.y), 2))) for part in parts
    )
    honest = neighbourhoods.measure(neighbourhoods.Bench((train, validation, test)))
    turned = neighbourhoods.measure(neighbourhoods.Bench((train, validation, test._replace(y=1 - test.y))))
    for allowance, chosen in honest["chosen"].items():
        for name, counts in chosen.items():
            assert turned["chosen"][allowance][name] == counts[::-1]


def gains(kind, allowance, rival):
    several = [neighbourhoods_told.of(lines(), mixture) for mixture in MIXTURES if mixture.kind == kind]
    return [neighbourhoods_told.gain(own, allowance, rival) for own in several]


def test_at_any_accuracy_neighbourhoods_add_nothing_to_cell_weights():
    for kind in ("correlated", "few", "natural"):
        found = gains(kind, "free", "cells")
        assert abs(fmean(each.mean for each in found)) < 2
        assert sum(each.settled for each in found) <= 1


def test_within_a_point_they_are_ahead_in_the_mean_under_correlation():
    for kind in ("correlated", "few"):
        for rival in ("cells", "FairFrontier"):
            found = gains(kind, "within a point", rival)
            assert fmean(each.mean for each in found) > 3
            assert any(each.settled and each.mean > 0 for each in found)


def test_with_four_groups_frontier_is_ahead_and_as_they_come_as_good():
    for allowance in neighbourhoods.DROPS:
        assert all(each.settled and each.mean < 0 for each in gains("groups", allowance, "FairFrontier"))
        assert not any(each.settled for each in gains("natural", allowance, "FairFrontier"))


def test_untuned_a_small_temperature_helps_on_text_and_harms_as_they_come():
    found = {mixture[:3]: neighbourhoods_told.of(lines(), mixture) for mixture in MIXTURES}
    for (kind, data, _), own in found.items():
        shift = neighbourhoods_told.shape(own, "0.05")
        if data.startswith("text, "):
            assert shift.settled
            assert shift.mean > 2
        if kind == "natural" and data != "MEPS":
            assert shift.mean < -9
