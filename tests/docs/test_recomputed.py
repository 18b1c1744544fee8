"""The headline tables as they are printed, against a literal recomputation that imports nothing of raan."""

import json
import re
from statistics import NormalDist

import numpy as np
import pytest

import recomputed as again

TABLE_2 = [(data, style) for style in ("adam", "sgd") for data in ("meps", "adult")]
TABLE_3 = [f"{name} (Measuring Hate Speech)" for name in ("Black", "Muslim", "NeuroDiv", "LGBTQ")]
CELEBA = "CelebA, first 10,000 images"
MARGIN = NormalDist().inv_cdf(0.9)
EQUAL = [
    *(("equal-budgets", data, "adam", 0.5, MARGIN) for data in ("meps", "adult")),
    *(
        ("equal-budgets-unseen", data, "adam", 0.5, MARGIN)
        for data in ("meps without race", "adult without gender")
    ),
    *(("equal-budgets-sgd", data, "sgd", 0.5, MARGIN) for data in ("meps", "adult")),
    *(("equal-budgets-text", data, "adam", 100, None) for data in TABLE_3),
    ("equal-budgets-celeba", CELEBA, "adam", 0.5, MARGIN),
]
SHOWN = ("accuracy %", "worst group %", "DP gap %", "EO gap %", "EOpp gap %")


def spread(values):
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"


def lost(name, data, style, choice):
    return (again.plain(name, data, style)[:, 0] - choice[:, 0]).mean()


def assert_levels(printed, name, data, style, method, choice):
    """A row of a page: mean and deviation of every metric, and what was lost."""
    for column, values in zip(SHOWN, choice.T, strict=True):
        assert printed[column].split(" (")[0] == spread(values), (data, style, method, column)
    shown = float(printed["lost (on validation rows)"].split(" (")[0])
    assert shown == pytest.approx(lost(name, data, style, choice), abs=0.00501)


def test_the_papers_table_2():
    table = again.table_in("docs/the-papers-tables.md", "<!-- results of table-2 -->")
    methods = again.methods_of("table-2", "meps", "adam")
    assert list(table) == methods
    for data, style in TABLE_2:
        for method in methods:
            choice = again.chosen("table-2", data, style, method)
            shown, in_brackets = re.fullmatch(r"(.*) \((.*)\)", table[method][f"{data}, {style}"]).groups()
            assert shown == spread(choice[:, 1])
            assert float(in_brackets) == pytest.approx(lost("table-2", data, style, choice), abs=0.00501)


@pytest.mark.parametrize(("data", "style"), TABLE_2)
def test_the_page_of_table_2(data, style):
    page = "docs/results/table-2.md"
    levels = again.table_in(page, f"{data}, {style}: test rows")
    for method in again.methods_of("table-2", data, style):
        choice = again.chosen("table-2", data, style, method)
        assert_levels(levels[method], "table-2", data, style, method, choice)
    losses = again.table_in(page, f"{data}, {style}: worst group in percent at so many points")
    for method, loss in ((m, x) for m in ("RL-RAAN", "GroupDRO", "RAAN", "Vanilla") for x in (0.5, 1, 2)):
        found = again.at_loss("table-2", data, style, method, loss)
        assert losses[method][f"{loss:g} lost"] == ("–" if found is None else f"{found:.1f}")


@pytest.mark.parametrize(("data", "style"), TABLE_2)
def test_what_fewer_configurations_reach_is_the_mean_over_random_subsets_up_to_their_noise(data, style):
    table = again.table_in("docs/results/table-2.md", f"{data}, {style}: worst group in percent with so many")
    for method in ("RL-RAAN", "RAAN", "GroupDRO", "RL-EOR"):
        for size in (3, 9, 15):
            drawn = again.with_subsets("table-2", data, style, method, size)
            assert float(table[method][f"{size} configurations"]) == pytest.approx(drawn, abs=0.5)
    for method, given in (("Balancing only", 3), ("RL-Balancing only", 3), ("RL-RAAN", 90)):
        assert table[method]["all"].endswith(f"({given})")


@pytest.mark.parametrize("data", TABLE_3)
def test_table_3_and_its_gains_over_erm_under_the_same_rule(data):
    page = "docs/results/table-3.md"
    levels = again.table_in(page, f"{data}, adam: test rows")
    gains = again.table_in(page, f"{data}, adam: differences")
    plain = again.chosen("table-3", data, "adam", "ERM", 100)
    for method in again.methods_of("table-3", data, "adam"):
        choice = again.chosen("table-3", data, "adam", method, 100)
        assert_levels(levels[method], "table-3", data, "adam", method, choice)
        if method != "ERM":
            gain = float(gains[method]["worst group against ERM"].split(" (")[0])
            assert gain == pytest.approx((choice - plain)[:, 1].mean(), abs=0.0501)


