// Bundles page.jsx and serves it. It prints {"port":..}, and ends with its standard input.
import { build } from "esbuild";
import http from "node:http";

const made = await build({
  entryPoints: ["page.jsx"], bundle: true, write: false, format: "iife", platform: "browser", jsx: "automatic", logLevel: "error",
  define: { "process.env.NODE_ENV": '"production"' },
});
const script = made.outputFiles[0].contents;
const html = '<!doctype html><html lang="en"><meta charset="utf-8"><title>chat</title><div id="app"></div><script src="/page.js"></script></html>';
const server = http.createServer((req, res) => {
  if (req.url === "/page.js") return res.writeHead(200, { "Content-Type": "text/javascript" }).end(script);
  res.writeHead(req.url === "/" ? 200 : 404, { "Content-Type": "text/html" }).end(req.url === "/" ? html : "");
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
process.stdout.write(JSON.stringify({ port: server.address().port }) + "\n");
process.stdin.on("end", () => process.exit(0)).resume();
