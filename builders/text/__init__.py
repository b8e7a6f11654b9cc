"""Text: normalising, duplicates, and the keys of job titles. Pure functions."""
