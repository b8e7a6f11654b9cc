"""The way to the Hub: diff, plan, rehearse, apply, verify.

```python
found = diff(out, "mteb-de", "owner/mteb-de")
plan = make_plan(out, "mteb-de", Target("owner/mteb-de", found.least, date))
receipt = rehearse(out, "mteb-de")
applied = apply(out, "mteb-de")
verify(applied.repo, applied.tag, dist=out / "mteb-de")
```
"""

from builders.release.apply import apply
from builders.release.compare import Comparison, diff, next_version
from builders.release.model import Plan, PlannedFile, Receipt, read_plan, read_receipt
from builders.release.plan import make_plan
from builders.release.publish import Applied
from builders.release.rehearse import rehearse
from builders.release.verify import Verified, verify

__all__ = [
    "Applied",
    "Comparison",
    "Plan",
    "PlannedFile",
    "Receipt",
    "Verified",
    "apply",
    "diff",
    "make_plan",
    "next_version",
    "read_plan",
    "read_receipt",
    "rehearse",
    "verify",
]
