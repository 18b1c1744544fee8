"""Tables to learn from: how they are made, found and split."""

from raan.data.adult import adult
from raan.data.celeba import Celeba, celeba
from raan.data.civil_comments import civil_comments
from raan.data.comments import Comments
from raan.data.environments import Environments, environments
from raan.data.frame import Loaded, from_frame
from raan.data.lines import Layout
from raan.data.measuring_hate_speech import measuring_hate_speech
from raan.data.meps import meps, meps_split
from raan.data.preprocessing import DataWarning, Preprocessing, Rules
from raan.data.sources import CorruptData, DataUnavailable
from raan.data.split import Split, split, stack
from raan.data.stratified import stratified_split
from raan.data.table import Table
from raan.data.text import embed_texts
from raan.data.toy import toy
from raan.data.unpack import UnsafeArchive, unpack

__all__ = [
    "Celeba",
    "Comments",
    "CorruptData",
    "DataUnavailable",
    "DataWarning",
    "Environments",
    "Layout",
    "Loaded",
    "Preprocessing",
    "Rules",
    "Split",
    "Table",
    "UnsafeArchive",
    "adult",
    "celeba",
    "civil_comments",
    "embed_texts",
    "environments",
    "from_frame",
    "measuring_hate_speech",
    "meps",
    "meps_split",
    "split",
    "stack",
    "stratified_split",
    "toy",
    "unpack",
]
