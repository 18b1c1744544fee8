"""Archives (zip) whose checksums are looked at: their readers, numpy and torch, do not."""

import zipfile
from pathlib import Path


def check_archive(file: Path) -> None:
    """Raise zipfile.BadZipFile if a member of the archive does not have the checksum that is stated of it."""
    with file.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                damaged = archive.testzip()
        except Exception as error:  # damage can become anything to the reader
            raise zipfile.BadZipFile(f"{type(error).__name__}: {error}") from error
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} in it is damaged")
