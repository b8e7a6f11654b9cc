"""Lock: model, content hash, manifest."""
