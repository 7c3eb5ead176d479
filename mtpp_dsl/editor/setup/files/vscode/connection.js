// A JSON-RPC connection to `mtpp lsp` over its standard input and output.
"use strict";
const { spawn } = require("child_process");

class Connection {
  // handlers: {method: params => result}; lost: called once, with the reason, when the server has ended.
  constructor(command, cwd, handlers, log, lost) {
    this.handlers = handlers;
    this.log = log;
    this.waiting = new Map();
    this.next = 1;
    this.input = Buffer.alloc(0);
    this.lost = (reason) => {
      this.lost = () => {};
      for (const { reject } of this.waiting.values()) reject(new Error(reason));
      this.waiting.clear();
      lost(reason);
    };
    this.server = spawn(command[0], command.slice(1).concat("lsp", "--stdio"), { cwd });
    this.server.on("error", (error) => this.lost(error.message));
    this.server.on("exit", (code, signal) => this.lost(`it ended with ${signal || `code ${code}`}`));
    this.server.stdin.on("error", () => {});
    this.server.stderr.on("data", (text) => log(String(text).trimEnd()));
    this.server.stdout.on("data", (piece) => this.read(piece));
  }

  read(piece) {
    this.input = Buffer.concat([this.input, piece]);
    for (;;) {
      const head = this.input.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = /content-length: *(\d+)/i.exec(this.input.toString("ascii", 0, head));
      const end = head + 4 + Number(length ? length[1] : 0);
      if (this.input.length < end) return;
      const body = this.input.toString("utf8", head + 4, end);
      this.input = this.input.subarray(end);
      this.take(JSON.parse(body));
    }
  }

  take(message) {
    if (message.method === undefined) {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (waiting === undefined) return;
      if (message.error) waiting.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
      else waiting.resolve(message.result);
      return;
    }
    const handler = this.handlers[message.method];
    if (message.id === undefined) {
      if (handler) handler(message.params);
      return;
    }
    const answer = { jsonrpc: "2.0", id: message.id };
    Promise.resolve()
      .then(() => {
        if (!handler) throw Object.assign(new Error(`no method ${message.method}`), { code: -32601 });
        return handler(message.params);
      })
      .then(
        (result) => this.send({ ...answer, result: result === undefined ? null : result }),
        (error) => this.send({ ...answer, error: { code: error.code || -32603, message: error.message } }),
      );
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }), "utf8");
    if (!this.server.stdin.writable) return;
    this.server.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.server.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  // token: of VS Code; when it is cancelled, so is the request.
  request(method, params, token) {
    const id = this.next++;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ id, method, params });
    const cancelled = token && token.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
    return answer.finally(() => cancelled && cancelled.dispose());
  }

  async close() {
    const ended = new Promise((resolve) => this.server.once("exit", resolve));
    this.lost = () => {};
    const late = setTimeout(() => this.server.kill(), 2000);
    try {
      await Promise.race([this.request("shutdown", null), ended]);
      this.notify("exit", null);
      await ended;
    } finally {
      clearTimeout(late);
    }
  }
}

module.exports = { Connection };
