"""A page taken apart: its elements, scripts and texts."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.cdata_elem == "script":  # within one
            self.scripts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def texts(value):
    """All text in nested data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
