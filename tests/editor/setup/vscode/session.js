// Drives the extension in a folder as VS Code would: opens a spec with a mistake, asks for everything, mends it.
// node session.js EXTENSION-FOLDER SPEC; prints JSON.
"use strict";
const fs = require("fs");
const Module = require("module");
const path = require("path");

const resolve = Module._resolveFilename;
const fake = path.join(__dirname, "vscode.js");
Module._resolveFilename = (name, ...rest) => (name === "vscode" ? fake : resolve(name, ...rest));
const vscode = require("vscode");
const { providers, said, diagnostics, changed } = vscode.test;
const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };

const published = (wanted) =>
  new Promise((resolve) => {
    const look = () => [...diagnostics.values()].some((found) => wanted(found)) && resolve([...diagnostics.values()].flat());
    changed(look);
    look();
  });

async function main([folder, file]) {
  const extension = require(path.join(folder, "extension.js"));
  let text = fs.readFileSync(file, "utf8").replace("minimize bottleneck", "minimise bottleneck");
  const uri = vscode.Uri.file(file);
  const document = { uri, languageId: "mtpp", version: 1, getText: () => text };
  vscode.workspace.textDocuments.push(document);
  const position = (word) => {
    const before = text.slice(0, text.indexOf(word) + 1).split("\n");
    return new vscode.Position(before.length - 1, before[before.length - 1].length);
  };
  await extension.activate({ subscriptions: [] });
  const wrong = await published((found) => found.some(({ message }) => message.includes("minimise")));
  const whole = new vscode.Range(new vscode.Position(0, 0), position("minimise"));
  const ask = (kind, method, ...rest) => providers[kind].provider[method](document, ...rest, token);
  const fixes = await ask("actions", "provideCodeActions", wrong[0].range, { diagnostics: wrong });

  const start = position("minimise");
  const change = { range: new vscode.Range({ ...start, character: 0 }, { ...start, character: 8 }), text: "minimize" };
  text = text.replace("minimise", "minimize");
  document.version = 2;
  vscode.workspace.onDidChangeTextDocument.fire({ document, contentChanges: [change] });
  await published((found) => found.every(({ severity }) => severity !== 0));

  const formatting = { tabSize: 2, insertSpaces: true };
  const found = {
    wrong: wrong.map(({ message, severity, code }) => ({ message, severity, code })),
    fixes: fixes.map(({ title, edit, diagnostics: of }) => ({ title, edits: edit && edit.edits, of: of.length })),
    completion: (await ask("completion", "provideCompletionItems", position("constraint acyclic"), {})).items.length,
    hover: (await ask("hover", "provideHover", position("embed"))).contents,
    definition: await ask("definition", "provideDefinition", position("embed ")),
    references: await ask("references", "provideReferences", position("embed"), { includeDeclaration: true }),
    rename: (await ask("rename", "provideRenameEdits", position("embed"), "first")).edits,
    formatting: await ask("formatting", "provideDocumentFormattingEdits", formatting),
    hints: await ask("hints", "provideInlayHints", whole),
    symbols: await ask("symbols", "provideDocumentSymbols"),
    tokens: (await ask("tokens", "provideDocumentSemanticTokens")).data.length,
    kinds: Object.keys(providers),
  };
  await extension.deactivate();
  console.log(JSON.stringify({ ...found, said }));
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error, said);
    process.exit(1);
  },
);
