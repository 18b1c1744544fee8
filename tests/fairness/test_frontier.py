"""A trade-off as a table, a plot and a choice."""

import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure

from raan.fairness.frontier import Frontier, keep_undominated
from raan.fairness.measures import Limit
from raan.fairness.metrics import NAMES
from raan.fairness.rule import Rule


def make(points=30, reference=0, rule=Rule("equalized_odds", 0.1), seed=0):
    counts = np.random.default_rng(seed).integers(1, 40, (points, 2, 3, 2)).astype(np.float64)
    return Frontier(tuple({"threshold": place / points} for place in range(points)), counts, rule, reference)


def test_no_kept_point_is_bettered_by_another_in_both():
    rng = np.random.default_rng(0)
    for _ in range(50):
        accuracy, value = rng.integers(0, 8, (2, 20)) / 8
        value[rng.random(20) < 0.2] = np.nan
        kept = keep_undominated(accuracy, value)
        defined = np.flatnonzero(~np.isnan(value))
        for place in kept:
            assert not any(accuracy[o] >= accuracy[place] and value[o] > value[place] for o in defined)
            assert not any(accuracy[o] > accuracy[place] and value[o] >= value[place] for o in defined)
        reached = {(accuracy[place], value[place]) for place in kept}
        for other in defined:  # whoever is not kept is bettered, or is as good as one that is
            assert any(a >= accuracy[other] and v >= value[other] for a, v in reached)
        assert (np.diff(accuracy[kept]) < 0).all()


def test_a_point_has_its_metrics_and_what_it_is_as_attributes():
    frontier = make()
    point = frontier[3]
    assert point.threshold == 0.1
    assert point.accuracy == float(frontier.metrics.accuracy[3])
    assert point.to_dict() == {"threshold": 0.1, **{name: getattr(point, name) for name in NAMES}}
    assert [*frontier][3] == point == frontier[-27] == frontier[3:4][0] != frontier[4]
    with pytest.raises(AttributeError):
        point.temperature  # noqa: B018


def test_points_before_the_reference_are_shown_and_never_taken():
    whole, later = make(), make(reference=12)
    assert later.chosen_place >= 12
    assert later.plain == whole[12]
    frame = later.to_frame()
    assert len(frame) == 30
    assert not frame.allowed[:12].any()
    assert min(later.undominated()) >= 12


def test_the_table_marks_one_choice_and_what_was_allowed():
    frontier = make()
    frame = frontier.to_frame()
    assert frame.chosen.sum() == 1
    assert frame.chosen.idxmax() == frontier.chosen_place
    assert (frame.accuracy[frame.allowed] >= frontier.plain.accuracy - 0.1 - 1e-9).all()
    assert (frame.equalized_odds_gap[frame.allowed] >= frontier.chosen.equalized_odds_gap).all()
    assert frontier.best(0.0).accuracy >= frontier.plain.accuracy
    assert frontier.traded["accuracy"] == (frontier.plain.accuracy, frontier.chosen.accuracy)


def test_a_frontier_is_drawn_with_its_trade_off_falling(tmp_path):
    frontier = make()
    axes = frontier.plot()
    axes.figure.savefig(tmp_path / "frontier.png")
    (line,) = (line for line in axes.lines if line.get_label() == "trade-off")
    across, up = line.get_data()
    assert (np.diff(across) < 0).all()
    assert (np.diff(up) < 0).all()
    own = Figure().subplots()
    assert frontier.plot(own) is own


def test_a_frontier_survives_pickle_and_an_empty_one_says_so():
    frontier = make()
    assert pickle.loads(pickle.dumps(frontier)) == frontier != make(seed=1)
    assert "threshold" in str(frontier)
    empty = Frontier.empty()
    assert len(empty) == 0
    assert empty.traded == {}
    assert empty.to_frame().empty
    assert str(empty) == "no rows were evaluated, so there is no trade-off"


def test_a_plot_labels_the_budget_and_an_empty_frontier_has_none():
    axes = make().plot()
    assert [line.get_label() for line in axes.lines] == ["trade-off", "budget: 10 points"]
    assert axes.get_title()
    with pytest.raises(ValueError, match="has no points; expected rows of two groups"):
        Frontier.empty().plot()


def test_a_plot_shows_the_limit_where_a_limit_is_what_was_asked_for():
    limits = (Limit.read("demographic_parity", "at most", 0.05),)
    axes = make(rule=Rule("accuracy", 1.0, limits=limits)).plot()
    assert axes.get_ylabel() == "demographic-parity gap (%)"
    assert [line.get_label() for line in axes.lines] == ["trade-off", "limit: at most 5.0 %"]
    assert set(axes.lines[1].get_ydata()) == {5.0}


def test_a_notebook_shows_plain_and_chosen():
    frontier = make()
    before, after = frontier.traded["accuracy"]
    assert f"<td>accuracy</td><td>{100 * before:.1f} %</td><td>{100 * after:.1f} %</td>" in frontier._repr_html_()
