"""Other tools' result files: pure readers, and the writer that turns what they read into evidence."""
