"""Rows between reading and checking: normalised, scrubbed, merged, related, dealt, drawn, counted."""
