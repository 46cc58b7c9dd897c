// Bundles the extension into dist/extension.js, with the licences of what is bundled beside it.

"use strict";

const fs = require("node:fs");
const path = require("node:path");
const esbuild = require("esbuild");

async function main() {
  fs.rmSync(path.join(__dirname, "dist"), { recursive: true, force: true });
  const { metafile } = await esbuild.build({
    absWorkingDir: __dirname,
    entryPoints: ["src/extension.js"],
    outfile: "dist/extension.js",
    bundle: true,
    external: ["vscode"],
    platform: "node",
    target: "node20",
    minify: true,
    metafile: true,
    logLevel: "warning",
  });
  const folders = new Set();
  for (const file of Object.keys(metafile.inputs)) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file);
    if (match) folders.add(match[1]);
  }
  const notices = [...folders].sort().map((folder) => {
    const { name, version } = JSON.parse(fs.readFileSync(path.join(__dirname, folder, "package.json"), "utf8"));
    const license = fs.readdirSync(path.join(__dirname, folder)).find((file) => /^licen[cs]e/i.test(file));
    if (license === undefined) throw new Error(`${name} has no licence file`);
    return `${name} ${version}\n\n${fs.readFileSync(path.join(__dirname, folder, license), "utf8").trim()}\n`;
  });
  fs.writeFileSync(path.join(__dirname, "dist/NOTICES.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
}

main();
