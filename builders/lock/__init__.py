"""Lock: model, manifest, and the committed locks."""
