"""A real cluster under real faults: what breaks it, who uses it meanwhile, and what must hold in the end."""
