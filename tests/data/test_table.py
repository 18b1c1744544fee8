from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from raan.data import Table

pytestmark = pytest.mark.usefixtures("as_users_call")

FEATURES = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
LABEL = torch.tensor([0, 1, 1, 0])
ATTRIBUTE = torch.tensor([0, 0, 1, -1])


@pytest.fixture
def table() -> Table:
    return Table(FEATURES, LABEL, ATTRIBUTE, ("no", "yes"), ("left", "right", "middle"), ("a", "b"), "four")


def test_a_table_counts_its_rows_classes_and_attribute_values(table: Table) -> None:
    assert (table.rows, table.classes, table.attributes) == (4, 2, 3)


def test_cells_count_the_rows_of_known_attribute(table: Table) -> None:
    assert table.cells().tolist() == [[1, 0, 0], [1, 1, 0]]


def test_cells_equal_a_literal_count() -> None:
    generator = np.random.default_rng(0)
    label, attribute = generator.integers(0, 3, 200), generator.integers(-1, 4, 200)
    table = Table.of(np.zeros((200, 1)), label, attribute)
    count = [[0] * 4 for _ in range(3)]
    for c, a in zip(label, attribute, strict=True):
        if a >= 0:
            count[c][a] += 1
    assert table.cells().tolist() == count


def test_cells_of_a_table_without_attribute_are_none() -> None:
    assert Table.of(FEATURES, LABEL).cells().shape == (2, 0)


def test_a_table_says_briefly_what_it_is(table: Table) -> None:
    assert repr(table) == "Table(four: 4 rows × 2 features, 2 classes, 3 attribute values)"


def test_a_description_shows_the_cells_and_the_unknown(table: Table) -> None:
    assert table.describe().splitlines() == [
        "four: 4 rows × 2 features",
        "     left  right  middle",
        "no      1      0       0",
        "yes     1      1       0",
        "attribute unknown: 1 rows",
    ]


def test_features_may_have_a_run_axis(table: Table) -> None:
    embedded = replace(table, features=torch.zeros(5, 4, 3), feature_names=())
    assert embedded.rows == 4
    assert "5 runs × 4 rows × 3 features" in repr(embedded)


def test_a_table_cannot_be_changed(table: Table) -> None:
    with pytest.raises(FrozenInstanceError):
        table.name = "other"  # type: ignore[misc]


def test_different_lengths_are_named() -> None:
    with pytest.raises(ValueError, match=r"label has shape \(3,\); expected one number for each of 4 rows"):
        Table(FEATURES, LABEL[:3], ATTRIBUTE, ("no", "yes"), ("left", "right"))


def test_too_few_feature_names_are_refused() -> None:
    with pytest.raises(ValueError, match="feature_names has 1 names for 2 features"):
        Table.of(FEATURES, LABEL, feature_names=("a",))


@pytest.mark.parametrize("run_axis", [False, True])
def test_values_that_are_not_finite_are_counted_and_the_first_is_named(run_axis: bool) -> None:
    features = FEATURES.clone()
    features[2, 1], features[3, 0] = torch.nan, torch.inf
    features = features[None] if run_axis else features
    with pytest.raises(ValueError, match=r"2 values .* \(nan\) in row 2, column 1 \(b\)"):
        Table.of(features, LABEL, feature_names=("a", "b"))


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([0, 1, -1, 0], "label is -1 in row 2; expected 0 to 1"),
        ([0, 1, 2, 0], r"label is 2 in row 2; expected 0 to 1 \(no, yes\)"),
        ([0, 1, 0.5, 0], "label is 0.5 in row 2; expected whole numbers from 0"),
        ([0, 1, np.nan, 0], "label is nan in row 2"),
        ([0, 1, np.inf, 0], "label is inf in row 2"),
        ([[0], [1], [1], [0]], r"label has shape \(4, 1\); expected one number for each row"),
        ([1, 1, 1, 1], r"every label is 1 \(yes\); expected at least two classes"),
    ],
)
def test_labels_that_are_not_class_numbers_are_refused(label: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table.of(FEATURES, label, class_names=("no", "yes"))


def test_labels_in_words_are_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"label has values of type <U3; expected numbers.*return_inverse"):
        Table.of(FEATURES, ["no", "yes", "yes", "no"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.uint8])