def test_the_smallest_cells_of_table_3_are_as_small_as_the_page_says():
    lines = [line for line in _lines("docs/results/table-3.md") if line.startswith("- ")]
    for data in TABLE_3:
        (said,) = (line for line in lines if line.startswith(f"- {data}"))
        for part in ("validation", "test"):
            rows = [
                np.array(again.runs_of("table-3")[data, "adam", "ERM", seed][0][0][part][0])
                .reshape(2, 3, 2)[:, :2]
                .sum(-1)
                .min()
                for seed in again.seeds_of("table-3", data, "adam", "ERM")
            ]
            span = f"{min(rows)}" if min(rows) == max(rows) else f"{min(rows)} to {max(rows)}"
            assert f"{span} {part} rows" in said


@pytest.mark.parametrize("style", ["adam", "sgd"])
def test_celeba(style):
    levels = again.table_in("docs/results/celeba.md", f"{CELEBA}, {style}: test rows")
    for method in again.methods_of("celeba", CELEBA, style):
        choice = again.chosen("celeba", CELEBA, style, method)
        assert_levels(levels[method], "celeba", CELEBA, style, method, choice)


@pytest.mark.parametrize(("name", "data", "style", "allowed", "margin"), EQUAL)
def test_equal_budgets(name, data, style, allowed, margin):
    levels = again.table_in(f"docs/results/{name}.md", f"{data}, {style}: test rows")
    brief = again.table_in("docs/the-papers-tables.md", f"<!-- results of {name} -->")
    methods = again.methods_of(name, data, style)
    assert list(brief) == methods
    for method in methods:
        given = len(again.configurations(name, data, style, method))
        assert given == (1 if method in ("Plain + threshold", "FairFrontier") else 15)
        choice = again.chosen(name, data, style, method, allowed, margin)
        assert_levels(levels[method], name, data, style, method, choice)
        shown, in_brackets = re.fullmatch(r"(.*) \((.*)\)", brief[method][f"{data}, {style}"]).groups()
        assert shown == spread(choice[:, 1])
        assert float(in_brackets) == pytest.approx(lost(name, data, style, choice), abs=0.00501)


def test_the_guides_table_of_fair_frontier():
    table = again.table_in(
        "docs/benchmarks.md", "<!-- results of FairFrontier over boosting, unseen, within 0.005 -->"
    )
    lines = map(json.loads, (again.RESULTS / "frontier.jsonl").read_text(encoding="utf-8").splitlines())
    runs = {
        (run["data"], run["seed"], run["method"]): run["test"]
        for run in lines
        if run["estimator"] == "boosting" and not run["attribute_kept"]
    }
    seeds = sorted({seed for _, seed, _ in runs})
    aims = {"equalized-odds gap": "equalized_odds", "demographic-parity gap": "demographic_parity"}
    for (data, title), (words, aim) in (
        (d, a)
        for d in (("adult", "Adult"), ("meps", "MEPS"))
        for a in (*aims.items(), ("worst group", "worst_group"))
    ):
        key, row = f"{aim} 0.005 floor", table[f"{title}, {words}"]
        for method, cell in row.items():
            reached, before = (_measured(runs, data, seeds, each, key) for each in (method, "plain"))
            goal = reached[:, {"equalized_odds": 3, "demographic_parity": 2, "worst_group": 1}[aim]]
            error = goal.std(ddof=1) / np.sqrt(len(goal))
            shown = [float(number) for number in re.findall(r"-?\d+\.\d+", cell)]
            expected = [goal.mean(), error, (before - reached)[:, 0].mean(), reached[:, 1].mean()]
            assert np.allclose(shown, expected, rtol=0, atol=[0.0501, 0.0501, 0.00501, 0.0501])


def _measured(runs, data, seeds, method, key):
    """Test metrics of each split; the counts have no place for an unknown attribute."""
    cells = (np.array(runs[data, seed, method][key]) for seed in seeds)
    return np.stack([again.measured([np.pad(each, ((0, 0), (0, 1), (0, 0))).ravel()])[0] for each in cells])


def _lines(path):
    return (again.RESULTS.parent / path).read_text(encoding="utf-8").split("\n")
