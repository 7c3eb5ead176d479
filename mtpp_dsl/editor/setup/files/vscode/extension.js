// Starts `mtpp lsp`, keeps it told of the texts, and offers VS Code what it answers.
"use strict";
const vscode = require("vscode");
const { Connection } = require("./connection");
const convert = require("./convert");

const RESTARTS = 3;
const SELECTOR = { language: "mtpp" };
let client;

class Client {
  constructor(context) {
    this.log = vscode.window.createOutputChannel("mtpp");
    this.diagnostics = vscode.languages.createDiagnosticCollection("mtpp");
    this.registered = [];
    this.failures = 0;
    const of = (listen) => (document) => document.languageId === "mtpp" && this.connection && listen(document);
    context.subscriptions.push(
      this.log,
      this.diagnostics,
      vscode.workspace.onDidOpenTextDocument(of((document) => this.open(document))),
      vscode.workspace.onDidCloseTextDocument(of((document) => this.close(document))),
      vscode.workspace.onDidSaveTextDocument(of((document) => this.tell("didSave", document))),
      vscode.workspace.onDidChangeTextDocument((event) => of(() => this.change(event))(event.document)),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("mtpp.command") && this.restart()),
      vscode.commands.registerCommand("mtpp.restart", () => this.restart()),
      vscode.commands.registerCommand("mtpp.solve", () => this.solve()),
    );
    const watcher = vscode.workspace.createFileSystemWatcher("**/*.{mtpp,json,csv,onnx,pt2,gguf}");
    const changed = (type) => (uri) => this.changedFile(uri, type);
    context.subscriptions.push(watcher, watcher.onDidCreate(changed(1)), watcher.onDidChange(changed(2)), watcher.onDidDelete(changed(3)));
  }

  command() {
    return vscode.workspace.getConfiguration("mtpp").get("command");
  }

  async start() {
    const folders = (vscode.workspace.workspaceFolders || []).map(({ uri, name }) => ({ uri: uri.toString(), name }));
    const cwd = folders.length ? vscode.workspace.workspaceFolders[0].uri.fsPath : undefined;
    const handlers = {
      "textDocument/publishDiagnostics": ({ uri, diagnostics }) =>
        this.diagnostics.set(vscode.Uri.parse(uri), diagnostics.map(convert.ofDiagnostic)),
      "window/logMessage": ({ message }) => this.log.appendLine(message),
      "window/showMessage": ({ message }) => vscode.window.showWarningMessage(message),
      "workspace/configuration": ({ items }) => items.map(() => null),
      "client/registerCapability": () => null,
      "client/unregisterCapability": () => null,
      "workspace/applyEdit": async ({ edit }) => ({ applied: await vscode.workspace.applyEdit(convert.ofWorkspaceEdit(edit)) }),
      "workspace/inlayHint/refresh": () => null,
      "workspace/semanticTokens/refresh": () => null,
    };
    const connection = new Connection(this.command(), cwd, handlers, (text) => this.log.appendLine(text), (reason) => this.lost(reason));
    const answer = await connection.request("initialize", {
      processId: process.pid,
      clientInfo: { name: "VS Code", version: vscode.version },
      rootUri: folders.length ? folders[0].uri : null,
      workspaceFolders: folders.length ? folders : null,
      capabilities: CAPABILITIES,
    });
    connection.notify("initialized", {});
    this.connection = connection;
    this.register(answer.capabilities);
    vscode.workspace.textDocuments.filter((document) => document.languageId === "mtpp").forEach((document) => this.open(document));
  }

  // Offers what the server says that it can.
  register(can) {
    const ask = (method, fields, convertAnswer) => async (document, ...rest) => {
      const token = rest.find((each) => each && each.onCancellationRequested);
      const params = { textDocument: { uri: document.uri.toString() }, ...fields(...rest) };
      try {
        return convertAnswer(await this.connection.request(`textDocument/${method}`, params, token));
      } catch (error) {
        if (token && token.isCancellationRequested) return undefined;
        throw error;
      }
    };
    const at = (position) => ({ position: convert.toPosition(position) });
    const within = (range) => ({ range: convert.toRange(range) });
    const none = () => ({});
    const options = (formatting) => ({ options: { tabSize: formatting.tabSize, insertSpaces: formatting.insertSpaces } });
    const { languages } = vscode;
    const offer = (capability, make) => can[capability] && this.registered.push(make(can[capability]));

    offer("completionProvider", ({ triggerCharacters }) =>
      languages.registerCompletionItemProvider(
        SELECTOR, { provideCompletionItems: ask("completion", at, convert.ofCompletions) }, ...(triggerCharacters || [])));
    offer("hoverProvider", () => languages.registerHoverProvider(SELECTOR, { provideHover: ask("hover", at, convert.ofHover) }));
    offer("definitionProvider", () =>
      languages.registerDefinitionProvider(SELECTOR, { provideDefinition: ask("definition", at, convert.ofLocations) }));
    offer("referencesProvider", () =>
      languages.registerReferenceProvider(SELECTOR, {
        provideReferences: ask(
          "references",
          (position, { includeDeclaration }) => ({ ...at(position), context: { includeDeclaration } }),
          convert.ofLocations,
        ),
      }));
    offer("documentHighlightProvider", () =>
      languages.registerDocumentHighlightProvider(SELECTOR, {
        provideDocumentHighlights: ask("documentHighlight", at, convert.all(convert.ofHighlight)),
      }));
    offer("renameProvider", () =>
      languages.registerRenameProvider(SELECTOR, {
        provideRenameEdits: ask("rename", (position, newName) => ({ ...at(position), newName }), convert.ofWorkspaceEdit),
        prepareRename: ask("prepareRename", at, (found) => {
          if (!found) throw new Error("this cannot be renamed");
          return found.placeholder ? { range: convert.ofRange(found.range), placeholder: found.placeholder } : convert.ofRange(found);
        }),
      }));
    offer("documentFormattingProvider", () =>
      languages.registerDocumentFormattingEditProvider(SELECTOR, {
        provideDocumentFormattingEdits: ask("formatting", options, convert.all(convert.ofEdit)),
      }));
    offer("documentRangeFormattingProvider", () =>
      languages.registerDocumentRangeFormattingEditProvider(SELECTOR, {
        provideDocumentRangeFormattingEdits: ask(
          "rangeFormatting", (range, formatting) => ({ ...within(range), ...options(formatting) }), convert.all(convert.ofEdit)),
      }));
    offer("codeActionProvider", () =>
      languages.registerCodeActionsProvider(SELECTOR, {
        provideCodeActions: ask("codeAction", (range, { diagnostics, only }) => ({
          ...within(range),
          context: { diagnostics: diagnostics.map((each) => each.sent).filter(Boolean), only: only && [only.value] },
        }), convert.all(convert.ofAction)),
      }));
    offer("inlayHintProvider", () =>
      languages.registerInlayHintsProvider(SELECTOR, { provideInlayHints: ask("inlayHint", within, convert.all(convert.ofHint)) }));
    offer("documentSymbolProvider", () =>
      languages.registerDocumentSymbolProvider(SELECTOR, {
        provideDocumentSymbols: ask("documentSymbol", none, convert.all(convert.ofSymbol)),
      }));
    offer("foldingRangeProvider", () =>
      languages.registerFoldingRangeProvider(SELECTOR, {
        provideFoldingRanges: ask("foldingRange", none, convert.all(convert.ofFold)),
      }));
    offer("semanticTokensProvider", ({ legend }) =>
      languages.registerDocumentSemanticTokensProvider(
        SELECTOR,
        { provideDocumentSemanticTokens: ask("semanticTokens/full", none, convert.ofTokens) },
        new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)));
  }

  tell(method, document, more) {
    this.connection.notify(`textDocument/${method}`, { textDocument: { uri: document.uri.toString() }, ...more });
  }

  open(document) {
    const { languageId, version } = document;
    const textDocument = { uri: document.uri.toString(), languageId, version, text: document.getText() };
    this.connection.notify("textDocument/didOpen", { textDocument });
  }

  close(document) {
    this.tell("didClose", document);
    this.diagnostics.delete(document.uri);
  }

  change({ document, contentChanges }) {
    const textDocument = { uri: document.uri.toString(), version: document.version };
    const changes = contentChanges.map((change) => ({ range: convert.toRange(change.range), text: change.text }));
    if (changes.length) this.connection.notify("textDocument/didChange", { textDocument, contentChanges: changes });
  }

  changedFile(uri, type) {
    if (this.connection) this.connection.notify("workspace/didChangeWatchedFiles", { changes: [{ uri: uri.toString(), type }] });
  }

  forget() {
    this.connection = undefined;
    this.registered.splice(0).forEach((each) => each.dispose());
    this.diagnostics.clear();
  }

  async lost(reason) {
    this.forget();
    this.log.appendLine(`the language server is gone: ${reason}`);
    if (++this.failures <= RESTARTS && !/ENOENT|code 2/.test(reason)) return this.begin();
    const command = this.command().join(" ");
    vscode.window.showErrorMessage(
      `'${command} lsp' does not run (${reason}). Install it with: pip install "mtpp-dsl[lsp]", or set mtpp.command.`,
    );
    return undefined;
  }

  begin() {
    return this.start().catch((error) => this.log.appendLine(error.message));
  }

  async restart() {
    const { connection } = this;
    this.failures = 0;
    this.forget();
    if (connection) await connection.close();
    await this.begin();
  }

  solve() {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const quoted = [...this.command(), "solve", editor.document.uri.fsPath].map((word) => `"${word.replace(/"/g, '\\"')}"`);
    const terminal = vscode.window.createTerminal("mtpp");
    terminal.show();
    terminal.sendText((process.platform === "win32" ? "& " : "") + quoted.join(" "));
  }
}

const CAPABILITIES = {
  general: { positionEncodings: ["utf-16"] },
  workspace: { applyEdit: true, configuration: true, workspaceFolders: true, workspaceEdit: { documentChanges: true } },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { relatedInformation: true, tagSupport: { valueSet: [1, 2] }, codeDescriptionSupport: true, versionSupport: true },
    completion: {
      completionItem: { snippetSupport: true, documentationFormat: ["markdown", "plaintext"], labelDetailsSupport: true },
    },
    hover: { contentFormat: ["markdown", "plaintext"] },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "source", "source.fixAll"] } }, isPreferredSupport: true },
    rename: { prepareSupport: true },
    inlayHint: {},
    foldingRange: { lineFoldingOnly: true },
    semanticTokens: {
      requests: { full: true },
      formats: ["relative"],
      tokenTypes: ["class", "struct", "label", "variable", "parameter", "property", "function", "keyword", "string", "number", "operator", "comment", "type", "namespace"],
      tokenModifiers: ["declaration", "definition", "readonly", "defaultLibrary"],
    },
  },
};

function activate(context) {
  client = new Client(context);
  return client.begin();
}

function deactivate() {
  return client && client.connection ? client.connection.close() : undefined;
}

module.exports = { activate, deactivate };
