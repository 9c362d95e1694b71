"""How a command reaches a job that runs in another process of the same user, on the same machine."""
