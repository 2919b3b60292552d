"""`fieldops sample` and `fieldops judge`: human review of recorded runs."""
