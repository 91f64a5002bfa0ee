// What scenes are made of: questions that wait, people at browsers, and what became of an answer.
import assert from "node:assert/strict";
import { Person } from "./person.mjs";

let made = 0;

export class World {
  constructor(browser, stage) {
    Object.assign(this, { browser, stage, people: [], log: [], expected: [] });
  }

  // ask has an agent's run pause. It returns the thread, and the ids by which the questions are told.
  async ask(script, { thread = `thread-${++made}`, requester = "Ana Ruiz" } = {}) {
    const body = { threadId: thread, runId: `run-${++made}`, state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: `u-${made}`, role: "user", content: JSON.stringify(script) }] };
    const answer = await fetch(this.stage.agent, { method: "POST", headers: { "Content-Type": "application/json", "X-Requester": requester }, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    const end = text.split("\n").filter((l) => l.startsWith("data: ")).map((l) => JSON.parse(l.slice(6))).find((e) => e.type === "RUN_FINISHED");
    assert.ok(end?.outcome?.interrupts, text.slice(0, 2000));
    return { thread, ids: end.outcome.interrupts.map((i) => i.id) };
  }

  // tool asks about a call. args may be JSON text.
  tool(name, args, { message, schema = approval, ...more } = {}) {
    const id = `call-${++made}`;
    return this.ask({ calls: [{ id, name, args: typeof args === "string" ? args : JSON.stringify(args) }], interrupts: [{ id: `i-${made}`, reason: "tool_call", toolCallId: id, message, responseSchema: schema, ...more }] });
  }

  // question asks something that is no call.
  question(message, schema, more = {}) {
    return this.ask({ interrupts: [{ id: `i-${++made}`, reason: "input_required", message, responseSchema: schema, ...more }] });
  }

  // api asks the desk as a program does.
  async api(method, path, body, name = "jonas.lind") {
    const answer = await fetch(`${this.stage.desk}${path}`, { method, headers: { Authorization: `Bearer ${this.stage.tokens[name]}`, ...(body ? { "Content-Type": "application/json" } : {}) }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, text, data: text && JSON.parse(text) };
  }

  async approvals(query = "") { return (await this.api("GET", `/v1/approvals${query}`)).data.approvals; }

  // decide decides a thread's question at the API.
  async decide(thread, word, n = 0) {
    const [a] = await this.approvals(`?thread=${thread}`);
    const q = a.questions[n];
    return this.api("POST", `/v1/approvals/${a.id}/questions/${q.id}`, { digest: q.digest, ...word });
  }

  // answers are what the backend was told on a thread.
  async answers(thread) {
    const all = await (await fetch(`${this.stage.fake}/answers`)).json();
    return thread ? all[thread] ?? [] : all;
  }

  // until waits for something to become true.
  async until(what, check, ms = 30_000) {
    const end = Date.now() + ms;
    for (;;) {
      const got = await check();
      if (got) return got;
      if (Date.now() > end) throw new Error(`it did not come to it: ${what}`);
      await new Promise((done) => setTimeout(done, 30));
    }
  }

  // person is somebody at a browser of his own, signed in.
  async person(name = "maria.okafor", options = {}) {
    const p = new Person(this, name, options);
    this.people.push(p);
    await p.begin();
    return p;
  }

  // picture is of what everybody sees, for who looks for the cause of a failure.
  async picture() {
    if (!this.stage.keep) return;
    for (const [n, p] of this.people.entries()) await p.page.screenshot({ path: `${this.stage.keep}/failed-${Date.now()}-${n}.png` });
  }

  async end() {
    const odd = this.people.flatMap((p) => p.odd);
    await this.close();
    assert.deepEqual(odd, [], "what the browser complained of, or asked of another origin");
  }

  async close() { await Promise.all(this.people.map((p) => p.context?.close().catch(() => {}))); }
}

export const approval = { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] };
export const editable = { type: "object", properties: { approved: { type: "boolean" }, editedArgs: { type: "object" } }, required: ["approved"] };

export const withReason = { type: "object", properties: { approved: { type: "boolean" }, reason: { type: "string" } }, required: ["approved"] };
