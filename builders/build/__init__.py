"""The order of the steps of a build, from fetched sources to the lock."""
