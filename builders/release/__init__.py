"""The way to the Hub: plan, rehearse, apply, verify.

```python
plan = make_plan(out, "mteb-de", Target("owner/mteb-de", "1.0.0", date))
receipt = rehearse(out, "mteb-de")
applied = apply(out, "mteb-de")
verify(applied.repo, applied.tag, dist=out / "mteb-de")
```
"""

from builders.release.apply import Applied, apply
from builders.release.model import Plan, PlannedFile, Receipt, read_plan, read_receipt
from builders.release.plan import make_plan
from builders.release.rehearse import rehearse
from builders.release.verify import Verified, verify

__all__ = [
    "Applied",
    "Plan",
    "PlannedFile",
    "Receipt",
    "Verified",
    "apply",
    "make_plan",
    "read_plan",
    "read_receipt",
    "rehearse",
    "verify",
]
