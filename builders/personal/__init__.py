"""Finding and replacing personal data in German text."""
