"""Title, page, card, JSON, exit code and `raan audit --baseline` state one verdict, whatever the outcome."""

import re

import numpy as np
import pytest
import typer

from outcomes import made_up, with_test
from raan.cli.outcome import finish, summarise
from raan.fairness.audit import audit_counts
from raan.fairness.measures import Limit
from raan.fairness.promise import Status
from raan.fairness.rule import Rule
from raan.fit.card import model_card
from raan.fit.outcome import Outcome
from raan.fit.words import STATUS, title, verdict
from raan.report.model_page import claims_table, model_page

RULES = (
    Rule("equalized_odds", 0.005, 0.0),
    Rule("worst_group", 0.02, None),
    Rule("demographic_parity", 0.0, 0.01),
    Rule("accuracy", 0.01, 0.0, limits=(Limit.read("demographic_parity", "at most", 0.05),)),
)


def random_outcome(seed):
    """An outcome with test rows drawn around, far above or far below what was promised."""
    rng = np.random.default_rng(seed)
    outcome = made_up(
        points=6, rows=int(rng.choice([400, 4000, 12_000])), rule=RULES[seed % len(RULES)], seed=seed
    )
    if rng.random() < 0.1:
        return made_up(points=6, place=0, seed=seed)
    size = outcome.test[0].sum(-1)
    drawn = []
    for counts in (outcome.test[0], outcome.test[outcome.place]):
        right = np.stack([counts[k, :, k] for k in range(2)]) / np.maximum(size, 1)
        right = np.clip(right + rng.normal(0, rng.choice([0.0, 0.01, 0.1])), 0.02, 0.98)
        hit = rng.binomial(size.astype(int), right)
        drawn.append(
            np.stack([np.stack([hit[0], size[0] - hit[0]], -1), np.stack([size[1] - hit[1], hit[1]], -1)])
        )
    right = [np.stack([each[k, :, k] for k in range(2)]) for each in drawn]
    both = np.maximum(0, right[0] + right[1] - size) + rng.random() * (
        np.minimum(*right) - np.maximum(0, right[0] + right[1] - size)
    )
    return with_test(outcome, *drawn, switched=np.round(right[0] + right[1] - 2 * both))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("as_users_call")
def test_all_views_state_one_verdict(seed, tmp_path):
    outcome = random_outcome(seed)
    outcome.save(tmp_path)
    for each in (outcome, Outcome.load(tmp_path)):
        found = {claim.key: str(claim.status) for claim in each.verdict.claims}
        word = STATUS[each.verdict.status] if each.improved else "Baseline kept"
        # The title, and the headline.
        assert title(each).startswith(f"{word}: ")
        assert verdict(each)[0].startswith(f"{word}: ")
        # The page: title, headline and table.
        page = model_page(each, tmp_path)
        assert f"<title>{word}: " in page
        assert f'class="verdict {str(each.verdict.status).replace(" ", "-")}"' in page
        shown = [row[-1].text.split(" ", 1)[1] for row in claims_table(each).rows]
        assert shown == list(found.values())
        # The card.
        card = model_card(each, "fair")
        assert f"**{word}: " in card
        section = card.partition("## What test rows say of the promise")[2].partition("\n## ")[0]
        stated = re.findall(r"\| (kept|not confirmed|contradicted)(?: \(.*\))? \|$", section, re.M)
        assert stated == list(found.values())
        # JSON, and the exit code.
        told = summarise(each, tmp_path, 1.0)["verdict"]
        assert told["status"] == str(each.verdict.status)
        assert {key: claim["status"] for key, claim in told["claims"].items()} == found
        if each.verdict.status is Status.CONTRADICTED:
            with pytest.raises(typer.Exit) as ended:
                finish(each, tmp_path, (), 1.0, as_json=False, quiet=True)
            assert ended.value.exit_code == 1
        else:
            finish(each, tmp_path, (), 1.0, as_json=False, quiet=True)
        # `raan audit --baseline` on the same rows, for what can be tested without the baseline's predictions.
        audited = audit_counts(each.test[each.place], each.facts.classes, each.facts.groups)
        for claim in each.promise.check(each.rule, audited.overall).claims if each.improved else ():
            assert str(claim.status) == found[claim.key]


def test_the_random_outcomes_have_every_verdict():
    seen = {random_outcome(seed).verdict.status for seed in range(40)}
    assert seen == set(Status)
    assert not random_outcome(0).contradicted or random_outcome(0).improved
