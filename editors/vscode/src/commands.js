// The commands check, fit, solve and plot: they run the command line on the open file.

"use strict";

const { promises: fs } = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");

const { page } = require("./page");
const { INSTALL, isMissing, joinArguments, run, splitArguments } = require("./program");

const TABLES = { Tables: ["csv", "csv.gz", "gz", "parquet", "sqlite", "db", "txt"], "All files": ["*"] };
const FITS = { "Fits": ["json"] };
// the meanings of the exit codes, as in docs/json-and-files.md; null: the user stopped the command
const EXIT_CODES = {
  null: "stopped",
  0: "done",
  1: "finished with problems, see below",
  2: "invalid arguments or options, see below",
  3: "invalid input, see below",
  5: "internal error of lawdsl, see below",
};
const KINDS = ["fit", "residuals", "profile", "extrapolation", "landscape", "groups"];

let panel;
let stopping; // stops the program whose output the panel shows

/** The command of the settings. */
function configuredCommand(resource) {
  const command = vscode.workspace.getConfiguration("lawdsl", resource).get("command");
  const valid = Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === "string");
  return valid ? command : ["lawdsl"];
}

/** Says that the program is missing, and how to install it. */
async function sayMissing(command, detail) {
  const copy = "Copy the command";
  const settings = "Open the settings";
  const message = `${detail ?? `The program ${command[0]} cannot be started.`} Install it with: ${INSTALL}`;
  const chosen = await vscode.window.showErrorMessage(message, copy, settings);
  if (chosen === copy) await vscode.env.clipboard.writeText(INSTALL);
  if (chosen === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "lawdsl.command");
}

/** The file of the active editor, saved; undefined if there is none. */
async function openFile() {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== "law") {
    vscode.window.showErrorMessage("Open a .law file first.");
    return undefined;
  }
  if (!vscode.workspace.isTrusted) {
    vscode.window.showErrorMessage("lawdsl starts no program in a folder that is not trusted.");
    return undefined;
  }
  if (document.isUntitled || document.uri.scheme !== "file") {
    vscode.window.showErrorMessage("Save the law as a file first.");
    return undefined;
  }
  if (document.isDirty && !(await document.save())) return undefined;
  return document.uri.fsPath;
}

/** Shows a result in the panel, which is created if there is none. */
function show(content) {
  if (panel === undefined) {
    const column = vscode.ViewColumn.Beside;
    panel = vscode.window.createWebviewPanel("lawdsl", "lawdsl", { viewColumn: column, preserveFocus: true }, {
      enableScripts: false,
      localResourceRoots: [],
    });
    panel.onDidDispose(() => {
      panel = undefined;
      stopping?.abort();
    });
  } else {
    panel.reveal(undefined, true);
  }
  panel.title = content.title;
  panel.webview.html = page(content);
}

/** A path as it is written in a folder: below it, the rest of the path. */
function inFolder(word, folder) {
  return word.startsWith(folder + path.sep) ? word.slice(folder.length + 1) : word;
}

/**
 * Runs a command and shows what it prints.
 *
 * figure: the path of an SVG file that the command writes, or undefined.
 */
async function runAndShow(title, file, words, figure) {
  stopping?.abort();
  const controller = new AbortController();
  stopping = controller;
  const command = configuredCommand(vscode.Uri.file(file));
  const folder = path.dirname(file);
  const shown = figure === undefined ? words : words.filter((word) => word !== figure && word !== "-o");
  const line = joinArguments(["lawdsl", ...shown.map((word) => inFolder(word, folder))]);
  show({ title, line, state: "running", words: "running …", output: "" });
  const options = { location: vscode.ProgressLocation.Window, title: `lawdsl: ${title}`, cancellable: true };
  try {
    const done = await vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => controller.abort());
      return run(command, words, { cwd: folder, signal: controller.signal });
    });
    if (stopping !== controller || panel === undefined) return; // another command has the panel
    const svg = figure === undefined ? undefined : await fs.readFile(figure, "utf8").catch(() => undefined);
    // the figure is shown; its file is gone by then
    const output = figure === undefined ? done.output : done.output.replace(`wrote ${figure}`, "");
    const state = done.code === 0 ? "ok" : "failed";
    show({ title, line, state, words: EXIT_CODES[done.code] ?? `exit code ${done.code}`, output, svg });
  } catch (error) {
    const output = isMissing(error) ? `${command[0]} cannot be started.\n\n${INSTALL}` : String(error);
    if (panel !== undefined) show({ title, line, state: "failed", words: "not started", output });
    if (isMissing(error)) await sayMissing(command);
  }
}

