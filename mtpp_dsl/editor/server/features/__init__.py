"""Answer what editors ask of a text, one module a feature: functions of a reading, to be tested without a server.

It imports the rest of the server, the language, and lsprotocol, of the extra ``lsp``.
"""
