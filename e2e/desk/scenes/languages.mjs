// The page in other languages than English, and in one that shows what was forgotten.
import assert from "node:assert/strict";
import { editable, withReason } from "../world.mjs";

// foreign are texts that no language of the page changes: names of people and agents in these
// scenes, how Unicode calls a character, the form in which JSON has a value, and numbers of a
// schema and of an answer.
const foreign = /ÛŢƑ-8|12\.50|\b12\b|1988-02-28(?:T14:05:00Z)?|14:05:00Z|ann@example\.com|\{"name": "value"\}|\b77(?:\.5)?\b|\b88\b|maria\.okafor|jonas\.lind|billing-eu|Ana Ruiz|Holdpoint|U\+[0-9A-F]{4,6}(?: (?:[A-Z]+|Cyrillic|Greek))?/g;

// words are all texts of the page and of its attributes, without those that an agent, a person or
// the server wrote: [{text, where}].
const words = (page) => page.evaluate(() => {
  const others = ".says .prose, .says .fields, .fields .value > code, .fields .value .prose, .fields .value .number, .fields .unit, .fields .key code, .fields .key > bdi, .code .line > span:last-child, .turn .prose, details.ids dd, .sends pre, .server, .line bdi, option[lang], code, kbd, .other .number, td, .chip, mark, .person, #comment, textarea, .choices b, .choices .more, label.key";
  const list = [["title", document.title]];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest("noscript, script") || (node.parentElement.closest(others) && !node.parentElement.closest("td time, .unseen"))) continue;
    list.push([node.parentElement.outerHTML.slice(0, 120), node.data]);
  }
  for (const name of ["aria-label", "title", "placeholder", "alt"]) {
    for (const node of document.body.querySelectorAll(`[${name}]`)) if (!node.closest("mark")) list.push([`${name} of ${node.outerHTML.slice(0, 120)}`, node.getAttribute(name)]);
  }
  for (const node of document.querySelectorAll("kbd")) list.push(["kbd", node.textContent.replace(/\b[A-Z0-9]\b/g, "")]); // a key is one sign in each language
  return list.map(([where, text]) => ({ where, text }));
});

// A Reader looks at a page in the pseudo-language, and keeps what it has seen.
class Reader {
  constructor(p) { Object.assign(this, { p, seen: new Set() }); }

  async looks(state) {
    const list = await words(this.p.page);
    for (const { text } of list) this.seen.add(text);
    this.seen.add(await this.p.page.evaluate(() => document.body.textContent));
    const left = list.filter(({ text }) => /[A-Za-z0-9]/.test(text.replace(foreign, "")));
    assert.deepEqual(left, [], `${state}: not in the language of the page`);
  }

  // ends looks, in the last of the scenes, whether each text was on a page.
  async ends(w) {
    for (const text of this.seen) seenByAll.add(text);
    if (++ended < 2) return;
    const catalogue = await this.p.page.evaluate(async () => (await fetch("/page/qps.json")).json());
    const missing = unseen(catalogue, seenByAll);
    w.log.push(`${missing.length} of ${Object.keys(catalogue).length} texts were not on a page: ${missing.join(" ")}`);
    assert.ok(missing.length < 0.15 * Object.keys(catalogue).length, w.log.at(-1));
  }
}

// seenByAll are the texts of both scenes in the pseudo-language. The one that ends last looks whether
// a text was in none of them.
const seenByAll = new Set();
let ended = 0;

