"""Files and frames become columns; what is wrong with a file is told by its line and column."""

import csv
import gzip
import io
import math
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raan.data import Layout
from raan.tables import read as module
from raan.tables.columns import MISSING, name_of, type_of
from raan.tables.read import read
from systems import linux

TEXT = "age,job,sex\n31,clerk,f\n45,cook,m\n,?,f\n"
in_tmp = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def values(column: pd.Series) -> list[object]:
    """The value of each row, None where it is missing."""
    assert type_of(column) is not None
    return [None if pd.isna(value) else value for value in column.tolist()]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str | bytes, name: str = "table.csv") -> Path:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    return write


def contents(frame: object, **options: object) -> dict[str, list[object]]:
    return {name: values(column) for name, column in read(frame, **options).frame.items()}


EXPECTED = {"age": [31, 45, None], "job": ["clerk", "cook", None], "sex": ["f", "m", "f"]}


# What is read.


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("table.csv", TEXT.encode()),
        ("table.CSV", TEXT.encode()),
        ("table.tsv", TEXT.replace(",", "\t").encode()),
        ("table.csv", TEXT.replace(",", "\t").encode()),
        ("table.csv", TEXT.replace(",", ";").encode()),
        ("table.txt", TEXT.replace(",", "|").encode()),
        ("table.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("table.csv", TEXT.encode("utf-16")),
        ("table.csv", TEXT.replace("\n", "\r\n").encode()),
        ("table.csv", TEXT.replace("\n", "\r").encode()),
        ("table.csv", TEXT.removesuffix("\n").encode()),
        ("table.csv", TEXT.replace("\n", "\n\n").encode()),
        ("table.csv", b"\n \n" + TEXT.encode()),
        ("table.csv", TEXT.replace(",", ", ").replace("\n", " \n").encode()),
        ("table.csv", TEXT.replace("clerk", '"clerk"').encode()),
        ("table.csv.gz", gzip.compress(TEXT.encode())),
    ],
    ids=[
        "CSV",
        "capitals",
        "TSV",
        "tabs in CSV",
        "semicolons",
        "bars",
        "BOM",
        "UTF-16",
        "CRLF",
        "CR",
        "no last newline",
        "blank lines",
        "blank lines first",
        "space around values",
        "quotes",
        "gzip",
    ],
)
def test_a_text_file_is_read_however_it_is_written(written: Callable[..., Path], name: str, body: bytes) -> None:
    assert contents(written(body, name)) == EXPECTED


def test_frames_and_parquet_hold_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [31, 45, None], "job": ["clerk", "cook", "?"], "sex": ["f", "m", "f"]})
    frame.to_parquet(tmp_path / "table.parquet")
    assert contents(frame) == EXPECTED
    assert contents(frame.convert_dtypes()) == EXPECTED
    assert contents(frame.astype({"job": "category", "sex": object})) == EXPECTED
    assert contents(pl.DataFrame(frame.to_dict("list"), strict=False)) == EXPECTED
    assert contents(tmp_path / "table.parquet") == EXPECTED


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([True, False, None], ["True", "False", None]),
        (pd.array([1, None, 3], dtype="Int8"), [1, None, 3]),
        (pd.Categorical([1, 2, 1]), ["1", "2", "1"]),
        (pd.array(["a", None, " b "], dtype="string"), ["a", None, "b"]),
        (np.array([Decimal("1.5"), 2, None], dtype=object), [1.5, 2, None]),
        (np.array([b"a", "b", None], dtype=object), ["a", "b", None]),
        (np.array([1, "a", "b"], dtype=object), ["1", "a", "b"]),
        (np.array([math.nan] * 3), [None] * 3),
        (np.array([None] * 3, dtype=object), [None] * 3),
    ],
)
def test_a_column_of_pandas_is_numbers_or_words_by_its_type(column: object, expected: list[object]) -> None:
    assert contents(pd.DataFrame({"x": column})) == {"x": expected}


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series(["a", None, "b"]),
    ],
)
def test_words_of_polars_are_read(column: pl.Series) -> None:
    assert contents(pl.DataFrame({"x": column})) == {"x": ["a", None, "b"]}


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float32, pl.Boolean])
def test_numbers_and_bools_of_polars_are_read(dtype: type[pl.DataType]) -> None:
    expected = ["True", None, "False"] if dtype is pl.Boolean else [1, None, 0]
    assert contents(pl.DataFrame({"x": pl.Series([1, None, 0]).cast(dtype)})) == {"x": expected}


