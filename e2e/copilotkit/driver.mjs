// Bundles both pages, serves them, and drives a browser to them, over JSON lines: a command on standard input, its answer on
// standard output, matched by seq. It ends with its standard input, and the browser with it: that speaks to it by a pipe.
//
//   node driver.mjs <the browser's binary>
//
// The first line is {seq:0,ready:true,port,browser}: pages are at http://localhost:<port>/copilotkit and /assistant.
//
// Commands:
//   open    {page,kind,url,runtime?,thread,card?,beside?}   a page in a profile of its own, or in that of the page beside;
//                                  card is another card than the usual one, see cards.jsx, or "copied" for questions.jsx
//   open    {page,at}              the same with a page that somebody else serves, which has the same names for what it shows
//   reload  {page}
//   say     {page,text}            as a person: types and presses Enter
//   type    {page,text}            into the field of the card
//   click   {page,id}              a button of the card
//   press   {page,button,of}       the button with that text of the question with that number, from 0
//   explain {page,text,of}         types why not, into that question
//   until   {page,what,withinMs?}  waits until the page shows that, and says whether it did; what is one of
//             {card:text}          a card with that text; "" for no card, and no run
//             {chat:text}          the chat has that text, and no run
//             {refusal:text}       a card that says why the answer was refused, or the line below the chat does
//             {answered:text}      the chat has that text, or a card asks something, and no run goes on
//             {runs:n}             n runs have begun, and none goes on
//             {said:text}          the card shows that, and was not sent
//             {thrown:text}        the page has thrown that
//   look    {page}
//   picture {page,path}
//   close   {page}
//
// Each answers what a person sees, {card,refusal,notice,chat,state,draft}, and what stands behind it: {pending,runs,events,errors,console}.
import { readFile } from "node:fs/promises";
import http from "node:http";
import readline from "node:readline";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const kinds = { copilotkit: "copilotkit.jsx", assistant: "assistant.jsx" };
const patience = 60_000;
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

