"""Text with places in it, and text that may be shown on a terminal.

This is the bottom of the house: it imports nothing of ours.
"""
