// One question, from top to bottom: facts first, then what the agent says.
import * as api from "./api.js";
import { ago, clock, full, left, span } from "./clock.js";
import { byId, el, fill } from "./dom.js";
import { change, Folds, pair, table, whole } from "./fields.js";
import { has, locale, number, parts, say } from "./language.js";
import { callName, changesOf, choicesOf, decisionOf, fieldsOf, heading, kindOf, mayOf } from "./model.js";
import { form } from "./form.js";
import { editor, review } from "./edit.js";
import { notes } from "./notices.js";
import { keyOf, openQuestion, state } from "./state.js";
import { name, person, shown } from "./text.js";
import { became, carriedBy, verbOf, you } from "./words.js";

const section = (title, more, ...children) => el("section", {}, el("h3", {}, title, more && [" ", el("span", { class: "more" }, more)]), children);
const time = (iso, show, text) => el("time", { datetime: iso, title: full(iso), data: { show } }, text);

// agentSays is a frame around what the agent wrote.
const agentSays = (text, marks) => el("div", { class: "says", tabindex: "0", role: "group", "aria-label": say("says.label") }, el("div", { class: "prose", dir: "auto" }, shown(text, marks)));

const byAgent = say("says.by");
const notRead = say("says.withheld");

// titleOf is the heading of a question.
function titleOf(q, kind) {
  const tool = callName(q);
  if (kind === "choice") return [say("title.choice", { n: choicesOf(q).length })];
  if (kind === "text") return [say("title.text")];
  if (kind === "form") return [say("title.form")];
  return tool ? parts("title.run", { tool: name(tool, q.calls[0].nameMarks ?? []) }) : [say(q.statements?.length ? "title.says" : "title.unknown")];
}

// draw shows the open question. ui is what the reader has done with it so far.
export function draw(ui) {
  const node = byId("question");
  const a = state.detail, q = openQuestion();
  ui.folds = new Folds();
  if (!a || !q) return fill(node, state.open ? el("p", { class: "plain note" }, say("question.reading")) : greeting());
  const kind = kindOf(q), may = mayOf(a, q), ended = a.state === "ended" || a.state === "doubt" || a.state === "carrying" || Boolean(q.decision);
  const list = [];
  list.push(el("p", { class: "asks" },
    el("span", {}, parts(ended ? "asks.asked" : "asks.asks", { agent: a.agent ? person(a.agent) : say("asks.agent") })),
    a.requester && el("span", {}, parts("asks.for", { who: person(a.requester) })),
    a.tenant && el("span", {}, parts("asks.in", { tenant: person(a.tenant) })),
    a.opened && el("span", {}, time(a.opened, "ago", ago(a.opened))),
    a.questions.length > 1 && el("span", {}, say("asks.nth", { nth: a.questions.indexOf(q) + 1, n: a.questions.length }))));
  list.push(el("h2", { tabindex: "-1", id: "title" }, titleOf(q, kind)));
  const badges = [];
  if (q.graveRule && !ended) badges.push(el("span", { class: "badge bad" }, say("badge.grave", { rule: q.graveRule })));
  if (may.open && Number.isFinite(left(q.expires))) badges.push(el("span", { class: left(q.expires) < 600 ? "badge warn" : "badge" }, parts("badge.expires", { time: time(q.expires, "left", span(left(q.expires))) })));
  if (badges.length) list.push(el("p", { class: "badges" }, badges));
  if (a.questions.length > 1) list.push(others(a, q));
  list.push(...notes(a, q, ui, may));
  if (ui.mode === "review") list.push(review(ui, q));
  else if (ui.mode === "edit") list.push(editor(ui, q));
  else {
    if (kind !== "tool" && q.message) list.push(section(say("section.question"), byAgent, agentSays(q.message, q.messageMarks ?? [])));
    else if (kind !== "tool" && !q.statements?.length) list.push(section(say("section.question"), "", el("p", { class: a.withheld ? "note" : "" }, a.withheld ? notRead : say("question.nothing"))));
    if (q.calls?.length || kind === "tool") list.push(calls(a, q, ui, ended));
    if (kind === "tool" && q.message) list.push(section(say("section.reason"), byAgent, agentSays(q.message, q.messageMarks ?? [])));
    if (q.statements?.length) list.push(statements(a, q, ui));
    if ((kind !== "tool" || !q.yesKnown) && may.open && !q.cancelOnly) list.push(section(say("section.answer"), "", form(ui, q, kind)));
  }
  if (ended) list.push(answer(a, q, ui));
  if (q.similar?.length) list.push(earlier(a, q));
  if (a.conversation?.length) list.push(conversation(a));
  if (may.open) list.push(el("p", { class: "carrier note" }, carriedBy(a)));
  list.push(ids(a, q));
  return fill(node, el("div", { class: "column" }, list));
}

