// Drives real @ag-ui/client instances of several versions for a test that is written in another language.
//
// Its arguments are the versions, if they are others than those below.
//
// One JSON object per line on stdin: {"seq":n,"op":...}; one per line on stdout: {"seq":n,...}, in any order, for
// commands run concurrently. It ends when stdin ends. Nothing that a client throws ends it: what no command can be
// blamed for is told as {"seq":0,"stray":"..."}.
//
//   new    {client,version,url,threadId,messages?,state?,headers?}
//   clone  {client,as}             the client's own clone(): messages, state and pending list travel along
//   set    {client,messages?,state?,pending?}
//   get    {client}
//   run    {client,params?,add?,empty?,patch?,abortOn?,timeoutMs?}
//          add: messages appended first; empty: forget the client's own pending list first, so that not the client
//          but what stands behind it is tested; patch: keys set in the request body after the client made it (a
//          client before 0.0.54 drops resume); abortOn: abortRun() when an event of this type was delivered
//   raw    {url,method?,headers?,body?|base64?}     no client at all
//
// A run answers {sent,wire,delivered,error,warnings,pending,messages,state}: the bodies that were sent, what came
// back on the wire, what the subscriber saw, what runAgent threw.
import { AsyncLocalStorage } from "node:async_hooks";
import readline from "node:readline";

const versions = process.argv.length > 2 ? process.argv.slice(2) : ["1.0.0", "0.0.59", "0.0.53"];
const running = new AsyncLocalStorage();
const plain = (v) => (v === undefined ? null : JSON.parse(JSON.stringify(v)));
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
const told = (e) => ({ name: e?.name ?? typeof e, message: String(e?.message ?? e), status: e?.status ?? null });

// The clients throw the error of a connection that breaks once more when they leave it, where nobody can catch it. Whoever
// called had it already, and its run says that the answer broke.
const delivered = new WeakMap();
process.on("unhandledRejection", (e) => {
  if (delivered.has(e)) say({ seq: 0, broke: delivered.get(e) });
  else say({ seq: 0, stray: `unhandledRejection: ${e?.stack ?? e}` });
});
process.on("uncaughtException", (e) => say({ seq: 0, stray: `uncaughtException: ${e?.stack ?? e}` }));
for (const level of ["log", "info", "debug", "warn", "error"])
  console[level] = (...args) => running.getStore()?.warnings.push(`${level}: ${args.map((a) => a?.message ?? String(a)).join(" ")}`);

function events(text) {
  const found = [];
  for (const block of text.split("\n\n")) {
    const data = block.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
    if (data === "") continue;
    try { found.push(JSON.parse(data)); } catch { found.push({ type: "(no JSON)", data }); }
  }
  return found;
}

// Every request of a client goes through here: its body and its answer are noted with the run that it belongs to.
const fetched = globalThis.fetch;
globalThis.fetch = async (url, init) => {
  const run = running.getStore();
  if (!run) return fetched(url, init);
  if (run.patch) init = { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...run.patch }) };
  run.sent.push(JSON.parse(init.body));
  const note = { status: 0, contentType: "", text: "", end: "open" };
  run.notes.push(note);
  let res;
  try { res = await fetched(url, init); } catch (e) { note.end = `no answer: ${e?.cause?.code ?? e?.message ?? e}`; throw e; }
  note.status = res.status;
  note.contentType = res.headers.get("content-type") ?? "";
  if (!res.body) return res;
  const reader = res.body.getReader();
  const decoder = new TextDecoder();
  const body = new ReadableStream({
    async pull(out) {
      try {
        const { done, value } = await reader.read();
        if (done) { note.end = "clean"; out.close(); } else { note.text += decoder.decode(value, { stream: true }); out.enqueue(value); }
      } catch (e) {
        note.end = `broken: ${e?.cause?.code ?? e?.message ?? e}`;
        if (e instanceof Error) delivered.set(e, String(url));
        out.error(e);
      }
    },
    cancel(reason) { note.end = "left"; return reader.cancel(reason); },
  });
  return new Response(body, { status: res.status, statusText: res.statusText, headers: res.headers });
};

const agents = Object.fromEntries(await Promise.all(versions.map(async (v) => [v, (await import(`agui-client-${v}`)).HttpAgent])));
const clients = new Map();
const client = (name) => clients.get(name) ?? (() => { throw new Error(`no client ${name}`); })();
const shown = (c) => ({ pending: plain(c.pendingInterrupts ?? []), messages: plain(c.messages), state: plain(c.state) });

const ops = {
  new({ client: name, version, url, threadId, messages, state, headers }) {
    if (!agents[version]) throw new Error(`no client of version ${version}`);
    clients.set(name, new agents[version]({ url, threadId, initialMessages: messages ?? [], initialState: state ?? {}, headers: headers ?? {} }));
    return {};
  },
  clone({ client: name, as }) {
    clients.set(as, client(name).clone());
    return shown(client(as));
  },
  set({ client: name, messages, state, pending }) {
    const c = client(name);
    if (messages) c.setMessages(messages);
    if (state) c.setState(state);
    if (pending) c.pendingInterrupts = pending;
    return shown(c);
  },
  get: ({ client: name }) => shown(client(name)),
  run({ client: name, params, add, empty, patch, abortOn, timeoutMs }) {
    const c = client(name);
    const run = { sent: [], notes: [], warnings: [], patch };
    return running.run(run, async () => {
      const delivered = [];
      let error = null;
      if (add) c.addMessages(add);
      if (empty && c.pendingInterrupts) c.pendingInterrupts = [];
      const late = setTimeout(() => { error = { name: "Timeout", message: "the run did not end in time", status: null }; c.abortRun(); }, timeoutMs ?? 60_000);
      try {
        await c.runAgent(params ?? {}, { onEvent: ({ event }) => { delivered.push(plain(event)); if (event.type === abortOn) c.abortRun(); } });
      } catch (e) { error ??= told(e); } finally { clearTimeout(late); }
      const wire = run.notes.map(({ text, ...note }) => ({ ...note, text, events: events(text) }));
      return { sent: run.sent, wire, delivered, error, warnings: run.warnings, ...shown(c) };
    });
  },
  async raw({ url, method, headers, body, base64 }) {
    const res = await fetched(url, { method: method ?? "POST", headers: headers ?? {}, body: base64 !== undefined ? Buffer.from(base64, "base64") : body });
    let text = "", end = "clean";
    const decoder = new TextDecoder();
    try { if (res.body) for await (const chunk of res.body) text += decoder.decode(chunk, { stream: true }); } catch (e) { end = `broken: ${e?.cause?.code ?? e?.message ?? e}`; }
    return { status: res.status, contentType: res.headers.get("content-type") ?? "", text, end, events: events(text) };
  },
};

say({ seq: 0, ready: true, versions });
for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  (async () => ops[command.op](command))().then(
    (answer) => say({ seq: command.seq, ...answer }),
    (e) => say({ seq: command.seq, failed: told(e) }),
  );
}
process.exit(0);
