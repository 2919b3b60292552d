"""`fieldops card`: the environment card."""
