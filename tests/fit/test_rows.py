import pytest

from fitted_runs import table_of
from raan.fit.rows import drop_small_groups
from raan.tables.load import from_frame


def test_too_few_rows_of_every_class_are_blamed_on_a_label_of_many_classes():
    frame = table_of()
    frame["sex"] = [f"group {row % 12:02d}" for row in range(len(frame))]
    frame["age"] = frame["age"].astype(str)
    with pytest.raises(ValueError, match="0 of 12 groups have 30 training rows or more") as error:
        drop_small_groups(from_frame(frame, "age", "sex"))
    text = str(error.value)
    assert "the fewest rows, 0, have the class '18' and the group 'group 0" in text
    assert "the label has the classes 18, 19, 20, 21, 22, 23, 24, 25, ... (62 in all); give one with" in text
    assert "group 07, ... (12 in all)" in text
    assert "group 08" not in text
    with pytest.raises(ValueError, match="give more rows, or merge rare classes and small groups"):
        drop_small_groups(from_frame(frame, "hired", "sex"))


def test_groups_too_small_to_judge_by_are_unknown_and_noted():
    frame = table_of(groups=("f", "m", "x"))
    frame.loc[frame.index[frame["sex"] == "x"][20:], "sex"] = "m"
    judged, notes = drop_small_groups(from_frame(frame, "hired", "sex"))
    assert judged.attribute.names == ("f", "m")
    assert int((judged.attribute.codes == -1).sum()) == 20
    assert "too small to evaluate: x." in notes[0]