def test_a_label_tensor_must_be_of_a_signed_integer_type(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"label is {dtype}; expected a tensor of a signed integer type"):
        Table(FEATURES, LABEL.to(dtype), ATTRIBUTE, ("no", "yes"), ("left", "right"))


@pytest.mark.parametrize("value", [-2, 2])
def test_an_attribute_out_of_range_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match=f"attribute is {value} in row 1; expected -1 to 1"):
        Table.of(FEATURES, LABEL, [0, value, 1, 0], attribute_names=("left", "right"))


@pytest.mark.parametrize("shape", [(0, 2), (4, 0)])
def test_an_empty_table_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="the table is empty"):
        Table.of(torch.zeros(shape), LABEL[: shape[0]])


def test_features_need_two_axes() -> None:
    with pytest.raises(ValueError, match=r"features have shape \(4,\); expected \(rows, features\)"):
        Table.of([0.0, 1.0, 2.0, 3.0], LABEL)


@pytest.mark.parametrize("features", [FEATURES.numpy(), FEATURES.long()])
def test_the_constructor_takes_floating_point_tensors_only(features: object) -> None:
    with pytest.raises(TypeError, match=r"features are not a floating-point torch.Tensor; Table.of converts"):
        Table(features, LABEL, ATTRIBUTE, ("no", "yes"), ("left", "right"))  # type: ignore[arg-type]


def test_identifiers_given_as_labels_do_not_become_a_million_classes() -> None:
    with pytest.raises(ValueError, match="label has the value 1,000,000 among 4 rows"):
        Table.of(FEATURES, [0, 1, 1_000_000, 2])


@pytest.mark.parametrize("kind", [list, np.asarray, torch.as_tensor])
def test_lists_arrays_and_tensors_make_the_same_table(kind: type) -> None:
    table = Table.of(kind(FEATURES.tolist()), kind(LABEL.tolist()), kind(ATTRIBUTE.tolist()))
    assert torch.equal(table.features, FEATURES)
    assert torch.equal(table.label, LABEL)
    assert torch.equal(table.attribute, ATTRIBUTE)
    assert (table.class_names, table.attribute_names) == (("0", "1"), ("0", "1"))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.float32])
def test_labels_and_attributes_of_any_numeric_type_become_integers(dtype: type) -> None:
    table = Table.of(FEATURES, np.array([0, 1, 1, 0], dtype), np.array([1, 1, 0, 0], dtype))
    assert table.label.tolist() == [0, 1, 1, 0]
    assert table.attribute.tolist() == [1, 1, 0, 0]
    assert table.label.dtype == table.attribute.dtype == torch.int64


def test_an_attribute_that_is_nan_is_unknown() -> None:
    assert Table.of(FEATURES, LABEL, [0, np.nan, 1, -1]).attribute.tolist() == [0, -1, 1, -1]


def test_arrays_that_are_read_only_are_taken() -> None:
    features = FEATURES.numpy().copy()
    features.flags.writeable = False
    assert torch.equal(Table.of(features, LABEL).features, FEATURES)


def test_features_can_be_kept_in_double_precision() -> None:
    third = np.full((4, 2), 1 / 3)
    assert Table.of(third, LABEL, dtype=torch.float64).features[0, 0].item() == 1 / 3
    assert Table.of(third, LABEL).features.dtype == torch.float32


def test_a_table_may_know_its_rows_environments(table: Table) -> None:
    assert table.environment is None
    assert Table.of(FEATURES, LABEL, environment=[0, 1, 1, 0]).environment.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("environment", "error", "message"),
    [
        (
            torch.tensor([0, 1]),
            ValueError,
            r"environment has shape \(2,\); expected one number for each of 4 rows",
        ),
        (torch.tensor([0, 1, -1, 0]), ValueError, "environment is -1 in row 2; expected 0, 1, ..."),
        (
            torch.tensor([0.0, 1.0, 1.0, 0.0]),
            TypeError,
            "environment is torch.float32; expected a tensor of a signed integer",
        ),
    ],
)
def test_wrong_environments_are_errors(table: Table, environment, error, message) -> None:
    with pytest.raises(error, match=message):
        replace(table, environment=environment)
