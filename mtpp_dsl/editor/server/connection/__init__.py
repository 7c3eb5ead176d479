"""The server that editors start: messages of the protocol to readings and features, and back.

It imports the rest of the server, and pygls and lsprotocol, of the extra ``lsp``.
"""
