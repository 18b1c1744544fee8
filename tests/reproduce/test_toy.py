import pytest

from raan.data import toy
from raan.methods import ERM, RAAN
from reproduce.figures.toy import boundary

pytestmark = pytest.mark.usefixtures("as_users_call")


def test_on_a_biased_draw_plain_training_follows_the_colours_and_raan_the_shapes():
    seeds = list(range(5))
    fair = boundary(ERM(), toy(bias=0.0), seeds).angle
    plain = boundary(ERM(), toy(), seeds).angle
    robust = boundary(RAAN(), toy(), seeds).angle
    assert (fair < 15).all()
    assert (plain > 45).all()
    assert (robust < 20).all()
