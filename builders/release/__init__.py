"""The way to the Hub: diff, plan, rehearse, apply, verify, status, rollback."""
