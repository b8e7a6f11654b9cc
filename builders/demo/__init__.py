"""The bundled sample and its walk."""
