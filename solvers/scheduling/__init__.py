"""Schedules on links: instances, timing, list schedulers and what they share."""
