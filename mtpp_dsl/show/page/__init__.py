"""An answer as one self-contained page of HTML: its sections, frame, style and script.

Pages import problems, plans, reports, and what the language and editors know of the lines of a spec. What solves is
out of sight: everything that a page shows is in its view.
"""
