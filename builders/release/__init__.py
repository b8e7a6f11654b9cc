"""The way to the Hub: diff, plan, rehearse, apply, verify.

```python
found = diff(out, "mteb-de", "owner/mteb-de")
plan = make_plan(out, "mteb-de", Target("owner/mteb-de", found.least, date))
receipt = rehearse(out, "mteb-de")
applied = apply(out, "mteb-de")
verify(applied.repo, applied.tag, dist=out / "mteb-de")
```
"""

from builders.release.diff import diff
from builders.release.plan import PlannedFile, make_plan, read_plan, read_receipt
from builders.release.publish import apply
from builders.release.rehearse import rehearse
from builders.release.verify import verify

__all__ = [
    "PlannedFile",
    "apply",
    "diff",
    "make_plan",
    "read_plan",
    "read_receipt",
    "rehearse",
    "verify",
]
