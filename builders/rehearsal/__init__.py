"""The Hub on loopback: what a release is rehearsed against."""

from builders.rehearsal.server import Hub, Request, serve
from builders.rehearsal.store import READ_TOKEN, WRITE_TOKEN, Store

__all__ = ["READ_TOKEN", "WRITE_TOKEN", "Hub", "Request", "Store", "serve"]
