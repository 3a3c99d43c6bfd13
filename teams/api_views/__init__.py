"""API of a team: who am I, who is in it, what they may do, what speaks for them, what happened."""
