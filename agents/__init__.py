"""What is evaluated: subjects, so far those of imported runs."""
