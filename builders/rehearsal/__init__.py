"""The Hub on loopback: what a release is rehearsed against.

```python
with serve() as hub:
    hub.store.add_folder("dataset", "owner/name", folder)
    subprocess.run(command, env=hub.environment(fresh_folder))
```
"""

from builders.rehearsal.model import Account, HubError
from builders.rehearsal.server import Hub, Request, serve
from builders.rehearsal.store import (
    FINE_GRAINED_READ_TOKEN,
    FINE_GRAINED_WRITE_TOKEN,
    READ_TOKEN,
    STRANGER_TOKEN,
    WRITE_TOKEN,
    Store,
)

__all__ = [
    "FINE_GRAINED_READ_TOKEN",
    "FINE_GRAINED_WRITE_TOKEN",
    "READ_TOKEN",
    "STRANGER_TOKEN",
    "WRITE_TOKEN",
    "Account",
    "Hub",
    "HubError",
    "Request",
    "Store",
    "serve",
]
