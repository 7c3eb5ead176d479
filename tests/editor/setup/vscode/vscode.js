// As much of VS Code's module as the extension uses: events are fired by the test, and what is registered is kept.
"use strict";
const { pathToFileURL, fileURLToPath } = require("url");

const record = (...names) =>
  class {
    constructor(...values) {
      names.forEach((name, i) => (this[name] = values[i]));
    }
  };

class Uri {
  constructor(text) {
    this.text = text;
  }
  static parse(text) {
    return new Uri(text);
  }
  static file(path) {
    return new Uri(pathToFileURL(path).href);
  }
  get fsPath() {
    return fileURLToPath(this.text);
  }
  toString() {
    return this.text;
  }
}

function event() {
  const listeners = new Set();
  const listen = (listener) => {
    listeners.add(listener);
    return { dispose: () => listeners.delete(listener) };
  };
  listen.fire = (value) => listeners.forEach((listener) => listener(value));
  return listen;
}

class WorkspaceEdit {
  constructor() {
    this.edits = {};
  }
  set(uri, edits) {
    this.edits[uri] = edits;
  }
}

const providers = {};
const said = [];
const diagnostics = new Map();
const changed = event();
const nothing = () => ({ dispose() {} });
const registering = (kind) => (selector, provider, ...more) => {
  providers[kind] = { provider, more };
  return { dispose: () => delete providers[kind] };
};

module.exports = {
  version: "1.0-of-the-test",
  Uri,
  WorkspaceEdit,
  Position: record("line", "character"),
  Range: record("start", "end"),
  TextEdit: record("range", "newText"),
  Location: record("uri", "range"),
  Diagnostic: record("range", "message", "severity"),
  DiagnosticRelatedInformation: record("location", "message"),
  MarkdownString: record("value"),
  SnippetString: record("value"),
  CompletionItem: record("label", "kind"),
  CompletionList: record("items", "isIncomplete"),
  Hover: record("contents", "range"),
  DocumentSymbol: record("name", "detail", "kind", "range", "selectionRange"),
  DocumentHighlight: record("range", "kind"),
  FoldingRange: record("start", "end", "kind"),
  InlayHint: record("position", "label", "kind"),
  SemanticTokens: record("data", "resultId"),
  SemanticTokensLegend: record("types", "modifiers"),
  CodeAction: record("title", "kind"),
  CodeActionKind: { Empty: { append: (value) => ({ value }) } },
  window: {
    createOutputChannel: () => ({ appendLine: (line) => said.push(line), dispose() {} }),
    showErrorMessage: (line) => said.push(line),
    showWarningMessage: (line) => said.push(line),
  },
  commands: { registerCommand: (name, run) => ((providers[name] = run), { dispose() {} }) },
  workspace: {
    textDocuments: [],
    workspaceFolders: [],
    onDidOpenTextDocument: event(),
    onDidCloseTextDocument: event(),
    onDidSaveTextDocument: event(),
    onDidChangeTextDocument: event(),
    onDidChangeConfiguration: event(),
    createFileSystemWatcher: () => ({ onDidCreate: nothing, onDidChange: nothing, onDidDelete: nothing, dispose() {} }),
    getConfiguration: () => ({ get: () => JSON.parse(process.env.MTPP_COMMAND) }),
  },
  languages: {
    createDiagnosticCollection: () => ({
      set: (uri, found) => (diagnostics.set(uri.toString(), found), changed.fire(uri.toString())),
      delete: (uri) => diagnostics.delete(uri.toString()),
      clear: () => diagnostics.clear(),
      dispose() {},
    }),
    registerCompletionItemProvider: registering("completion"),
    registerHoverProvider: registering("hover"),
    registerDefinitionProvider: registering("definition"),
    registerReferenceProvider: registering("references"),
    registerDocumentHighlightProvider: registering("highlight"),
    registerRenameProvider: registering("rename"),
    registerDocumentFormattingEditProvider: registering("formatting"),
    registerDocumentRangeFormattingEditProvider: registering("rangeFormatting"),
    registerCodeActionsProvider: registering("actions"),
    registerInlayHintsProvider: registering("hints"),
    registerDocumentSymbolProvider: registering("symbols"),
    registerFoldingRangeProvider: registering("folds"),
    registerDocumentSemanticTokensProvider: registering("tokens"),
  },
  test: { providers, said, diagnostics, changed },
};
