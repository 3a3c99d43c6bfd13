"""What happened: experiments, executions, attempts, answers, cost facts."""
