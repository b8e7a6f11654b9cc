"""Plots as SVG: small, searchable, the same bytes for the same values, readable in light and dark."""
