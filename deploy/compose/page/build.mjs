// Makes dist/: the page in public/, and the server as one file that needs no node_modules.
import { cpSync, rmSync } from "node:fs";
import { build } from "esbuild";

rmSync("dist", { recursive: true, force: true });
const require = 'import { createRequire as make } from "node:module"; const require = make(import.meta.url);';
await Promise.all([
  build({
    entryPoints: ["page.jsx"], outdir: "dist/public", bundle: true, splitting: true, format: "esm",
    jsx: "automatic", minify: true, define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".woff2": "file", ".woff": "empty", ".ttf": "empty" }, // the fonts of formulas
  }),
  build({
    entryPoints: ["server.mjs"], outfile: "dist/server.mjs", bundle: true, format: "esm",
    platform: "node", banner: { js: require }, // some packages in it are not ES modules
  }),
]);
cpSync("page.html", "dist/public/index.html");
