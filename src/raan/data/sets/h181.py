"""AHRQ's HC-181, the MEPS file of 2015, in the forms in which it is published, read without SAS, Stata or R."""

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
from jaxtyping import Float

from raan.tabular.numbers import Columns, check_header

# Columns that carry a round's or a year's number, under the names of the published features.
RENAMED = {
    **{f"{name}53": name for name in ("ACTDTY", "HONRDC", "RTHLTH", "MNHLTH", "CHBRON", "JTPAIN", "PREGNT")},
    **{f"{name}53": name for name in ("WLKLIM", "ACTLIM", "SOCLIM", "COGLIM", "EMPST", "REGION")},
    **{f"{name}53X": name for name in ("FTSTU", "MARRY", "AGE")},
    **{f"{name}15": name for name in ("POVCAT", "INSCOV")},
}
KEPT = (
    *("HIBPDX", "CHDDX", "ANGIDX", "MIDX", "OHRTDX", "STRKDX", "EMPHDX", "CHOLDX", "CANCERDX", "DIABDX"),
    *("ARTHDX", "ARTHTYPE", "ADHDADDX", "DFHEAR42", "DFSEE42", "ADSMOK42", "PHQ242"),
)
SCORES = ("PCS42", "MCS42", "K6SUM42")
VISITS = ("OBTOTV15", "OPTOTV15", "ERTOT15", "IPNGTD15", "HHTOTD15")  # office, outpatient, emergency, nights, home
COLUMNS = ("PANEL", "RACEV2X", "HISPANX", "SEX", "ASTHDX", "EDUCYR", "HIDEG", *RENAMED, *KEPT, *SCORES, *VISITS)

# Rows are left out where these are negative (not asked, refused, unknown), ...
NEVER_NEGATIVE = ("REGION", "AGE", "MARRY", "ASTHDX")
# ... and where one of these is below -1 (inapplicable).
ABOVE_MINUS_TWO = (*(name for name in RENAMED.values() if name not in NEVER_NEGATIVE), *KEPT, "EDUCYR", "HIDEG")

MANY_VISITS = 10
SMALLEST_OF_SAS = 16.0**-65
ROWS_AT_ONCE = 2_000  # of 1,831 columns each: a chunk of 30 MB, where the whole file would be 500

SAS = re.compile(r"@(\d+)\s+(\w+)\s+\$?(\d+)\.")  # @187 SEX 1.0
STATA = re.compile(r"\b(?:BYTE|INT|LONG|FLOAT|DOUBLE|STR)\s+(\w+)\s+(\d+)\s*-\s*(\d+)")  # BYTE SEX 187-187
STATEMENTS = ("h181su.txt", "h181stu.txt")


def read_h181(path: Path, statements: str | Path | None = None) -> Columns:
    """Panel 19 of the file at the path after the published preprocessing (AIF360's), in raw codes.

    The columns have the names of the published features, before they are made one-hot.
    """
    return preprocess(_read(path, statements))


def preprocess(columns: Mapping[str, Float[np.ndarray, "person"]]) -> Columns:
    """The rows of panel 19 without unknown answers, with RACE (1 = White, not Hispanic) and UTILIZATION."""
    named = {RENAMED.get(name, name): values for name, values in columns.items()}
    keep = named["PANEL"] == 19
    for name in NEVER_NEGATIVE:
        keep &= named[name] >= 0
    for name in ABOVE_MINUS_TWO:
        keep &= named[name] >= -1
    named["RACE"] = ((named["RACEV2X"] == 1) & (named["HISPANX"] == 2)).astype(float)
    named["UTILIZATION"] = (np.sum([named[name] for name in VISITS], axis=0) >= MANY_VISITS).astype(float)
    return {name: values[keep] for name, values in named.items()}


def _read(path: Path, statements: str | Path | None) -> Columns:
    """The columns that are needed; the ending of the file's name states its form."""
    readers: dict[str, Callable[[IO[bytes]], pd.DataFrame]] = {
        ".ssp": _transport,
        ".xpt": _transport,
        ".dta": _stata,
        ".csv": _read_csv,
        ".dat": lambda stream: _fixed_width(stream, _positions(path, statements)),
    }
    with _unzip(path) as (name, stream):
        form = Path(name.lower()).suffix
        if form not in readers:
            raise ValueError(f"{path}: {name} ends in {form!r}, expected one of {', '.join(readers)}")
        frame = readers[form](stream).rename(columns=str.upper)
    check_header(path, list(frame.columns), COLUMNS)
    missing = frame.columns[frame.isna().any()]
    if len(missing):
        raise ValueError(f"{path}: {missing[0]} is missing in row {int(frame[missing[0]].isna().argmax())}")
    return {name: frame[name].to_numpy(dtype=np.float64) for name in COLUMNS}