// In one file CopilotKit's page has 25 MB, and a browser takes seconds of its processor to read that. So it comes in parts, as a
// real application does. Highlighted code and diagrams are left out: their parts are loaded only for a message that has them.
const made = await build({
  entryPoints: Object.values(kinds), bundle: true, write: false, outdir: "out", format: "esm", splitting: true, platform: "browser", jsx: "automatic", logLevel: "error",
  external: ["shiki", "mermaid"], define: { "process.env.NODE_ENV": '"production"' }, loader: { ".css": "empty" },
  alias: { "@assistant-ui/react-ag-ui/http-agent": "./node_modules/@assistant-ui/react-ag-ui/node_modules/@ag-ui/client" },
});
const files = new Map(made.outputFiles.map((f) => ["/" + f.path.split("/").pop(), f.contents]));
const html = await readFile("page.html", "utf8");
const server = http.createServer((req, res) => {
  const found = files.get(req.url);
  if (found) return res.writeHead(200, { "Content-Type": "text/javascript" }).end(found);
  if (kinds[req.url.slice(1)]) return res.writeHead(200, { "Content-Type": "text/html" }).end(html.replace("SCRIPT", `${req.url}.js`));
  res.writeHead(404).end();
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({ executablePath: process.argv[2], headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
const pages = new Map();
const at = (name) => pages.get(name) ?? (() => { throw new Error(`no page ${name}`); })();

// Runs in the page: what a person sees there. A page that somebody else serves keeps nothing in window.chat.
const seen = () => {
  const told = window.chat ?? { events: [], errors: [] };
  const text = (selector) => [...document.querySelectorAll(selector)].map((e) => e.innerText).join("\n").trim();
  const begun = told.events.filter((e) => e.type === "RUN_STARTED");
  return {
    card: text("#card .question"), refusal: text("#card .refusal"), notice: text("#notice"), state: text("#state"),
    chat: text("[data-testid=copilot-message-list], #messages"),
    draft: document.querySelector("[data-testid=copilot-chat-textarea], #composer")?.value ?? "",
    pending: (told.agent?.pendingInterrupts ?? []).map((i) => i.id), runs: begun.length, events: told.events, errors: told.errors,
  };
};
const look = async (one) => ({ ...(await one.page.evaluate(seen)), console: one.said });
// Runs in the page: does it show this.
const shows = (what) => {
  const text = (selector) => [...document.querySelectorAll(selector)].map((e) => e.innerText).join("\n");
  const idle = text("#state") === "idle";
  if (what.card === "") return idle && !document.querySelector("#card");
  if (what.card !== undefined) return idle && text("#card .question").includes(what.card);
  const chat = text("[data-testid=copilot-message-list], #messages");
  if (what.answered !== undefined) return idle && (chat.includes(what.answered) || document.querySelector("#card") !== null);
  if (what.chat !== undefined) return idle && chat.includes(what.chat);
  if (what.refusal !== undefined) return idle && (text("#card .refusal") + text("#notice")).includes(what.refusal) && text("#card .refusal") + text("#notice") !== "";
  if (what.said !== undefined) return idle && text("#card .said").includes(what.said);
  return idle && window.chat.events.filter((e) => e.type === "RUN_STARTED").length >= what.runs;
};
const composer = "[data-testid=copilot-chat-textarea], #composer";
const send = "[data-testid=copilot-send-button], #send";
const ready = (one) => one.page.waitForFunction((c) => document.querySelector(c) && document.getElementById("state")?.innerText === "idle", composer, { timeout: patience, polling: 100 });

const ops = {
  async open({ page: name, kind, url, runtime, thread, card, beside, at: other }) {
    const context = beside ? at(beside).page.context() : await browser.newContext();
    const page = await context.newPage();
    const one = { page, said: [] };
    page.on("console", (m) => one.said.push(`${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => one.said.push(`thrown: ${e}`));
    page.setDefaultTimeout(patience);
    pages.set(name, one);
    await page.goto(other ?? `http://localhost:${server.address().port}/${kind}#${encodeURIComponent(JSON.stringify({ url, runtime, thread, card }))}`);
    await ready(one);
    return look(one);
  },
  async reload({ page: name }) {
    const one = at(name);
    await one.page.reload();
    await ready(one);
    return look(one);
  },
  async close({ page: name }) {
    await at(name).page.close();
    pages.delete(name);
    return {};
  },
  async say({ page: name, text }) {
    const one = at(name);
    await one.page.fill(composer, text);
    await one.page.waitForFunction((b) => document.querySelector(b)?.disabled === false, send, { timeout: patience, polling: 100 });
    await one.page.press(composer, "Enter");
    return look(one);
  },
  async type({ page: name, text }) {
    await at(name).page.fill("#typed", text);
    return look(at(name));
  },
  async click({ page: name, id }) {
    await at(name).page.click(`#${id}`);
    return look(at(name));
  },
  async press({ page: name, button, of }) {
    await at(name).page.locator("#card .asked").nth(of).getByRole("button", { name: button }).click();
    return look(at(name));
  },
  async explain({ page: name, text, of }) {
    await at(name).page.locator("#card .asked").nth(of).locator("input").fill(text);
    return look(at(name));
  },
  async until({ page: name, what, withinMs }) {
    const one = at(name);
    let came = true;
    if (what.thrown !== undefined) {
      for (const end = Date.now() + (withinMs ?? patience); !one.said.some((s) => s.includes(what.thrown)) && Date.now() < end;) await one.page.waitForTimeout(50);
      return { ...(await look(one)), came: one.said.some((s) => s.includes(what.thrown)) };
    }
    try { await one.page.waitForFunction(shows, what, { timeout: withinMs ?? patience, polling: 100 }); } catch { came = false; }
    return { ...(await look(one)), came };
  },
  look: ({ page: name }) => look(at(name)),
  async picture({ page: name, path }) {
    await at(name).page.screenshot({ path });
    return {};
  },
};

process.on("unhandledRejection", (e) => say({ seq: 0, stray: `unhandledRejection: ${e?.stack ?? e}` }));
say({ seq: 0, ready: true, port: server.address().port, browser: browser.version() });
for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  (async () => ops[command.op](command))().then(
    (answer) => say({ seq: command.seq, ...answer }),
    (e) => say({ seq: command.seq, failed: { name: e?.name ?? typeof e, message: String(e?.message ?? e) } }),
  );
}
await browser.close();
process.exit(0);
