"""What holds in every run of the simulation, one object per rule."""
