"""What docs/goals.md says in sentences holds in results/goals.jsonl."""

from pathlib import Path

import numpy as np
import pytest

from reproduce import goals
from reproduce.goals import AT_COST, BUDGETED, FREE, GIVEN, GOALS, MULTI, OTHERS, OWN, SEVERAL_GOALS, UNSEEN

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "goals.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def records():
    return goals.read()


def test_a_lead_is_that_of_a_loop_over_splits(records):
    goal = GOALS[0]  # a ratio: more is better
    found = goals.lead_of(records, UNSEEN, goal, "OxonFair")[0]
    both = {
        name: {
            r["split"]: r["found"][goal.key][0]
            for r in records
            if (r["table"], r["setting"], r["method"]) == ("adult", UNSEEN, name)
        }
        for name in ("OxonFair", AT_COST + "OxonFair")
    }
    splits = range(goals.collect(records, UNSEEN, goal, OWN).shape[1])
    ahead = [100 * (both[AT_COST + "OxonFair"][split] - both["OxonFair"][split]) for split in splits]
    assert found.mean == pytest.approx(np.mean(ahead))
    assert found.error == pytest.approx(np.std(ahead, ddof=1) / len(ahead) ** 0.5)


def test_how_often_budgets_are_kept(records):
    for method, name in (
        (OWN, "by FairFrontier in {:.0f} to {:.0f} % of the fits"),
        (FREE, "by FairFrontier, no margin in {:.0f} to {:.0f} %"),
        ("OxonFair", "by OxonFair as documented in {:.0f} to {:.0f} %"),
    ):
        shares = [100 * goals.share_kept(records, UNSEEN, goal, method) for goal in BUDGETED]
        assert name.format(min(shares), max(shares)) in PAGE
    assert f"at least 0.8 is kept in {100 * goals.share_kept(records, UNSEEN, GOALS[-2], OWN):.0f} %" in PAGE


def test_how_stable_the_changes_are(records):
    shares = [100 * goals.stability_of(records, UNSEEN, goal) for goal in GOALS]
    assert f"{min(shares):.0f} to {max(shares):.0f} % of the changed decisions" in PAGE


def test_where_it_is_not_ahead(records):
    leads = {
        (setting, other, goal): goals.lead_of(records, setting, goal, other)
        for setting in (UNSEEN, GIVEN)
        for other in OTHERS
        for goal in GOALS
    }
    oxonfair = [leads[UNSEEN, other, goal] for other in OTHERS if "OxonFair" in other for goal in GOALS]
    verdicts = [lead.verdict for several in oxonfair for lead in several]
    assert f"behind on {verdicts.count(-1)} of {len(verdicts)} tables" in PAGE
    assert f"ahead on {verdicts.count(1)}." in PAGE
    lowest = [lead.verdict for lead in leads[UNSEEN, "plain + threshold", GOALS[5]]]
    assert GOALS[5].key.startswith("recall.min")
    assert (lowest.count(-1), lowest.count(1)) == (3, 2)
    ratio = goals.collect(records, UNSEEN, GOALS[-2], "plain + threshold")
    assert f"it loses {100 * ratio[..., 1].mean():.1f} points" in PAGE
    known = {
        other: sum(np.mean([lead.mean for lead in leads[GIVEN, other, goal]]) < 0 for goal in GOALS)
        for other in OTHERS
    }
    assert (known["OxonFair on our posterior"], known["OxonFair"]) == (6, 2)
    behind = {
        other: [lead.verdict for goal in GOALS for lead in leads[GIVEN, other, goal]].count(-1) for other in OTHERS
    }
    assert (behind["OxonFair on our posterior"], behind["OxonFair"]) == (1, 3)


def test_what_was_found_for_several_classes(records):
    mean, over = {}, 0
    for goal in SEVERAL_GOALS:
        reached = {name: goals.collect(records, MULTI, goal, name) for name in ("plain", "reweighing", OWN)}
        over += int((reached[OWN][..., 1] > goal.drop).sum())
        for name in ("reweighing", OWN):
            gain = goal.wanted.gain(reached[name][..., 0] - reached["plain"][..., 0])
            mean[goal, name] = 100 * gain.mean(1)
    worst = [goal for goal in SEVERAL_GOALS if goal.measure == "worst_group"]
    gains = np.array([mean[goal, OWN] for goal in worst])
    assert f"{gains.min():.1f} to {gains.max():.1f} points over the plain classifier" in PAGE
    assert f"reweighing at most {max(mean[goal, 'reweighing'].max() for goal in worst):.1f}" in PAGE
    for goal in SEVERAL_GOALS[2:]:
        degree, wage, visits = mean[goal, OWN]
        assert min(degree, visits) > 5 > 1 > wage
    assert mean[SEVERAL_GOALS[2], "reweighing"][2] > mean[SEVERAL_GOALS[2], OWN][2]
    assert f"in {over} of {len(SEVERAL_GOALS) * reached[OWN][..., 1].size}" in PAGE