def test_types_are_settled_over_all_chunks(written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1)
    lines = ["n,w,mixed,bool,late", "1,a,007,true,", "2,b,8,FALSE,", ",c,x,True,", "4,,1.50,no,5", ",,,,6"]
    assert contents(written("\n".join(lines))) == {
        "n": [1, 2, None, 4, None],
        "w": ["a", "b", "c", None, None],
        "mixed": ["007", "8", "x", "1.50", None],
        "bool": ["True", "False", "True", "no", None],
        "late": [None, None, None, 5, 6],
    }


def test_columns_asked_for_as_text_keep_their_zeros(written: Callable[..., Path]) -> None:
    path = written("zip,x\n00501,1\n10001,2\n")
    assert contents(path)["zip"] == [501, 10001]
    assert contents(path, text=["zip"])["zip"] == ["00501", "10001"]


def test_progress_is_told_in_bytes_up_to_the_whole(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 1000)
    path = written("x,y\n" + "1,2\n" * 20_000)
    told: list[tuple[int, int | None]] = []
    read(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert {total for _, total in told} == {size}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (size, size)
    assert len(told) > 3


@pytest.mark.parametrize("row", ['7, "x, y"', '7,"x, y"', ' 7,"x, y"', '"7","x, y"'])
def test_quotes_that_come_late_and_after_space_are_read(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    monkeypatch.setattr(module, "CHUNK", 10)
    found = contents(written("n,w\n" + "1,a b\n" * 40 + row + "\n2, c\n"))
    assert found == {"n": [1] * 40 + [7, 2], "w": ["a b"] * 40 + ["x, y", "c"]}


def test_a_quote_that_is_never_closed_is_told_by_its_line_however_late(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 10)
    with pytest.raises(ValueError, match=r"table.csv, line 42 cannot be read \(unexpected end of data"):
        read(written("n,w\n" + "1,a b\n" * 40 + '7,"x\n8,y\n'))


def test_a_long_text_in_quotes_is_read(written: Callable[..., Path]) -> None:
    assert contents(written('a,b\n1,"' + "x" * 200_000 + '"\n'))["b"] == ["x" * 200_000]


def test_any_character_may_separate_the_columns(written: Callable[..., Path]) -> None:
    assert contents(written("a§b\n1§x,y\n2§z\n"), layout=Layout(delimiter="§")) == {"a": [1, 2], "b": ["x,y", "z"]}


def test_numbers_in_any_spelling_are_numbers(written: Callable[..., Path]) -> None:
    assert contents(written("x,y\n+1,1\n 2e1 ,2\n NA ,3\n.5,4\n"))["x"] == [1, 20, None, 0.5]


def test_words_that_come_after_numbers_leave_these_as_they_were_written(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 5)
    assert contents(written("x,y\n" + "007,1\n" * 20 + "x,2\n"))["x"] == ["007"] * 20 + ["x"]


cells = st.text(
    alphabet=st.one_of(st.sampled_from(',;"\n\r\t |?0123456789.-eENA'), st.characters(exclude_categories=["Cs"])),
    max_size=6,
).filter(lambda text: "\0" not in text)


@in_tmp
@given(
    rows=st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6)
    ),
    delimiter=st.sampled_from(",;\t|"),
)
def test_what_pythons_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    names = [f"column {place}" for place in range(len(rows[0]))]
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([names, *rows])
    found = contents(path, text=names, layout=Layout(delimiter=delimiter))
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        expected = [name_of(value) for value in column]
        assert found[name] == [None if value in MISSING else value for value in expected]


