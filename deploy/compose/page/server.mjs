// Serves the page and CopilotKit's runtime, which sends the runs to AGENT_URL: that is Holdpoint.
// There is no login here. Who reaches this port may ask, and answer what the agent asks.
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const { AGENT_URL: url, PORT: port = "3000" } = process.env;
if (!url) throw new Error("AGENT_URL is not set: the address of Holdpoint");

const types = { html: "text/html", js: "text/javascript", css: "text/css", woff2: "font/woff2" };
const folder = new URL("public/", import.meta.url);
const files = new Map(readdirSync(folder).map((name) => [`/${name}`, {
  type: types[name.split(".").pop()], body: readFileSync(new URL(name, folder)),
}]));
files.set("/", files.get("/index.html"));

const runtime = new CopilotRuntime({
  agents: { default: new HttpAgent({ url }) },
  runner: new InMemoryAgentRunner(), // threads are in memory: a restart forgets what was said
});
const copilotkit = createCopilotNodeListener({ runtime, basePath: "/api/copilotkit" });

const server = http.createServer((req, res) => {
  if (req.url.startsWith("/api/")) return copilotkit(req, res);
  const found = files.get(req.url);
  if (!found) return res.writeHead(404).end();
  res.writeHead(200, { "Content-Type": found.type }).end(found.body);
});
server.listen(port, () => console.log(`listening on port ${server.address().port}`));

// The first process of a container gets no default for signals.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
