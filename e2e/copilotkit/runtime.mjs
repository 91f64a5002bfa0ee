// CopilotKit's real runtime on its Node listener, with its runner that keeps threads in memory. It prints {port}, and ends with
// its standard input.
//
// Which address an agent has, its page says in the header x-agent-url: one runtime serves all tests. A real one knows it.
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true"; // nothing here speaks to a place outside
const { CopilotRuntime, InMemoryAgentRunner } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");

const runtime = new CopilotRuntime({
  agents: ({ request }) => ({ default: new HttpAgent({ url: request.headers.get("x-agent-url") ?? "http://127.0.0.1:9/" }) }),
  runner: new InMemoryAgentRunner(),
});
const server = http.createServer(createCopilotNodeListener({ runtime, basePath: "/api/copilotkit", cors: true }));
await new Promise((done) => server.listen(0, "127.0.0.1", done));
process.stdout.write(JSON.stringify({ port: server.address().port }) + "\n");
process.stdin.on("end", () => process.exit(0)).resume();
