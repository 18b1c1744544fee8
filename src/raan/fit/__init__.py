"""From a table of the user's own to a fairer model: the parts of `raan fit` and `raan predict`."""
