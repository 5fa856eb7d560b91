"""Certificates of the admission server. Imports nothing of `webhook`."""
