"""From published ids to texts, on the machine of who hydrates them and nowhere else."""

from builders.hydration.recheck import RecheckResult, recheck
from builders.hydration.run import Options, complete, hydrate

__all__ = ["Options", "RecheckResult", "complete", "hydrate", "recheck"]
