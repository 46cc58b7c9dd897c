// Runs the command line of lawdsl, never through a shell.

"use strict";

const { spawn } = require("node:child_process");

const MOST_OUTPUT = 4 * 1024 * 1024; // characters; what comes after it is dropped

const INSTALL = "pip install 'lawdsl[lsp,figures]'";

/** The words of a line of arguments: they are separated by spaces; quotation marks keep spaces. */
function splitArguments(line) {
  const words = [];
  let word = null;
  let quote = null;
  for (const char of line) {
    if (quote !== null) {
      if (char === quote) quote = null;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word = word ?? "";
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote !== null) throw new Error(`${quote} is never closed`);
  return word === null ? words : [...words, word];
}

/** Arguments as a line that splitArguments reads. */
function joinArguments(words) {
  const quoted = (word) => {
    if (word !== "" && !/[\s'"]/.test(word)) return word;
    return word
      .split(/(")/)
      .filter((part) => part !== "" || word === "")
      .map((part) => (part === '"' ? `'"'` : `"${part}"`))
      .join("");
  };
  return words.map(quoted).join(" ");
}

/**
 * Runs a program to its end.
 *
 * Resolves to its output and exit code, null if it was stopped by `signal`; rejects if it cannot
 * be started.
 */
function run(command, words, { cwd, signal } = {}) {
  return new Promise((resolve, reject) => {
    const [program, ...first] = command;
    const env = { ...process.env, COLUMNS: "100", NO_COLOR: "1", PYTHONUTF8: "1" };
    const child = spawn(program, [...first, ...words], { cwd, env, signal, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const add = (text) => {
      if (output.length < MOST_OUTPUT) output += text;
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", add);
    }
    child.on("error", (error) => {
      if (error.name === "AbortError") resolve({ output, code: null });
      else reject(error);
    });
    child.on("close", (code) => resolve({ output, code }));
  });
}

/** Whether an error says that there is no such program. */
function isMissing(error) {
  return error?.code === "ENOENT" || error?.code === "EACCES";
}

module.exports = { INSTALL, isMissing, joinArguments, run, splitArguments };
