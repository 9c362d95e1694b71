"""Files in object stores: what is equal for all of them."""