/** Asks for a file that exists; its path, or undefined. */
async function pickFile(title, filters, folder) {
  const defaultUri = vscode.Uri.file(folder);
  const picked = await vscode.window.showOpenDialog({ title, filters, defaultUri, canSelectMany: false });
  return picked?.[0]?.fsPath;
}

/** Asks for arguments, and proposes the last ones for this file and command. */
async function askArguments(context, key, options) {
  const value = context.workspaceState.get(key, "");
  const validateInput = (line) => {
    try {
      splitArguments(line);
      return undefined;
    } catch (error) {
      return error.message;
    }
  };
  const line = await vscode.window.showInputBox({ value, validateInput, ignoreFocusOut: true, ...options });
  if (line === undefined) return undefined;
  await context.workspaceState.update(key, line);
  return splitArguments(line);
}

/** The name of a law file without its ending. */
function nameOf(file) {
  return path.basename(file, ".law");
}

/** Checks the claims of the open file. */
async function check() {
  const file = await openFile();
  if (file !== undefined) await runAndShow(`Claims of ${nameOf(file)}`, file, ["check", file]);
}

/** Fits the open law to a table. */
async function fit(context) {
  const file = await openFile();
  if (file === undefined) return;
  const folder = context.workspaceState.get(`folder of tables:${file}`, path.dirname(file));
  const table = await pickFile("The table to fit the law to", TABLES, folder);
  if (table === undefined) return;
  await context.workspaceState.update(`folder of tables:${file}`, path.dirname(table));
  const words = await askArguments(context, `fit:${file}`, {
    title: "Columns and options",
    prompt: "NAME=COLUMN where names differ, and options of `lawdsl fit`; may be empty",
    placeHolder: 'L=val_loss "D=tokens_B [Gtoken]" --where "size = 70M"',
  });
  if (words === undefined) return;
  const output = await vscode.window.showSaveDialog({
    title: "Where to write the fit",
    defaultUri: vscode.Uri.file(path.join(path.dirname(file), `${nameOf(file)}.fit.json`)),
    filters: FITS,
  });
  if (output === undefined) return;
  await runAndShow(`Fit of ${nameOf(file)}`, file, ["fit", file, table, ...words, "-o", output.fsPath]);
}

/** Answers the open question. */
async function solve(context) {
  const file = await openFile();
  if (file === undefined) return;
  const words = await askArguments(context, `solve:${file}`, {
    title: "Fits and values",
    prompt: "NAME=FIT.json and NAME=VALUE; empty shows what the question needs",
    placeHolder: "general=G.json domain=D.json N=1.8 D=10B T=3%",
  });
  if (words === undefined) return;
  await runAndShow(`Answer of ${nameOf(file)}`, file, ["solve", file, ...words]);
}

/** Plots the claims of the open law, or a fit. */
async function plot(context) {
  const file = await openFile();
  if (file === undefined) return;
  const ofLaw = { label: "Claims of this law", detail: "with their verdicts" };
  const ofFit = { label: "A fit …", detail: "FIT.json, written by `lawdsl fit -o`" };
  const chosen = await vscode.window.showQuickPick([ofLaw, ofFit], { title: "What to plot" });
  if (chosen === undefined) return;
  let words = [file];
  let title = `Figure of the claims of ${nameOf(file)}`;
  if (chosen === ofFit) {
    const source = await pickFile("The fit to plot", FITS, path.dirname(file));
    if (source === undefined) return;
    const kind = await vscode.window.showQuickPick(KINDS, { title: "Kind of figure" });
    if (kind === undefined) return;
    words = [source, "--kind", kind];
    title = `${path.basename(source)}: ${kind}`;
  }
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "lawdsl-"));
  try {
    const figure = path.join(folder, "figure.svg");
    await runAndShow(title, file, ["plot", ...words, "-o", figure], figure);
  } finally {
    await fs.rm(folder, { recursive: true, force: true });
  }
}

const COMMANDS = { runCheck: check, runFit: fit, runSolve: solve, runPlot: plot };

module.exports = { COMMANDS, configuredCommand, sayMissing };
