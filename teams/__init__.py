"""Who may do what: teams, members, rights, request keys, refusals, audit."""
