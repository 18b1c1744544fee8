"""Files found, fetched, verified and unpacked."""
