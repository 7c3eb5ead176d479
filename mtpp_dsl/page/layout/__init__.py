"""Where boxes and lines of pictures are: plain data, made without a browser and the same every time.

It knows problems and plans, and nothing of HTML.
"""
