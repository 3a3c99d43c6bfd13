"""The work of passes: judgments of answers as they come, through the same claims, leases and ledger as experiments."""
