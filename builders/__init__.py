"""mteb-de: rebuilds, audits and releases a German text-embedding benchmark."""

__version__ = "1.0.0.dev0"
