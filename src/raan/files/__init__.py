"""Files: fitted models as folders that are safe to load whoever made them, claimed places, whole writes, locks."""

from raan.files.folder import CorruptModel, Loader, Parts, load, save

__all__ = ["CorruptModel", "Loader", "Parts", "load", "save"]
