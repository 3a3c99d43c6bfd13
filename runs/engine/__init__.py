"""The work of experiments: claimed from rows with a lease and an epoch, done item by item, settled against the claim.

Rows are the truth. A message only wakes a worker; lost, late or doubled it costs a tick, never an answer.
"""
