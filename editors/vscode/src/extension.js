// The extension: the language server, and commands that run the command line.

"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");
const { CloseAction, ErrorAction, LanguageClient } = require("vscode-languageclient/node");

const { COMMANDS, configuredCommand, sayMissing } = require("./commands");
const { isMissing } = require("./program");

const WAIT = 1500; // milliseconds in which a server that cannot work ends

let client;

/** Starts the server; resolves to its process, or rejects with what it says where it ends at once. */
function startServer(command) {
  return new Promise((resolve, reject) => {
    const [program, ...first] = command;
    const env = { ...process.env, PYTHONUTF8: "1" };
    const child = spawn(program, [...first, "lsp"], { env, stdio: "pipe" });
    let errors = "";
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text) => {
      if (errors.length < 10_000) errors += text;
    });
    child.on("error", reject);
    const timer = setTimeout(() => resolve(child), WAIT);
    child.on("exit", () => {
      clearTimeout(timer);
      reject(new Error(errors.trim().split("\n").slice(-6).join(" ") || "the language server ended immediately"));
    });
  });
}

async function startClient() {
  if (!vscode.workspace.isTrusted) return;
  if (!vscode.workspace.getConfiguration("lawdsl").get("languageServer")) return;
  const command = configuredCommand();
  let started;
  try {
    started = await startServer(command);
  } catch (error) {
    const detail = isMissing(error) ? undefined : `The language server did not start: ${error.message}.`;
    await sayMissing(command, detail);
    return;
  }
  const server = async () => {
    const process = started ?? (await startServer(command)); // a later start is a restart
    started = undefined;
    return process;
  };
  const restarts = [];
  const errorHandler = {
    error: () => ({ action: ErrorAction.Continue, handled: true }),
    closed: () => {
      // a server that ended is started again, but not over and over
      const now = Date.now();
      restarts.push(now);
      const recent = restarts.filter((time) => now - time < 180_000).length;
      if (recent <= 4) return { action: CloseAction.Restart, handled: true };
      const message = "The lawdsl language server ended 5 times in 3 minutes and will not be restarted.";
      return { action: CloseAction.DoNotRestart, message };
    },
  };
  client = new LanguageClient("lawdsl", "lawdsl", server, {
    documentSelector: [{ scheme: "file", language: "law" }, { scheme: "untitled", language: "law" }],
    initializationFailedHandler: () => false,
    errorHandler,
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    await vscode.window.showErrorMessage(`The lawdsl language server did not start: ${error.message}`);
  }
}

async function stopClient() {
  const stopped = client;
  client = undefined;
  await stopped?.stop(2000).catch(() => undefined);
}

function activate(context) {
  for (const [name, command] of Object.entries(COMMANDS)) {
    context.subscriptions.push(vscode.commands.registerCommand(`lawdsl.${name}`, () => command(context)));
  }
  const restart = async () => {
    await stopClient();
    await startClient();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("lawdsl.restartServer", restart),
    vscode.workspace.onDidGrantWorkspaceTrust(startClient),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const changed = ["lawdsl.command", "lawdsl.languageServer"].some((name) => event.affectsConfiguration(name));
      if (changed) restart();
    }),
  );
  startClient(); // not awaited: the commands work without the server
}

function deactivate() {
  return stopClient();
}

module.exports = { activate, deactivate };
