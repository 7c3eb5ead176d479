// Prints [line, begin, end, kind] of each piece of the files that are named, by the code that VS Code itself uses.
// node textmate.js GRAMMAR FILE...
"use strict";
const fs = require("fs");
const { createRequire } = require("module");
const need = createRequire(process.env.PACKAGES + "/");
const { INITIAL, Registry, parseRawGrammar } = need("vscode-textmate");
const oniguruma = need("vscode-oniguruma");

async function main([path, ...files]) {
  await oniguruma.loadWASM(fs.readFileSync(need.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(path, "utf8"), path),
  });
  const grammar = await registry.loadGrammar("source.mtpp");
  const found = files.map((file) => {
    let state = INITIAL;
    return fs.readFileSync(file, "utf8").split("\n").map((line) => {
      const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
      state = ruleStack;
      return tokens.map(({ startIndex, endIndex, scopes }) => [startIndex, endIndex, scopes[scopes.length - 1]]);
    });
  });
  console.log(JSON.stringify(found));
}

main(process.argv.slice(2));
