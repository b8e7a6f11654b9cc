"""From published ids to texts, on the machine of who hydrates them and nowhere else."""

from builders.hydration.run import Options, RecheckResult, complete, hydrate, recheck

__all__ = ["Options", "RecheckResult", "complete", "hydrate", "recheck"]
