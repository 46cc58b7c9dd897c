// The page of the panel. Nothing in it can run or load: texts are escaped, figures are images.

"use strict";

const { randomBytes } = require("node:crypto");

function escaped(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  // characters that could reorder or hide the text are shown by their number
  return text
    .replace(/[&<>"']/g, (char) => entities[char])
    .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (char) => {
      if (char === "\r") return "";
      return `\\u${char.codePointAt(0).toString(16).padStart(4, "0")}`;
    });
}

const STYLE = `
body { font-family: var(--vscode-font-family); color: var(--vscode-editor-foreground); padding: 0 1.2em 1.2em; }
h1 { font-size: 1.15em; font-weight: 600; margin: 1em 0 0.2em; }
.line { font-family: var(--vscode-editor-font-family, monospace); color: var(--vscode-descriptionForeground); overflow-wrap: anywhere; }
.state { margin: 0.6em 0; font-weight: 600; }
.state.failed { color: var(--vscode-testing-iconFailed, #c72e0f); }
.state.running { color: var(--vscode-descriptionForeground); }
pre { font-family: var(--vscode-editor-font-family, monospace); font-size: calc(0.9 * var(--vscode-editor-font-size)); line-height: 1.45;
  overflow-x: auto; padding: 0.8em 1em; background: var(--vscode-textCodeBlock-background); border-radius: 4px; }
img { max-width: 100%; background: white; padding: 8px; border-radius: 4px; box-sizing: border-box; }
`;

/**
 * HTML of a result.
 *
 * title, line (the command), state (ok, failed, running) and its words, output: texts.
 * svg: a figure, or undefined. It is shown as an image, in which no script runs and nothing loads.
 */
function page({ title, line, state, words, output, svg }) {
  const nonce = randomBytes(16).toString("base64");
  const policy = `default-src 'none'; img-src data:; style-src 'nonce-${nonce}'`;
  const figure =
    svg === undefined
      ? ""
      : `<img alt="${escaped(title)}" src="data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}">`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escaped(title)}</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<div class="line">${escaped(line)}</div>
<p class="state ${state}" role="status">${escaped(words)}</p>
${figure}
${output.trim() === "" ? "" : `<pre tabindex="0">${escaped(output.trimEnd())}</pre>`}
</body>
</html>
`;
}

module.exports = { escaped, page };
