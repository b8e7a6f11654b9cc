"""The spot-check of hard negatives and positives: sample, page, verdicts, rates, report, decisions."""
