"""Reddit submissions by id: the client, the ledger, dumps."""
