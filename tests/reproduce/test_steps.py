"""The check of the training step's cost: it fails where a pack costs more than was recorded, and only there."""

import pytest

from reproduce.steps import check


@pytest.mark.parametrize(("recorded", "kept"), [(50.0, True), (1e-4, False)])
def test_a_pack_is_compared_with_what_was_recorded(recorded, kept, capsys):
    assert check({1: recorded}, rounds=1) is kept
    assert ("kept" if kept else "TOO SLOW") in capsys.readouterr().out
