"""Where boxes and lines of pictures are: plain data, made without a browser and the same every time.

It imports problems, plans and reports, and knows nothing of HTML.
"""
