"""What happens to jobs, told to an address of the operator's."""