# What is wrong is told.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"table.csv is empty; expected a line that names the columns"),
        ("\n\n  \n", r"table.csv, line 1 has no names of columns; expected them"),
        ("a,b\n", r"table.csv names its columns \(a, b\) and ends; expected rows of values"),
        ("a,b\n1,2\n3\n", r"table.csv, line 3 has 1 values; expected 2 \(a, b\)"),
        ("a,b\n1,2\n\n3,4,5\n", r"table.csv, line 4 has 3 values; expected 2 \(a, b\)"),
        ("a,b\n1,2,3\n4,5,6\n", r"table.csv, line 2 has 3 values; expected 2 \(a, b\)"),
        ("a,b\n1,2,\n4,5,\n", r"table.csv, line 2 has 3 values; expected 2 \(a, b\)"),
        ('a,b\n1,"x\ny"\n2\n', r"table.csv, line 4 has 1 values; expected 2"),
        ("a,b,a\n1,2,3\n", r"table.csv, line 1 gives the name 'a' to columns 1 and 3; expected one"),
        (
            'a,b\n1,2\n3,"4\n5,6\n',
            r"table.csv, line 3 cannot be read \(unexpected end of data\); .*quotes",
        ),
        ('a,b\n1,2\n3,"4"5\n', r"table.csv, line 3 cannot be read \(',' expected after '\"'"),
        ("a,b\n1,2\n3,\0\n", r"table.csv, line 3 has a NUL byte"),
        ("a,b\n1,2\n".encode("utf-16-le"), r"table.csv, line 1 has a NUL byte; .* UTF-16"),
        (b"a,b\n1,2\n3,caf\xe9\n", r"table.csv, line 3 has the byte 0xe9; expected utf-8; .*encoding='latin-1'"),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, str | bytes) else None,
)
def test_a_malformed_file_is_told_by_its_line(
    written: Callable[..., Path], text: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(written(text))


def test_a_wrong_delimiter_is_told_with_the_one_that_it_looks_like(written: Callable[..., Path]) -> None:
    path = written("a;b\n1;2\n")
    with pytest.raises(ValueError, match=r"line 1 has one column only, 'a;b', by .* ','; .*is it ';'\?"):
        read(path, layout=Layout(delimiter=","))


def test_a_damaged_gzip_is_told(written: Callable[..., Path]) -> None:
    body = gzip.compress((TEXT * 1000).encode())
    for wrong in (body[:50], b"\x1f\x8b" + body[:30], b"no gzip"):
        with pytest.raises(ValueError, match=r"table.csv.gz cannot be read "):
            read(written(wrong, "table.csv.gz"))


def test_a_column_without_a_name_is_left_out_and_told(written: Callable[..., Path]) -> None:
    table = read(written(",age,\n0,31,x\n1,45,y\n"))
    assert table.names == ["age"]
    assert [note[:23] for note in table.notes] == ["column 1 of table.csv h", "column 3 of table.csv h"]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("none.csv", FileNotFoundError, "none.csv is not a file; expected a CSV, TSV or Parquet file"),
        ("table.xlsx", ValueError, r"table.xlsx ends in '.xlsx'; expected one of .csv, "),
        ("table", ValueError, r"table ends in ''; expected one of .csv, "),
        ("table.parquet", ValueError, r"table.parquet cannot be read .*; expected a Parquet file"),
    ],
)
def test_files_of_other_kinds_are_refused(
    written: Callable[..., Path], tmp_path: Path, name: str, error: type[Exception], message: str
) -> None:
    if name != "none.csv":
        written("a,b\n1,2\n", name)
    with pytest.raises(error, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("frame", [[1, 2], np.zeros((2, 2)), 3, None, pl.LazyFrame({"x": [1]})])
def test_what_is_no_frame_is_refused(frame: object) -> None:
    with pytest.raises(TypeError, match=r"frame is a .*; expected a DataFrame of pandas or polars"):
        read(frame)


def test_frames_that_are_empty_or_name_columns_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="frame has 2 columns called 'a'"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="frame has 0 rows and 1 columns; expected at least one of each"):
        read(pd.DataFrame({"a": []}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "nonsense"}, "encoding is 'nonsense'"),
        ({"delimiter": ""}, "delimiter is ''; expected one character"),
        ({"decimal": ".."}, "decimal is '..'; expected one character"),
    ],
)
def test_an_impossible_layout_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout(**options)


