"""The Hub on loopback: what a release is rehearsed against.

```python
with serve() as hub:
    hub.store.add_folder("dataset", "owner/name", folder)
    subprocess.run(command, env=hub.environment(fresh_folder))
```
"""

from builders.rehearsal.server import Hub, Request, serve
from builders.rehearsal.store import READ_TOKEN, WRITE_TOKEN, Store

__all__ = ["READ_TOKEN", "WRITE_TOKEN", "Hub", "Request", "Store", "serve"]
