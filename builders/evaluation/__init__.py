"""Reference scores: does a rebuilt dataset behave as it should."""
