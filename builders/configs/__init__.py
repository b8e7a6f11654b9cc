"""One file per dataset, ending in `CONFIG = ...`; found by file name."""
