from web import server, web

__all__ = ["server", "web"]
