"""Files: fitted models as folders that are safe to load whoever made them, whole writes, and locks."""

from raan.files.folder import CorruptModel, Loader, Parts, load, save

__all__ = ["CorruptModel", "Loader", "Parts", "load", "save"]
