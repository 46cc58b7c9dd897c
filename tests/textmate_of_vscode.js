// Reads {path: text} as JSON from standard input; prints {path: [[start, end, scope], …]} by the
// tokenizer of VS Code. Arguments: the folder of node_modules, the grammar.

"use strict";

const fs = require("node:fs");
const path = require("node:path");

const [modules, grammarFile] = process.argv.slice(2);
const load = (name) => require(path.join(modules, name));
const { INITIAL, Registry, parseRawGrammar } = load("vscode-textmate");
const oniguruma = load("vscode-oniguruma");

async function main() {
  await oniguruma.loadWASM(fs.readFileSync(path.join(modules, "vscode-oniguruma/release/onig.wasm")).buffer);
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
  });
  const grammar = await registry.loadGrammar("source.law");
  const result = {};
  for (const [name, text] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
    let stack = INITIAL;
    let offset = 0;
    result[name] = [];
    for (const line of text.split("\n")) {
      const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
      stack = ruleStack;
      for (const token of tokens) {
        const scope = token.scopes[token.scopes.length - 1];
        const end = Math.min(token.endIndex, line.length);
        if (token.startIndex < end) result[name].push([offset + token.startIndex, offset + end, scope]);
      }
      offset += line.length + 1;
    }
  }
  process.stdout.write(JSON.stringify(result));
}

main();