@contextmanager
def _unzip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The name and the bytes of the file, or of the only one in it if it is an archive."""
    if path.suffix.lower() != ".zip":
        with path.open("rb") as stream:
            yield path.name, stream
        return
    with tempfile.TemporaryFile() as copy:
        name = _unpack(path, copy)
        copy.seek(0)
        yield name, copy


def _unpack(path: Path, copy: IO[bytes]) -> str:
    """Unpack the only file of an archive to disk: readers go back and forth in it, and memory is not its place."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                found = f"{path} holds {len(names)} files, expected one"
                raise ValueError(f"{found}: unpack it and give the file's path")
            with archive.open(names[0]) as packed:
                shutil.copyfileobj(packed, copy)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(f"{path} is a broken archive ({error}): get it anew") from error
    return names[0]


def _transport(stream: IO[bytes]) -> pd.DataFrame:
    """SAS transport, whose zero pandas reads as the smallest number there is in it."""
    with pd.read_sas(stream, format="xport", chunksize=ROWS_AT_ONCE) as chunks:
        frame = pd.concat(map(_select, chunks), ignore_index=True)
    return frame.mask(frame.abs() <= SMALLEST_OF_SAS, 0)


def _stata(stream: IO[bytes]) -> pd.DataFrame:
    """Stata's own format, with the codes and not their labels."""
    with pd.read_stata(stream, convert_categoricals=False, chunksize=ROWS_AT_ONCE) as chunks:
        return pd.concat(map(_select, chunks), ignore_index=True)


def _read_csv(stream: IO[bytes]) -> pd.DataFrame:
    """The CSV file that AIF360's script makes of the SAS transport file."""
    return pd.concat(map(_select, pd.read_csv(stream, chunksize=ROWS_AT_ONCE)), ignore_index=True)


def _select(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[[name for name in frame.columns if name.upper() in COLUMNS]]


def _fixed_width(stream: IO[bytes], positions: dict[str, slice]) -> pd.DataFrame:
    """One line a person, every column at its place; what is no number there is an error."""
    rows = []
    for number, line in enumerate(stream, start=1):
        try:
            # The decimals of a SAS format count only where the point is not written; here it always is.
            rows.append([float(line[place]) for place in positions.values()])
        except ValueError as error:
            raise ValueError(f"line {number} of the fixed-width file: {_fault(line, positions)}") from error
    return pd.DataFrame(rows, columns=list(positions))


def _fault(line: bytes, positions: dict[str, slice]) -> str:
    """Which column of the line is no number."""
    for name, place in positions.items():
        text = line[place].decode("latin-1")
        if not re.fullmatch(r"\s*-?\d*\.?\d+\s*", text):
            return f"{name} (characters {place.start + 1} to {place.stop}) is {text!r}, expected a number"
    return "a number of a strange form"


def _positions(path: Path, statements: str | Path | None) -> dict[str, slice]:
    """Where each column stands in a line, from the programming statements that AHRQ publishes beside the file."""
    found = Path(statements).expanduser() if statements else _beside(path)
    text = found.read_text(encoding="latin-1").upper()
    sas = {name: slice(int(start) - 1, int(start) - 1 + int(width)) for start, name, width in SAS.findall(text)}
    stata = {name: slice(int(first) - 1, int(last)) for name, first, last in STATA.findall(text)}
    positions = sas or stata
    check_header(found, list(positions), COLUMNS)
    return {name: positions[name] for name in COLUMNS}


def _beside(path: Path) -> Path:
    places = [path.parent / name for name in STATEMENTS]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(
        f"{path} is fixed-width text, and where its columns stand is not known: get the SAS or the Stata "
        f"programming statements of HC-181 (meps.ahrq.gov) and put them beside it as {' or '.join(STATEMENTS)}, "
        "or give their path as `statements`. The SAS transport file, h181ssp.zip, needs none."
    )