// unseen are the keys of a catalogue of which no text was on the page.
function unseen(catalogue, seen) {
  const all = [...seen].join("\n");
  const has = (text) => new RegExp(text.split(/\{[a-z]+\}/i).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[\\s\\S]{0,400}?")).test(all);
  return Object.entries(catalogue).filter(([key, text]) => !key.startsWith("language.") && !(typeof text === "string" ? has(text) : Object.values(text).some(has))).map(([key]) => key);
}

const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>{n}{who}`;

// placeholders has every text of the page's language filled with markup in each of its places.
const placeholders = (page) => page.evaluate(async (hostile) => {
  const { parts, say, language } = await import("/page/language.js");
  const { el } = await import("/page/dom.js");
  const catalogue = await (await fetch(`/page/${language}.json`)).json();
  const wrong = [];
  let filled = 0;
  for (const [key, text] of Object.entries(catalogue)) {
    const names = [...JSON.stringify(text).matchAll(/\{([a-z]+)\}/gi)].map((m) => m[1]);
    const args = Object.fromEntries(names.map((name) => [name, hostile]));
    const node = el("p", { title: say(key, args), "aria-label": say(key, args) }, parts(key, args));
    document.body.append(node);
    const times = node.textContent.split(hostile).length - 1;
    if (node.children.length || (names.length > 0 && times === 0) || node.title !== node.textContent) wrong.push([key, node.outerHTML]);
    filled += times;
    node.remove();
  }
  return { wrong, filled, title: document.title };
}, hostile);

const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
const marked = (kind, more) => ({ class: "A", kind, name: "U+202E RLO and others", at: 0, length: 1, count: 1, ...more });
const field = (path, text, more) => ({ path, key: path, depth: 0, kind: "string", text, size: text.length, ...more });

// answers are what the server may say of a question, beyond what these scenes bring about: each
// changes an approval and its question. A text that depends on a number is asked for with one and
// with more.
const answers = [
  (a) => { a.waitsForChat = ["credentials", "tools", "messages", "input", "client", "store", "record", "home", "late"]; a.tenant = "店"; delete a.agent; },
  (a, q) => { a.withheld = true; a.may = {}; q.may = { approve: false, deny: false, why: { approve: "FORBIDDEN", deny: "FORBIDDEN", answer: "FORBIDDEN" } }; },
  ...["REQUESTER", "DECISION_NOT_KNOWN", "AGENT_ELSEWHERE", "INVALID_PAYLOAD", "FORBIDDEN"].map((code) => (a, q) => { q.may = { approve: false, deny: false, why: { approve: code, deny: code } }; }),
  (a, q) => { q.may = { deny: false, cancel: false, why: { deny: "FORBIDDEN" } }; },
  (a, q) => { q.kind = "text"; q.calls = []; q.yesKnown = false; q.may = { answer: false, why: { answer: "FORBIDDEN" } }; },
  (a, q) => { q.cancelOnly = true; },
  (a, q) => { q.grave = true; q.graveRule = "一"; q.confirm = { path: "金額", value: "77" }; },
  (a, q) => { q.grave = true; },
  ...["unknown", "noObject", "twice", "broken", "deep"].map((code) => (a, q) => { q.calls[0].note = "日本"; q.calls[0].noteCode = code; }),
  (a, q) => { q.calls = []; },
  (a, q) => { q.calls = []; q.statements = [{ path: "何.日", name: "払う", fields: [] }, { path: "何.月", fields: [field("額", "い")] }]; },
  (a, q) => { q.calls[0].fields = []; delete q.calls[0].arguments; q.calls[0].size = 9; },
  (a, q) => { q.calls[0].fields = []; q.calls[0].arguments = {}; },
  (a, q) => { q.calls[0].rest = true; q.calls[0].size = 5000; },
  (a, q) => { q.calls[0].rest = true; q.calls[0].size = 5_000_000; },
  (a, q) => { q.calls[0].rest = true; q.calls[0].size = 0; },
  (a, q) => { q.statements = [{ path: "何", name: "払う", fields: [field("額", "い")], rest: true }]; },
  (a, q) => { q.calls[0].fields = Array.from({ length: 80 }, (_, n) => field(`い${"ろ".repeat(n)}`, "は", n ? {} : { twice: true })); },
  (a, q) => { q.calls[0].fields = [field("理由", `${"行\n".repeat(8)}${"い".repeat(1300)}`)]; },
  (a, q) => {
    q.calls[0].fields = ["い", "ろ", "は", "に", "ほ"].map((key) => field(key, "日"));
    q.compared = [{ path: "い", same: true, of: 2 }, { path: "ろ", usual: "月", of: 2 }, { path: "は", currency: "円", others: ["元"], of: 0 }, { path: "に", least: "一", most: "二", times: 10, of: 3, currency: "円" }, { path: "ほ", least: "一", most: "一", times: 0.5, of: 1 }];
    q.similar = ["approved", "denied", "cancelled", "answered"].map((outcome, n) => ({ at: ago(60), by: n ? "maria.okafor" : undefined, door: "chat", outcome, changed: ["い", "ろ"].slice(0, n), comment: "よ", fields: [] }));
  },
  (a) => { a.conversation = ["user", "assistant", "tool", "system", "developer"].map((role) => ({ role, text: "い", cut: true })); },
  (a, q) => {
    const kinds = ["bidi", "lookalike", "control", "line", "private", "unassigned", "broken", "blank", "stack", "more", "tag"];
    q.calls[0].nameMarks = kinds.map((kind) => marked(kind));
    q.messageMarks = kinds.map((kind) => marked(kind, { count: 3 }));
    q.calls[0].fields = [field("金額", "いろは", { marks: [marked("tag", { decoded: "は" }), marked("bidi", { count: 3, at: 1 }), marked("lookalike", { decoded: "い", at: 2 })], keyMarks: [marked("blank")] })];
    q.statements = [{ path: "何", name: "払う", nameMarks: [marked("control")], fields: [field("額", "い", { marks: [marked("control")] })] }];
  },
  (a, q) => { q.calls[0].fields = Array.from({ length: 14 }, (_, n) => field(`い${n ? "ろ".repeat(n) : ""}`, "は", { marks: [marked("control")] })); },
  (a, q) => { q.grave = true; q.messageMarks = []; },
  (a, q) => { a.questions = [q, ...["approved", "denied", "cancelled", "answered", ""].map((says, n) => ({ ...q, id: `い${n}`, kind: n ? "text" : "form", calls: [], ...(says && { decision: { says, status: "resolved", at: ago(9) } }) }))]; },
  ...["bad", "twice"].map(() => (a, q) => { q.kind = "form"; q.calls = []; q.yesKnown = false; q.responseSchemaRaw = "い"; q.responseSchemaNote = "日"; q.responseSchemaNoteCode = "broken"; }),
  (a, q) => { q.kind = "form"; q.calls = []; q.yesKnown = false; q.responseSchemaRaw = "い"; q.responseSchemaNoteCode = "deep"; },
  (a, q) => { q.kind = "form"; q.calls = []; q.yesKnown = false; q.responseSchema = { type: "array" }; },
  (a) => { a.opened = ago(1); }, (a) => { a.opened = ago(300); }, (a) => { a.opened = ago(9000); }, (a) => { a.opened = ago(200_000); },
  (a, q) => { q.expires = ago(-9000); }, (a, q) => { q.expires = ago(-400_000); }, (a, q) => { q.expires = ago(9); },
  ...["approved", "denied", "cancelled", "answered"].flatMap((says) => ["maria.okafor", "jonas.lind", undefined].flatMap((by) => [true, false].map((edited) => (a, q) => {
    a.state = "carrying";
    q.decision = { says, status: says === "cancelled" ? "cancelled" : "resolved", by, at: ago(30), edited, payloadNote: "日", payloadNoteCode: edited ? "secret" : undefined, comment: "よ" };
  }))),
  (a, q) => { a.state = "decided"; q.decision = { says: "approved", status: "resolved", by: "maria.okafor", at: ago(200_000), edited: true, payload: { approved: true } }; },
  (a, q) => { q.decision = { says: "approved", status: "resolved", by: "maria.okafor", at: ago(30), edited: true, arguments: { 金額: 5 } }; },
  (a, q) => { q.decision = { says: "approved", status: "resolved", by: "maria.okafor", at: ago(30), edited: true, arguments: { 金額: 5, 通貨: "元", 新: 1 } }; },
  ...["in doubt", "finished", "withdrawn", "lost", "retired", "日"].flatMap((how) => ["agui", "desk", "policy"].map((door) => (a, q) => {
    a.state = "ended";
    a.end = { how, door, at: ago(60), by: door === "policy" ? undefined : door === "agui" ? "maria.okafor" : "jonas.lind", error: "日", questions: [{ id: q.id, status: "resolved", says: "approved" }] };
  })),
  (a, q) => { a.state = "ended"; a.end = { how: "withdrawn", door: "desk", at: ago(60), by: "maria.okafor", questions: [{ id: q.id }] }; },
  (a) => { a.state = "ended"; a.end = { how: "finished", door: "agui", at: ago(60), questions: [] }; },
  ...["approved", "denied", "cancelled", "answered"].map((says) => (a, q) => { a.state = "doubt"; q.decision = { says, status: says === "cancelled" ? "cancelled" : "resolved", by: "jonas.lind", at: ago(60) }; }),
];

// listed are what a list may say of an approval.
const listed = [
  (a) => { a.state = "doubt"; }, (a, q) => { q.grave = true; }, (a, q) => { q.graveRule = "一"; q.grave = true; }, (a, q) => { q.compared = [{ path: "い", times: 3 }, { path: "ろ", others: ["元"] }]; },
  (a, q) => { q.expires = ago(9); }, (a) => { a.requester = "maria.okafor"; delete a.agent; }, (a) => { a.questionsLeft = 9; }, (a) => { a.opened = ago(200_000); }, (a) => { a.opened = ago(9000); }, (a, q) => { q.kind = "choice"; q.calls = []; }, (a, q) => { q.kind = "form"; q.calls = []; },
];
const endings = [
  ...["retired", "withdrawn", "in doubt"].map((how) => (a, q) => { a.end = { how, questions: [{ id: q.id, status: "resolved" }] }; }), (a) => { a.state = "carrying"; }, (a) => { a.state = "decided"; }, (a) => { a.state = "waiting"; a.end = undefined; a.questions[0].decision = undefined; },
  ...["approved", "denied", "cancelled", "answered"].flatMap((says) => ["maria.okafor", "jonas.lind", undefined].map((by) => (a, q) => { delete a.end; q.decision = { says, status: says === "cancelled" ? "cancelled" : "resolved", by, edited: by === "jonas.lind", at: ago(30) }; })),
];

// approve is what a person does to the open question, and has it sent at once.
async function send(p) {
  await p.alive();
  await p.click("yes");
  await p.page.waitForSelector(".strip");
  await p.page.locator(".strip button").first().click();
}

export const scenes = {
  // Every text is in the language of the page, in each state that the page has.
  async "a pseudo-language"(w) {
    const p = await w.person("maria.okafor", { at: "?lang=qps", settings: { next: false }, signIn: false, time: Date.now() });
    const reader = new Reader(p);
    await p.page.waitForSelector("#token");
    assert.deepEqual(await p.page.evaluate(() => [document.documentElement.lang, document.documentElement.dir]), ["qps", "rtl"]);
    await reader.looks("signing in");
    p.expect.push("401", "429", "403", "409");
    for (const code of ["OFFLINE", "TOO_MANY_TRIES", "TOO_MANY_DECISIONS", "TLS_REQUIRED", "NO_SESSIONS", "STORE_UNAVAILABLE", "UNAUTHENTICATED"]) {
      p.expect.push("503", "ERR_FAILED");
      await p.page.route("**/v1/session", (r) => (code === "OFFLINE" ? r.abort() : r.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify({ code, detail: "日本" }) })));
      await p.page.fill("#token", "x");
      await p.press("Enter");
      await p.page.waitForFunction(() => document.querySelector("dialog .error").textContent !== "");
      await reader.looks(`signing in: ${code}`);
      await p.page.evaluate(() => { document.querySelector("dialog .error").textContent = ""; });
      await p.page.unroute("**/v1/session");
    }
    await p.signIn();
    await p.page.waitForSelector("#question .greeting");
    await reader.looks("nothing waits");
    await p.page.click("#help");
    await reader.looks("help");
    await p.press("Escape");

    await w.tool("送金", { 金額: 1200, 通貨: "円", 理由: "いろは" }, { message: "にほんご", schema: editable });
    await w.tool("期限", { 数: 1 }, { message: "いそぐ", schema: withReason, expiresAt: new Date(Date.now() + 300_000).toISOString() });
    await w.tool("隠し", { 支払: "い\u200bろ\u202eは\u00a0", 文: "行\n".repeat(60), 長: "あ".repeat(1300) }, { message: "か\u200b" });
    await w.ask({ calls: [{ id: "c1", name: "一", args: '{"数":1}' }, { id: "c2", name: "二", args: "{}" }], interrupts: [{ id: "i1", reason: "tool_call", toolCallId: "c1", responseSchema: { type: "object", properties: { approved: { type: "boolean" } } } }, { id: "i2", reason: "tool_call", toolCallId: "c2", responseSchema: { type: "object", properties: { approved: { type: "boolean" } } } }] });
    await w.question("どれ", { oneOf: [{ const: "甲", title: "きのえ", description: "たかい" }, { const: "乙", title: "きのと" }] });
    await w.question("書いて", { type: "object", required: ["名", "日", "数"], properties: { 名: { type: "string", minLength: 3, maxLength: 5 }, 日: { type: "string", format: "date" }, 時: { type: "string", format: "time" }, 日時: { type: "string", format: "date-time" }, 宛: { type: "string", format: "email" }, 数: { type: "integer", minimum: 77, maximum: 88 }, 窓: { type: "boolean" }, 表: { type: "array" }, 物: { type: "object" } } });
    await w.question("何でも");
    await w.question("", undefined, { metadata: { langgraph: { raw: { action: "払う", args: { 額: 5 } } } } });
    await w.question("はい", { type: "boolean" });
    await w.tool("差分", { 変更: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-い\n+ろ\n は" });
    await w.tool("二重", '{"額":1,"額":2}');
    await w.until("the rows", async () => { await p.poll(); return (await p.text("#news, #list")).length > 0 && (await p.page.locator("a.row").count()) > 0; });
    await reader.looks("new questions");
    if (await p.page.locator("#news button").count()) await p.page.click("#news button");
    await p.sees(12);
    await reader.looks("list");
    await p.page.fill("#filter", "ないない");
    await reader.looks("nothing fits");
    await p.page.fill("#filter", "");

    for (const words of ["送金", "期限", "隠し", "一", "二", "きのえ", "差分", "二重", "書いて", "何でも", "払う", "どれ", "はい"]) {
      const row = p.page.locator("a.row", { hasText: words });
      if (await row.count() === 0) continue;
      await row.first().click();
      await p.page.waitForSelector("#bar button");
      await p.alive();
      await p.page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
      await reader.looks(words);
      await p.press("c");
      await reader.looks(`${words}: a comment`);
      await p.press("Escape");
      await p.press("d");
      await reader.looks(`${words}: why not`);
      await p.press("Escape");
      if (await p.page.locator("#title").count()) await p.page.focus("#title");
      if (words === "送金") {
        await p.shot("pseudo-question");
        await p.press("e");
        await reader.looks("edit");
        await p.page.fill("#e0", "いろ");
        await reader.looks("edit: not a number");
        await p.page.fill("#e0", "77");
        await p.click("review");
        await reader.looks("review");
        await p.press("Escape");
        await p.press("Escape");
      }
      if (words === "隠し") {
        await p.press("a");
        await reader.looks("unfolded");
        await p.alive();
        await p.press("a");
        await p.page.waitForSelector("#typed");
        await reader.looks("grave");
        await p.press("Escape");
      }
      if (words === "何でも") {
        await p.press("Control+Enter");
        await reader.looks("nothing written");
        await p.page.fill("#answer", "true");
        await reader.looks("looks like JSON");
        await p.page.locator(".as input").nth(1).check();
        for (const json of ["", "はい", '{"a":', '{"額":1,"額":2}', "[1]", "1", "true", '{"額":1}']) {
          await p.page.fill("#answer", json);
          if (json.length < 3 || json.includes(":") === false || json === '{"a":' || json.split("額").length > 2) await p.press("Control+Enter");
          await reader.looks(`JSON: ${json}`);
          if (await p.page.locator(".strip").count()) { await p.page.locator(".strip button").nth(1).click(); await p.alive(); await p.page.locator("a.row", { hasText: words }).first().click(); await p.alive(); }
        }
      }
      if (words === "書いて") {
        await p.press("Control+Enter");
        await reader.looks("a form without answers");
        const fields = p.page.locator("#question .form input, #question .form textarea");
        const typed = [["一", "あ", "あ", "あ", "あ", "あ", "あ", "{"], ["一二三四五六七", "あ", "あ", "あ", "あ", "77.5", "{}", "[]"], ["一二三", "1988-02-28", "", "", "", "12", "[1]", "{}"], ["一二三", "1988-02-28", "", "", "", "880", "", ""]];
        for (const row of typed) {
          for (const [n, text] of row.entries()) await fields.nth(n).fill(text);
          await p.alive();
          await p.press("Control+Enter");
          await reader.looks(`a form: ${row}`);
        }
      }
    }

    // What the server refuses, by its code.
    await p.page.locator("a.row", { hasText: "送金" }).first().click();
    await p.page.waitForSelector("#yes");
    p.expect.push("Failed to load resource");
    for (const code of ["DECIDED_OTHERWISE", "INTERRUPT_EXPIRED", "QUESTION_NOT_FOUND", "INVALID_PAYLOAD", "AGENT_ELSEWHERE", "STORE_UNAVAILABLE", "AUDIT_UNAVAILABLE", "FORBIDDEN", "REASON_NOT_TAKEN", "TOO_MANY_DECISIONS", "SOMETHING_ELSE", "UNREADABLE", "QUESTION_CHANGED", "OFFLINE"]) {
      await p.page.route("**/questions/*", (r) => (code === "OFFLINE" ? r.abort() : r.fulfill({ status: 422, contentType: "application/problem+json", body: code === "UNREADABLE" ? "{" : JSON.stringify({ code, detail: "日本" }) })));
      await send(p);
      await p.page.waitForSelector("#question .notice, .strip.failed");
      await reader.looks(`refused: ${code}`);
      await p.page.unroute("**/questions/*");
      await p.page.evaluate(() => { location.hash = "#/"; });
      await p.page.locator("a.row", { hasText: "期限" }).first().click();
      await p.page.waitForSelector("#yes");
      await p.page.locator("a.row", { hasText: "送金" }).first().click();
      await p.page.waitForSelector("#yes");
      await p.alive();
    }

    // The page asks first, if its reader wants that.
    await p.page.evaluate(async () => { (await import("/page/state.js")).set("wait", "ask"); });
    for (const words of ["送金", "何でも"]) {
      await p.page.locator("a.row", { hasText: words }).first().click();
      await p.page.waitForSelector("#yes");
      if (words === "何でも") await p.page.fill("#answer", "77");
      for (const id of ["yes", "no"]) {
        await p.alive();
        await p.click(id);
        await p.page.waitForSelector("#sure");
        await reader.looks(`sure: ${words} ${id}`);
        await p.press("Escape");
      }
    }
    await p.page.evaluate(async () => { (await import("/page/state.js")).set("wait", 5); });
    // An answer, and what is declined, wait too.
    for (const id of ["no", "yes"]) {
      await p.page.locator("a.row", { hasText: "何でも" }).first().click();
      await p.page.waitForSelector("#yes");
      if (id === "yes") await p.page.fill("#answer", "77");
      await p.alive();
      await p.click(id);
      await p.page.waitForSelector(".strip");
      await reader.looks(`a strip: ${id}`);
      if (id === "no") { await p.page.locator(".strip button").nth(1).click(); continue; }
      await p.page.locator(".strip button").first().click();
      await w.until("sent", async () => { await p.pass(200); return (await p.page.locator(".strip").count()) === 0; });
      await reader.looks("an answer is sent");
    }
    await p.page.locator("a.row", { hasText: "送金" }).first().click();
    await p.page.waitForSelector("#yes");
    await p.alive();

    // A decision that waits, is held, taken back, sent, and its end.
    await p.click("no");
    await p.page.waitForSelector(".strip");
    await reader.looks("a strip");
    await p.page.locator(".strip button").nth(1).focus();
    await p.pass(200);
    await reader.looks("held");
    await p.press("Enter");
    await reader.looks("taken back");
    await p.alive();
    await p.press("c");
    await p.page.keyboard.type("よし");
    await p.alive();
    await p.click("yes");
    await p.page.waitForSelector(".strip");
    await p.page.locator(".strip button").first().click();
    await w.until("its end", async () => { await p.pass(1000); return (await p.page.locator("#question .became").count()) > 0; });
    await reader.looks("decided");
    await p.page.evaluate(() => { location.hash = "#/decided"; });
    await w.until("the row", async () => { await p.poll(); return (await p.page.locator("a.row").count()) > 0; });
    await reader.looks("what was decided");

    // Somebody else decides, the store is away, and the reader is signed out.
    const other = (await w.approvals()).find((a) => a.questions[0].calls?.[0]?.name === "期限");
    await p.page.evaluate(() => { location.hash = "#/"; });
    await p.page.locator("a.row", { hasText: "期限" }).first().click();
    await p.page.waitForSelector("#yes");
    await p.alive();
    await w.api("POST", `/v1/approvals/${other.id}/questions/${other.questions[0].id}`, { decision: "deny", digest: other.questions[0].digest, comment: "だめ" });
    await w.until("the notice", async () => { await p.pass(1000); return (await p.page.locator("#question .notice").count()) > 0; });
    await reader.looks("somebody else was faster");
    p.expect.push("503");
    await p.page.route("**/v1/approvals?*", (r) => r.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ status: 503, code: "STORE_UNAVAILABLE", detail: "日本", now: new Date().toISOString() }) }));
    await p.pass(3100);
    await p.page.waitForSelector("#banner p");
    await reader.looks("the store is away");
    await p.page.unroute("**/v1/approvals?*");
    await w.until("back", async () => { await p.pass(2000); return (await p.page.locator("#banner p").count()) === 0; });
    await p.context.setOffline(true);
    p.expect.push("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK");
    await w.until("not live", async () => { await p.pass(1000); return (await p.page.getAttribute("#live", "data-how")) === "retry"; });
    await reader.looks("not live");
    await p.context.setOffline(false);
    await w.until("live", async () => { await p.pass(1000); return (await p.page.getAttribute("#live", "data-how")) === "live"; });
    await p.page.evaluate(() => { location.hash = "#/nothing/there"; });
    await w.until("gone", async () => { await p.pass(500); return (await p.page.locator("#question h2").count()) > 0; });
    await reader.looks("a question that is gone");
    await p.context.clearCookies();
    await w.until("signed out", async () => { await p.pass(1000); return (await p.page.locator("dialog").count()) > 0; });
    await reader.looks("signed out");

    await reader.ends(w);
  },

  // The same, with all that the server may say of a question.
  async "answers in a pseudo-language"(w) {
    await w.tool("送金", { 金額: 1200, 通貨: "円", 理由: "いろは" }, { message: "にほんご", schema: editable });
    const p = await w.person("maria.okafor", { at: "?lang=qps", settings: { next: false } });
    const reader = new Reader(p);
    await p.sees(1);
    // What the server may say of a question, and of the rows of a list.
    let change = null, changeRows = null, template = null;
    const json = (r, data) => r.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(data) });
    // What a page asks for while it is closed gets no answer.
    const routed = (pattern, handler) => p.page.route(pattern, (r) => handler(r).catch(() => r.abort().catch(() => {})));
    await routed(/\/v1\/approvals\/[^/?]+$/, async (r) => {
      if (!change || r.request().method() !== "GET") return r.continue();
      const a = await (await r.fetch()).json();
      change(a, a.questions[0]);
      return json(r, a);
    });
    await routed(/\/v1\/approvals\?/, async (r) => {
      if (!changeRows || !/state=(waiting|ended)/.test(r.request().url())) return r.continue();
      const headers = r.request().headers();
      delete headers["if-none-match"];
      const got = await r.fetch({ headers });
      const data = await got.json();
      template ??= data.approvals[0];
      const first = structuredClone(template);
      data.approvals = changeRows.map((one, n) => { const a = structuredClone(first); a.id = `${first.id}い${n}`; one(a, a.questions[0]); return a; });
      return json(r, data);
    });
    const shows = async (what) => {
      change = what;
      await p.page.evaluate(() => { location.hash = "#/"; });
      await p.page.locator("a.row", { hasText: "送金" }).first().click();
      await p.page.waitForSelector("details.ids");
      await p.page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
      await reader.looks(`an answer: ${what}`);
    };
    for (const what of answers) await shows(what);
    // What a press makes of some of them.
    for (const [n, what] of [(a, q) => { q.grave = true; q.graveRule = "一"; q.confirm = { path: "金額", value: "77" }; }, (a, q) => { q.grave = true; q.calls[0].name = "送金"; }, (a, q) => { q.calls[0].rest = true; q.calls[0].size = 5000; }, (a, q) => { q.statements = [{ path: "何", fields: [], rest: true }]; }, (a, q) => { q.may = { deny: false, cancel: false }; }, (a, q) => { q.kind = "form"; q.calls = []; q.yesKnown = false; q.responseSchemaRaw = "い"; }].entries()) {
      await shows(what);
      await p.alive();
      await p.page.focus("#title");
      await p.press(n === 4 ? "d" : "a");
      await p.press(n === 5 ? "Control+Enter" : "Shift");
      await reader.looks(`a press: ${what}`);
      await p.press("Escape");
    }
    change = null;
    for (const [at, rows] of [["#/", listed], ["#/decided", endings]]) {
      changeRows = rows;
      await p.page.evaluate((at) => { location.hash = at; }, at);
      await w.until("the rows", async () => { await p.poll(); await p.page.fill("#filter", "い"); await p.page.fill("#filter", ""); return (await p.page.locator("a.row").count()) >= rows.length; });
      await reader.looks(`rows at ${at}`);
    }
    changeRows = null;
    await p.page.evaluate(() => { location.hash = "#/"; });
    await w.until("the real rows", async () => { await p.poll(); await p.page.fill("#filter", "い"); await p.page.fill("#filter", ""); return (await p.page.locator("a.row", { hasText: "送金" }).count()) === 1; });

    await reader.ends(w);
  },

  // German: texts, plurals, numbers and times; and what somebody writes into a placeholder stays text.
  async "in German"(w) {
    await w.tool("refund", { order: "SO-48213", amount: 1200, currency: "EUR", note: "Zeile\n".repeat(1500) }, { message: "Der Kunde meldet eine beschädigte Lampe.", schema: editable });
    const p = await w.person("maria.okafor", { locale: "de-DE", settings: { next: false } });
    assert.deepEqual(await p.page.evaluate(() => [document.documentElement.lang, document.documentElement.dir, document.title]), ["de", "ltr", "1 offen · Holdpoint"]);
    await p.open("refund");
    await p.has("refund ausführen", "#question h2");
    await p.has("Die anderen 1.492 Zeilen zeigen", "#question");
    await p.has("vom Agenten geschrieben, nicht von Holdpoint", "#question");
    await p.has("für Ana Ruiz", "#question");
    await p.has("Genehmigen", "#bar");
    await p.judged("German");
    await p.shot("german");
    await w.tool("refund", { amount: 1 });
    await w.until("one more", async () => { await p.poll(); return (await p.text("#news")).includes("1 neue Frage · anzeigen"); });
    await w.tool("refund", { amount: 2 });
    await w.until("two more", async () => { await p.poll(); return (await p.text("#news")).includes("2 neue Fragen · anzeigen"); });
    await p.page.focus("#title");
    await p.press("d");
    await p.page.keyboard.type("Keine Rechnung");
    await p.alive();
    await p.press("Enter");
    await p.has("Ablehnung: refund · wird in 5 s gesendet", "#strips");
    await p.shot("german-strip");
    await p.pass(5200);
    await w.until("its end", async () => { await p.pass(1000); return /Sie haben es um \d\d:\d\d:\d\d abgelehnt/.test(await p.text()); });
    for (const [name, locale] of [["German", "de-DE"], ["English", "en-GB"]]) {
      const q = locale === "de-DE" ? p : await w.person("jonas.lind", { locale });
      const got = await placeholders(q.page);
      assert.deepEqual(got.wrong, [], name);
      assert.ok(got.filled > 100, `${got.filled} placeholders`);
      assert.match(got.title, /Holdpoint$/);
    }
  },

  // The address chooses a language, and the settings keep one. A language that the page does not
  // have is English.
  async "choosing a language"(w) {
    const french = await w.person("maria.okafor", { locale: "fr-FR" });
    await french.has("Nothing waits", "#list");
    assert.equal(await french.page.evaluate(() => document.documentElement.lang), "en");
    await french.page.click("#help");
    await french.page.selectOption("#language", "de");
    await french.page.waitForFunction(() => document.documentElement.lang === "de" && document.querySelector("#list b"));
    await french.has("Nichts ist offen", "#list");
    await french.page.goto(`${w.stage.desk}/#/decided`);
    await french.page.waitForFunction(() => document.documentElement.lang === "de" && document.querySelector("#list b"));
    assert.equal(await french.page.evaluate(() => location.search + location.hash), "?lang=de#/decided");
    await french.page.goto(`${w.stage.desk}/?lang=en`);
    await french.has("Nothing waits", "#list");
    await french.page.goto(`${w.stage.desk}/`);
    await french.has("Nichts ist offen", "#list");
    await french.page.click("#help");
    await french.page.selectOption("#language", "");
    await french.page.waitForFunction(() => document.documentElement.lang === "en");
    await french.has("Nothing waits", "#list");
    assert.equal(await french.page.evaluate(() => location.search), "");
    await french.page.goto(`${w.stage.desk}/?lang=zz`);
    await french.has("Nothing waits", "#list");
    assert.deepEqual(await french.page.evaluate(() => { try { return JSON.parse(localStorage.getItem("holdpoint-desk")).lang; } catch { return "none"; } }), "");
  },
};
