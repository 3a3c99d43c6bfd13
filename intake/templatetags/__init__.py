"""Template tags of import pages."""
