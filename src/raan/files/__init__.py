"""Fitted models as folders: safe to load whoever made them, and written whole or not at all."""

from raan.files.folder import CorruptModel, Parts, load, save

__all__ = ["CorruptModel", "Parts", "load", "save"]