@in_tmp
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(alphabet=',;"\n\r\t ab1.é', max_size=60).map(str.encode),
        st.text(alphabet=',"\nab1', max_size=60).map(lambda text: b"a,b\n" + text.encode()),
    )
)
def test_any_bytes_are_read_or_refused_with_the_file_named(
    tmp_path_factory: pytest.TempPathFactory, body: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "table.csv"
    path.write_bytes(body)
    said = ""
    try:
        table = read(path)
    except ValueError as error:
        said = str(error)
    if said:
        assert said.startswith(str(path))
    else:
        assert {len(values(column)) for _, column in table.frame.items()} <= {len(table.frame)}


# Types.


def settled(frame: object, **types: str) -> dict[str, list[object]]:
    table = read(frame)
    return {name: values(column) for name, column in table.check(table.names, types).items()}


def test_a_column_of_numbers_with_a_fault_is_told_by_its_line(written: Callable[..., Path]) -> None:
    path = written("x,y\n" + "1,1\n" * 20 + "\none,1\n" + "2,2\n")
    with pytest.raises(
        ValueError, match=r"table.csv, line 23: the column 'x' is 'one'; expected a number, as are 95"
    ):
        settled(path)
    assert settled(path, x="category")["x"][20] == "one"


def test_a_column_of_words_may_hold_some_numbers(written: Callable[..., Path]) -> None:
    assert settled(written("x,y\n1,1\ntwo,2\nthree,3\n"))["x"] == ["1", "two", "three"]


def test_numbers_with_commas_are_told_and_read_when_asked(written: Callable[..., Path]) -> None:
    path = written("x;y\n1,5;1\n2;2\n")
    with pytest.raises(
        ValueError, match=r"line 2: the column 'x' is '1,5'; expected .* without a comma; .*decimal=','"
    ):
        settled(path)
    assert contents(path, layout=Layout(decimal=","))["x"] == [1.5, 2]


def test_types_can_be_said() -> None:
    frame = pd.DataFrame({"code": [10, 2, None], "text": ["1", "2.5", None]})
    assert settled(frame) == {"code": [10, 2, None], "text": [1, 2.5, None]}
    assert settled(frame, code="category") == {"code": ["10", "2", None], "text": [1, 2.5, None]}
    assert contents(frame, text=["text"])["text"] == ["1", "2.5", None]


def test_numbers_as_categories_are_sorted_by_value() -> None:
    frame = pd.DataFrame({"code": [10, 2, 2.5]})
    column = read(frame).check(["code"], {"code": "category"})["code"]
    assert column.cat.categories.tolist() == ["2", "2.5", "10"]


def test_a_word_where_a_number_is_asked_for_is_told_by_its_row() -> None:
    frame = pd.DataFrame({"x": ["1", "2", "many"]})
    with pytest.raises(ValueError, match=r"frame, row 2: the column 'x' is 'many'; expected a number"):
        settled(frame, x="number")


def test_infinite_numbers_are_told_by_their_row() -> None:
    with pytest.raises(ValueError, match="frame, row 1: the column 'x' is -inf; expected a number"):
        settled(pd.DataFrame({"x": [1.0, -math.inf]}))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.to_datetime(["2020-01-01"]), "datetime64"),
        ([date(2020, 1, 1)], "values of type date"),
        ([[1, 2]], "values of type list"),
        ([1j], "complex128"),
    ],
)
def test_columns_of_neither_numbers_nor_words_are_refused_with_advice(column: object, kind: str) -> None:
    with pytest.raises(TypeError, match=rf"the column 'x' holds {kind}.*ignore=\['x'\]"):
        settled(pd.DataFrame({"x": column}))


def test_a_stream_of_bytes_is_no_path() -> None:
    with pytest.raises(TypeError, match="frame is a BytesIO"):
        read(io.BytesIO(TEXT.encode()))


@linux
@pytest.mark.parametrize(
    ("before", "line"),
    [(b"", 1), (b"a,b\n1,2\n", 3), (b'a,b\n1,"2"\n', 3), (b'a,b\n1,2\n"', 3)],
    ids=["header", "row", "after quotes", "in quotes"],
)
def test_an_endless_line_is_refused_before_it_fills_the_memory(tmp_path: Path, before: bytes, line: int) -> None:
    path = tmp_path / "endless.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(before)
        for _ in range(60):
            file.write(b"x" * 1_000_000)
    done = subprocess.run([sys.executable, "-c", GROWTH, str(path)], capture_output=True, text=True, check=True)
    said, growth = done.stdout.rsplit(maxsplit=1)
    assert re.search(rf"endless.csv.gz, (a )?line( {line})? has more than 1,048,576 characters", said)
    assert int(growth) < 60_000  # of the 60 MB that the line has, and arrow's own


GROWTH = """
import resource, sys
import pandas
from raan.tables.read import read

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read(sys.argv[1])
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
"""Reads a file, and prints what it says of it and by how many kilobytes the process has grown."""


@pytest.mark.parametrize("encoding", ["hex", "base64", "rot13", "bz2", "undefined", "idna", "a\0b", "klingon"])
def test_an_encoding_that_is_none_of_text_is_refused(encoding: str) -> None:
    with pytest.raises(
        ValueError, match=r"encoding is .*; expected a text encoding, such as 'utf-8' or 'latin-1'"
    ):
        Layout(encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp1252", "shift_jis", "utf-7"])
def test_a_file_is_read_in_the_encoding_that_is_named(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes("city,n\nYork,1\nHull,2\n".encode(encoding))
    assert read(tmp_path / "a.csv", layout=Layout(encoding=encoding)).frame["city"].tolist() == ["York", "Hull"]
