"""Tables to learn from: how they are made, found and split."""

from raan.data.download.sources import CorruptData, DataUnavailable
from raan.data.download.unpack import UnsafeArchive, unpack
from raan.data.environments import Environments, environments
from raan.data.media.text import embed_texts
from raan.data.sets.adult import adult
from raan.data.sets.celeba import Celeba, celeba
from raan.data.sets.civil_comments import civil_comments
from raan.data.sets.comments import Comments
from raan.data.sets.measuring_hate_speech import measuring_hate_speech
from raan.data.sets.meps import meps, meps_split
from raan.data.split import Split, split, stack
from raan.data.stratified import stratified_split
from raan.data.table import Table
from raan.data.tabular.frame import Loaded, from_frame
from raan.data.tabular.lines import Layout
from raan.data.tabular.preprocessing import DataWarning, Preprocessing, Rules
from raan.data.toy import toy

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
