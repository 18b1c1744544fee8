"""Images read from folders and archives, texts embedded."""