// greeting stands in the place of a question while none is open.
export function greeting() {
  return el("div", { class: "column greeting" }, el("p", { class: "note" }, say(state.rows.length ? "greeting.choose" : "greeting.nothing")));
}

// others are the questions of the same pause.
function others(a, q) {
  const all = a.questions.length;
  return el("div", { class: "others" }, el("span", {}, say("others.pause", { n: all })),
    a.questions.map((one) => {
      const words = [callName(one) ? name(callName(one), one.calls[0].nameMarks ?? []) : heading[kindOf(one)] ?? heading.text, ` · ${say(one === q ? "others.this" : one.decision ? `others.${verbOf(one.decision)}` : "others.waits")}`];
      return one === q ? el("span", { class: "other here" }, words) : el("a", { class: "other", href: `#/${keyOf(a.id, one.id)}` }, words);
    }));
}

// calls are what a yes lets run.
function calls(a, q, ui, ended) {
  const title = say(ended ? "section.asked" : "section.run");
  if (!q.calls?.length) return section(title, "", el("p", {}, noCall(a, q)));
  const compared = q.compared?.length ? say("section.compared") : "";
  return q.calls.map((call, n) => section(q.calls.length > 1 ? [title, " ", name(call.name ?? "", call.nameMarks ?? [])] : title, n === 0 ? compared : "", call.note && el("p", { class: "note strong" }, noteText(call.note, call.noteCode)), argumentsOf(a, q, call, n, ui)));
}

// noCall says what is known of a yes where Holdpoint knows no call.
function noCall(a, q) {
  if (a.withheld) return notRead;
  if (q.statements?.length) return say("call.unseen");
  return say("call.unknown");
}

// statements are what the agent sent beside its message, in a frame.
function statements(a, q, ui) {
  const list = q.statements;
  const each = list.map((one) => {
    const last = one.path.split(".").at(-1);
    const head = one.name ? parts(one.fields?.length ? "says.names" : "says.namesOnly", { tool: name(one.name, one.nameMarks ?? []) }) : list.length > 1 ? name(one.path) : null;
    const more = one.rest && rest("sent", api.sent(a.id, q.id), ui, say("rest.sent"));
    return el("div", {}, head && el("p", { class: "names" }, head),
      one.fields?.length > 0 && table(mark(one.fields, ui, `${one.path} `), { folds: ui.folds, label: last }), more);
  });
  return section(say("section.says"), byAgent, el("div", { class: "says open", role: "group", "aria-label": say("says.label") }, each));
}

// noteText is a note of the server's, by its code. One without a code is the server's own words.
const noteText = (note, code) => (has(`note.${code}`) ? say(`note.${code}`) : note.charAt(0).toUpperCase() + note.slice(1) + ".");

function argumentsOf(a, q, call, n, ui) {
  const fields = fieldsOf(call);
  const here = fields.reduce((sum, f) => sum + (f.text?.length ?? 0), 0);
  const more = call.rest && rest(n, api.raw(a.id, q.id, n), ui, call.size > here ? say("rest.rest", { size: kib(call.size - here) }) : say("rest.whole"));
  if (fields.length) return [table(mark(fields, ui), { folds: ui.folds, compared: q.compared ?? [] }), more];
  if (call.raw) return whole(call.raw, ui.folds);
  if (call.arguments || call.size === 2) return el("p", { class: "note" }, say("call.noArguments"));
  if (a.withheld) return el("p", { class: "note" }, notRead);
  return el("p", { class: "note" }, say("call.argumentsUnknown"));
}

// mark says which fields are others than they were when the question was opened.
function mark(fields, ui, prefix = "") {
  if (!ui.before) return fields;
  return fields.map((field) => (ui.before.get(prefix + field.path) === field.text ? field : { ...field, changed: true }));
}

const mega = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const kib = (n) => (n >= 1 << 20 ? say("size.mb", { size: mega.format(n / (1 << 20)) }) : say("size.kb", { size: number(Math.ceil(n / 1024)) }));

// rest is the way to what the page does not show of what is asked. A yes waits until it was opened.
function rest(n, href, ui, words) {
  if (!ui.read.has(n)) ui.files.add(n);
  const read = () => { ui.files.delete(n); ui.read.add(n); ui.changed(); };
  return el("p", { class: "rest" }, el("a", { class: "button small", href, download: n === "sent" ? "sent.txt" : "arguments.txt", on: { click: read } }, words),
    el("span", { class: "note" }, say("rest.wait")));
}

