"""The codes of messages: what each means, an example that causes it, and the remedy.

One module holds the codes of one area; docs/errors.md is made from them. It may import nothing of the rest.
"""
