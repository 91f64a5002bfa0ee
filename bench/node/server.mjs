// A proxy of AG-UI's own packages: HttpAgent.run reads the events of the backend, EventEncoder writes them. It is what one
// writes in TypeScript to change events on their way, without the checks of runAgent. Ends with its standard input.
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";
import { EventEncoder } from "@ag-ui/encoder";

const upstream = process.argv[2];

const server = http.createServer((req, res) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    const agent = new HttpAgent({ url: upstream + req.url });
    const encoder = new EventEncoder();
    res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    const events = agent.run(JSON.parse(Buffer.concat(chunks))).subscribe({
      next: (event) => res.write(encoder.encode(event)),
      error: (err) => res.destroy(err), // an end would look like a whole stream
      complete: () => res.end(),
    });
    res.on("close", () => {
      events.unsubscribe();
      agent.abortRun();
    });
  });
});
server.listen(0, "127.0.0.1", () => console.log(`listening 127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
