"""Submissions of Reddit: ids to texts on the user's own machine, and ledgers of their states."""
