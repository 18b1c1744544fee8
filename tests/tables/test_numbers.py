import gzip
from pathlib import Path

import pytest

from raan.tables.numbers import read_numbers


def test_columns_are_taken_by_name_in_the_order_asked(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,z\n1,2.5,-3\n4,5,6e2\n")
    columns = read_numbers(tmp_path / "a.csv", ["z", "y"])
    assert {name: values.tolist() for name, values in columns.items()} == {"z": [-3, 600], "y": [2.5, 5]}


@pytest.mark.parametrize(
    "text", ["x,y\r\n1,2\r\n", "\ufeffx,y\n1,2\n", '"x","y"\n"1","2"\n', "x,y\n1,2", "x,y\n\n1,2\n"]
)
def test_line_ends_marks_and_quotes_do_not_matter(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_bytes(text.encode())
    assert read_numbers(tmp_path / "a.csv", ["x"])["x"].tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a.csv lacks 2 of 2 columns \(x, y\): expected them among its 0 \(\)"),
        ("x,y\n", "a.csv has a header and ends: expected rows of numbers"),
        ("x;y\n1;2\n", r"a.csv lacks 2 of 2 columns \(x, y\): expected them among its 1 \(x;y\)"),
        ("x,y\n1,2\n3\n", "a.csv, line 3 has 1 values: expected 2 as in the header"),
        ("x,y\n1,2,3\n", "a.csv, line 2 has 3 values: expected 2 as in the header"),
        ("x,y\n1,2\n3,four\n", "a.csv, line 3: y is 'four': expected a number"),
        ("x,y\n1,inf\n", "a.csv, line 2: y is 'inf': expected a number"),
        ('x,y\n1,"2\n', r"a.csv, line 2 cannot be read \(unexpected end of data\)"),
    ],
)
def test_malformed_files_are_refused_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_numbers(tmp_path / "a.csv", ["x", "y"])


@pytest.mark.parametrize("body", [b"x,y\n1,2\n", gzip.compress(b"x,y\n" + b"1,2\n" * 100)[:-9]])
def test_what_only_calls_itself_gzipped_is_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "a.csv.gz").write_bytes(body)
    with pytest.raises(ValueError, match=r"a.csv.gz cannot be read"):
        read_numbers(tmp_path / "a.csv.gz", ["x", "y"])


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x,y\n\xff\xfe,2\n")
    with pytest.raises(ValueError, match=r"a.csv, line 2 has the byte 0xff: expected utf-8"):
        read_numbers(tmp_path / "a.csv", ["x", "y"])
