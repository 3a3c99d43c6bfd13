"""API of agents: themselves, drafts, snapshots, model routes, connectors, subjects."""
