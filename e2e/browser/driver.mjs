// Serves page.html with @ag-ui/client in it, and drives a browser to it, over JSON lines: a command on standard input, its answer
// on standard output, matched by seq. It ends with its standard input, and the browser with it: that speaks to it by a pipe.
//
//   node driver.mjs <the browser's binary>
//
// The first line is {seq:0,ready:true,port,browser}: pages are at http://localhost:<port> and http://127.0.0.1:<port>, which are
// two origins to a browser.
//
// Commands:
//   open    {page,origin,version,url,thread,headers?,beside?}   a page in a profile of its own, or in that of the page beside
//   reload  {page}
//   say     {page,text}          as a person: types and clicks
//   click   {page,id}
//   look    {page}               nothing is done
//   run     {page,params,add?}   a run that its buttons do not make
//   fetch   {page,url,init}      what a script of that page can read: {status,headers,text} or {error}
//
// All but fetch answer {question,approve,error,log,runs,console}: what a person sees, and what the library threw.
import { readFile } from "node:fs/promises";
import http from "node:http";
import readline from "node:readline";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const versions = ["1.0.0", "0.0.59"];
const patience = 60_000;
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

const scripts = Object.fromEntries(await Promise.all(versions.map(async (v) => {
  const made = await build({ entryPoints: ["page.mjs"], bundle: true, write: false, format: "iife", platform: "browser", alias: { "agui-client": `agui-client-${v}` }, logLevel: "error" });
  return [`/${v}.js`, made.outputFiles[0].contents];
})));
const html = await readFile("page.html", "utf8");
const server = http.createServer((req, res) => {
  const script = scripts[req.url];
  if (script) return res.writeHead(200, { "Content-Type": "text/javascript" }).end(script);
  if (scripts[`${req.url}.js`]) return res.writeHead(200, { "Content-Type": "text/html" }).end(html.replace("SCRIPT", `${req.url}.js`));
  res.writeHead(404).end();
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({ executablePath: process.argv[2], headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
const pages = new Map();
const at = (name) => pages.get(name) ?? (() => { throw new Error(`no page ${name}`); })();

// settled waits until the page has made n runs, and tells what is on it.
async function settled({ page, said }, n) {
  await page.waitForFunction((n) => window.chat?.runs.length >= n, n, { timeout: patience });
  const seen = await page.evaluate(() => ({
    question: document.getElementById("question").textContent, approve: !document.getElementById("approve").disabled,
    error: document.getElementById("error").textContent, log: document.getElementById("log").textContent, runs: window.chat.runs,
  }));
  return { ...seen, console: said };
}
const mounted = async (one) => { await one.page.evaluate(() => window.chat.mounted); return settled(one, 0); };
const count = (one) => one.page.evaluate(() => window.chat.runs.length);

const ops = {
  async open({ page: name, origin, version, url, thread, headers, beside }) {
    const context = beside ? at(beside).page.context() : await browser.newContext();
    const page = await context.newPage();
    const one = { page, said: [] };
    page.on("console", (m) => one.said.push(`${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => one.said.push(`thrown: ${e}`));
    page.setDefaultTimeout(patience);
    pages.set(name, one);
    await page.goto(`${origin}/${version}#${encodeURIComponent(JSON.stringify({ url, thread, headers }))}`);
    return mounted(one);
  },
  async reload({ page: name }) {
    const one = at(name);
    await one.page.reload();
    return mounted(one);
  },
  async say({ page: name, text }) {
    const one = at(name), n = await count(one);
    await one.page.fill("#text", text);
    await one.page.click("#send");
    return settled(one, n + 1);
  },
  async click({ page: name, id }) {
    const one = at(name), n = await count(one);
    await one.page.click(`#${id}`);
    return settled(one, n + 1);
  },
  look: ({ page: name }) => settled(at(name), 0),
  async run({ page: name, params, add }) {
    const one = at(name), n = await count(one);
    await one.page.evaluate(([params, add]) => window.chat.run(params, add), [params, add]);
    return settled(one, n + 1);
  },
  fetch: ({ page: name, url, init }) => at(name).page.evaluate(async ([url, init]) => {
    try {
      const res = await fetch(url, init);
      return { status: res.status, headers: Object.fromEntries(res.headers), text: await res.text() };
    } catch (e) { return { error: String(e) }; }
  }, [url, init]),
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
