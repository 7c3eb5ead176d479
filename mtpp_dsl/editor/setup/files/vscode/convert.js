// Values of the language server protocol as those of VS Code, and back. Both count UTF-16.
"use strict";
const vscode = require("vscode");

const toPosition = (position) => ({ line: position.line, character: position.character });
const toRange = (range) => ({ start: toPosition(range.start), end: toPosition(range.end) });
const ofPosition = (position) => new vscode.Position(position.line, position.character);
const ofRange = (range) => new vscode.Range(ofPosition(range.start), ofPosition(range.end));
const all = (convert) => (values) => (values || []).map(convert);
const ofEdit = (edit) => new vscode.TextEdit(ofRange(edit.range), edit.newText);

function ofText(text) {
  if (typeof text === "string" || text === undefined) return text;
  return text.kind === "markdown" ? new vscode.MarkdownString(text.value) : text.value;
}

function ofDiagnostic(found) {
  const diagnostic = new vscode.Diagnostic(ofRange(found.range), found.message, (found.severity || 1) - 1);
  const target = found.codeDescription && vscode.Uri.parse(found.codeDescription.href);
  diagnostic.code = target ? { value: found.code, target } : found.code;
  diagnostic.source = found.source;
  diagnostic.tags = found.tags;
  diagnostic.relatedInformation = (found.relatedInformation || []).map(
    (other) => new vscode.DiagnosticRelatedInformation(ofLocation(other.location), other.message),
  );
  diagnostic.sent = found; // what the server wants to see again with a request for its fixes
  return diagnostic;
}

const ofLocation = (place) =>
  new vscode.Location(vscode.Uri.parse(place.uri || place.targetUri), ofRange(place.range || place.targetSelectionRange));
const ofLocations = (found) => (found ? [].concat(found).map(ofLocation) : found);

function ofWorkspaceEdit(edit) {
  const changes = new vscode.WorkspaceEdit();
  const texts = [
    ...Object.entries((edit && edit.changes) || {}),
    ...((edit && edit.documentChanges) || []).map((change) => [change.textDocument.uri, change.edits]),
  ];
  for (const [uri, edits] of texts) changes.set(vscode.Uri.parse(uri), edits.map(ofEdit));
  return changes;
}

function ofCompletion(item) {
  const kind = item.kind === undefined ? undefined : item.kind - 1;
  const found = new vscode.CompletionItem(item.labelDetails ? { label: item.label, ...item.labelDetails } : item.label, kind);
  for (const name of ["detail", "sortText", "filterText", "preselect", "commitCharacters"]) found[name] = item[name];
  found.documentation = ofText(item.documentation);
  const text = item.textEdit ? item.textEdit.newText : item.insertText;
  if (text !== undefined) found.insertText = item.insertTextFormat === 2 ? new vscode.SnippetString(text) : text;
  if (item.textEdit) found.range = ofRange(item.textEdit.range || item.textEdit.replace);
  found.additionalTextEdits = all(ofEdit)(item.additionalTextEdits);
  return found;
}

function ofCompletions(found) {
  if (!found) return found;
  const items = Array.isArray(found) ? found : found.items;
  return new vscode.CompletionList(items.map(ofCompletion), Boolean(found.isIncomplete));
}

function ofHover(hover) {
  if (!hover) return hover;
  return new vscode.Hover([].concat(hover.contents).map(ofText), hover.range && ofRange(hover.range));
}

function ofSymbol(symbol) {
  const places = [ofRange(symbol.range), ofRange(symbol.selectionRange)];
  const found = new vscode.DocumentSymbol(symbol.name, symbol.detail || "", symbol.kind - 1, ...places);
  found.children = all(ofSymbol)(symbol.children);
  return found;
}

function ofAction(action) {
  const found = new vscode.CodeAction(action.title, action.kind && vscode.CodeActionKind.Empty.append(action.kind));
  if (action.edit) found.edit = ofWorkspaceEdit(action.edit);
  found.diagnostics = all(ofDiagnostic)(action.diagnostics);
  found.isPreferred = action.isPreferred;
  return found;
}

function ofHint(hint) {
  const label = typeof hint.label === "string" ? hint.label : hint.label.map((part) => part.value).join("");
  const found = new vscode.InlayHint(ofPosition(hint.position), label, hint.kind);
  found.tooltip = ofText(hint.tooltip);
  found.paddingLeft = hint.paddingLeft;
  found.paddingRight = hint.paddingRight;
  return found;
}

const ofHighlight = (found) => new vscode.DocumentHighlight(ofRange(found.range), (found.kind || 1) - 1);
const ofFold = (fold) => new vscode.FoldingRange(fold.startLine, fold.endLine, fold.kind === "comment" ? 1 : undefined);
const ofTokens = (found) => found && new vscode.SemanticTokens(new Uint32Array(found.data), found.resultId);

module.exports = {
  all, ofAction, ofCompletions, ofDiagnostic, ofEdit, ofFold, ofHighlight, ofHint, ofHover, ofLocations, ofRange,
  ofSymbol, ofTokens, ofWorkspaceEdit, toPosition, toRange,
};
