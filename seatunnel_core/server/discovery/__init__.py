"""How the members of a cluster find each other, and how they notice that one of them is none."""