// answer is what was decided, and what became of it.
function answer(a, q, ui) {
  const d = decisionOf(a, q);
  const list = [];
  const changes = changesOf(q, d);
  if (changes) {
    list.push(el("div", { class: "fields" }, el("dl", {}, changes.map(({ key, was, is }) => pair(name(key), el("dd", { class: "value" }, change(was, is)))))));
  } else if (d?.payload && (d.edited || !["approved", "denied"].includes(d.says))) list.push(whole(d.payload.kind === "string" ? d.payload.value : d.payload.raw, null));
  else if (d?.payloadNote && !d.payloadRaw) list.push(el("p", { class: "note" }, has(`answer.${d.payloadNoteCode}`) ? say(`answer.${d.payloadNoteCode}`) : say("answer.note", { note: d.payloadNote })));
  else if (d?.edited) list.push(el("p", { class: "note" }, say("answer.edited")));
  if (d?.comment && d.comment !== ui.refused?.quote) list.push(el("p", { class: "quote" }, shown(d.comment, d.commentMarks)));
  const what = a.end ? became(a.end) : a.state === "carrying" ? say("answer.carrying") : a.state === "decided" ? carriedBy(a) : a.state === "doubt" ? "" : say("answer.others");
  if (what) list.push(el("p", { class: "became" }, what));
  return list.length ? section(say("section.became"), "", list) : null;
}

// earlier are the last decisions on the same tool of the same agent.
function earlier(a, q) {
  const tool = callName(q);
  const known = new Set(fieldsOf(q.calls?.[0]).map((f) => f.path));
  const salient = fieldsOf(q.calls?.[0]).filter((f) => f.salient || f.kind === "number").map((f) => f.path);
  const plain = fieldsOf(q.calls?.[0]).filter((f) => f.kind === "string" && f.text.length <= 40).map((f) => f.path);
  const differ = (q.compared ?? []).filter((one) => !one.same).map((one) => one.path);
  const columns = [...new Set([...salient, ...differ, ...plain])].filter((path) => known.has(path)).slice(0, 2);
  const numeric = new Set(salient);
  const cell = (one, path) => {
    const f = one.fields?.find((each) => each.path === path);
    return f ? [shown(f.text.slice(0, 60)), f.currency && [" ", shown(f.currency)]] : "";
  };
  const commented = q.similar.some((one) => one.comment);
  return section(say("section.earlier"), [tool && name(tool), a.agent && [" ", parts("earlier.by", { agent: shown(a.agent) })]],
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": say("section.earlier") }, el("table", {},
      el("thead", {}, el("tr", {}, ["earlier.when", "earlier.decision", "earlier.who"].map((key) => el("th", { scope: "col" }, say(key))),
        columns.map((path) => el("th", { scope: "col", class: numeric.has(path) ? "right" : "" }, name(path))), commented && el("th", { scope: "col" }, say("bar.comment")))),
      el("tbody", {}, q.similar.map((one) => el("tr", {},
        el("td", {}, one.at && time(one.at, "clock", clock(one.at))),
        el("td", {}, has(`outcome.${one.outcome}`) ? say(`outcome.${one.outcome}`) : one.outcome, one.changed?.length ? say("earlier.changes", { n: one.changed.length }) : ""),
        el("td", {}, one.by ? shown(you(one.by)) : one.door === "chat" ? say("earlier.inChat") : ""),
        columns.map((path) => el("td", { class: numeric.has(path) ? "right number" : "" }, cell(one, path))),
        commented && el("td", {}, one.comment ? parts("quote", { text: shown(one.comment.slice(0, 120)) }) : "")))))));
}

function conversation(a) {
  const n = a.conversation.length;
  return el("details", {}, el("summary", {}, say("conversation.end", { n })),
    a.conversation.map((m) => el("div", { class: "turn" }, el("b", {}, say(["user", "assistant", "tool", "system"].includes(m.role) ? `conversation.${m.role}` : "conversation.other")),
      el("div", { class: "prose", dir: "auto" }, shown(m.text ?? "", m.marks), m.cut && el("span", { class: "note" }, ` ${say("conversation.cut")}`)))));
}

// ids are for those who look into the audit.
function ids(a, q) {
  const asked = a.end?.questions.find((one) => one.id === q.id);
  const rows = [["approval", a.id], ["question", q.id], ["digest", q.digest], ["answerDigest", asked?.digest], ["door", q.decision ? "desk" : a.end?.door], ["agent", a.agent], ["thread", a.thread], ["run", a.run], ["path", a.path], ["dialect", a.dialect], ["requester", a.requester ?? a.requesterHash]];
  return el("details", { class: "ids" }, el("summary", {}, say("ids.title")),
    el("dl", {}, rows.filter(([, value]) => value).map(([label, value]) => [el("dt", {}, say(`ids.${label}`)), el("dd", {}, name(value))])));
}
