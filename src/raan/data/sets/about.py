"""What is to be known of a data set before using it."""

from dataclasses import dataclass

from raan.data.download.remote import RemoteFile


@dataclass(frozen=True)
class About:
    """A data set's name, task, files, terms, and what has gone wrong for others who used it."""

    name: str  # as `raan data` and study files call it
    title: str
    task: str  # what the label says of whom
    attribute: str  # what the attribute is, who assigned it, and which values it takes
    licence: str
    citation: str
    cautions: tuple[str, ...]
    files: tuple[RemoteFile, ...]
