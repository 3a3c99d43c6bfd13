"""Pages of a team: who is in it, what they may do, its tokens, its audit log."""
