"""`fieldops lock` and `fieldops packet`: what a release is made of, and its hand-off."""
