// One question, from top to bottom: facts first, then what the agent says.
import * as api from "./api.js";
import { ago, clock, left, span } from "./clock.js";
import { byId, el, fill } from "./dom.js";
import { change, Folds, pair, table, whole } from "./fields.js";
import { callName, changesOf, choicesOf, decisionOf, fieldsOf, heading, kindOf, mayOf } from "./model.js";
import { form } from "./form.js";
import { editor, review } from "./edit.js";
import { notes } from "./notices.js";
import { keyOf, openQuestion, state } from "./state.js";
import { name, person, shown } from "./text.js";
import { became, carriedBy, verbOf, you } from "./words.js";

const section = (title, more, ...children) => el("section", {}, el("h3", {}, title, more && [" ", el("span", { class: "more" }, more)]), children);
const time = (iso, show, text) => el("time", { datetime: iso, title: new Date(iso).toLocaleString("en-GB"), data: { show } }, text);

// agentSays is a frame around what the agent wrote.
const agentSays = (text, marks) => el("div", { class: "says", tabindex: "0", role: "group", "aria-label": "Written by the agent" }, el("div", { class: "prose", dir: "auto" }, shown(text, marks)));

const byAgent = "written by the agent, not by Holdpoint";
const notRead = "You may see that this waits, and not read it.";

// titleOf is the heading of a question.
function titleOf(q, kind) {
  const tool = callName(q);
  if (kind === "choice") return [`Choose one of ${["", "", "two", "three", "four", "five", "six"][choicesOf(q).length] ?? choicesOf(q).length}`];
  if (kind === "text") return ["Answer a question"];
  if (kind === "form") return ["Fill in a form"];
  return tool ? ["Run ", name(tool, q.calls[0].nameMarks ?? [])] : [q.statements?.length ? "Approve or deny what the agent says" : "Run something that is not known"];
}

// draw shows the open question. ui is what the reader has done with it so far.
export function draw(ui) {
  const node = byId("question");
  const a = state.detail, q = openQuestion();
  ui.folds = new Folds();
  if (!a || !q) return fill(node, state.open ? el("p", { class: "plain note" }, "Reading …") : greeting());
  const kind = kindOf(q), may = mayOf(a, q), ended = a.state === "ended" || a.state === "doubt" || a.state === "carrying" || Boolean(q.decision);
  const parts = [];
  parts.push(el("p", { class: "asks" },
    el("span", {}, a.agent ? person(a.agent) : "An agent", ended ? " asked" : " asks"),
    a.requester && el("span", {}, "for ", person(a.requester)),
    a.tenant && el("span", {}, "in ", person(a.tenant)),
    a.opened && el("span", {}, time(a.opened, "ago", ago(a.opened))),
    a.questions.length > 1 && el("span", {}, `question ${a.questions.indexOf(q) + 1} of ${a.questions.length} in this pause`)));
  parts.push(el("h2", { tabindex: "-1", id: "title" }, titleOf(q, kind)));
  const badges = [];
  if (q.graveRule && !ended) badges.push(el("span", { class: "badge bad" }, `Grave: rule ${q.graveRule}`));
  if (may.open && Number.isFinite(left(q.expires))) badges.push(el("span", { class: left(q.expires) < 600 ? "badge warn" : "badge" }, "Expires in ", time(q.expires, "left", span(left(q.expires)))));
  if (badges.length) parts.push(el("p", { class: "badges" }, badges));
  if (a.questions.length > 1) parts.push(others(a, q));
  parts.push(...notes(a, q, ui, may));
  if (ui.mode === "review") parts.push(review(ui, q));
  else if (ui.mode === "edit") parts.push(editor(ui, q));
  else {
    if (kind !== "tool" && q.message) parts.push(section("The question", byAgent, agentSays(q.message, q.messageMarks ?? [])));
    else if (kind !== "tool" && !q.statements?.length) parts.push(section("The question", "", el("p", { class: a.withheld ? "note" : "" }, a.withheld ? notRead : "The agent wrote nothing with it.")));
    if (q.calls?.length || kind === "tool") parts.push(calls(a, q, ui, ended));
    if (kind === "tool" && q.message) parts.push(section("The reason", byAgent, agentSays(q.message, q.messageMarks ?? [])));
    if (q.statements?.length) parts.push(statements(a, q, ui));
    if ((kind !== "tool" || !q.yesKnown) && may.open && !q.cancelOnly) parts.push(section("Your answer", "", form(ui, q, kind)));
  }
  if (ended) parts.push(answer(a, q, ui));
  if (q.similar?.length) parts.push(earlier(a, q));
  if (a.conversation?.length) parts.push(conversation(a));
  if (may.open) parts.push(el("p", { class: "carrier note" }, carriedBy(a)));
  parts.push(ids(a, q));
  return fill(node, el("div", { class: "column" }, parts));
}

// greeting stands in the place of a question while none is open.
export function greeting() {
  return el("div", { class: "column greeting" }, el("p", { class: "note" }, state.rows.length ? "Choose a question. J and K go through the list, Enter opens." : "Nothing waits."));
}

// others are the questions of the same pause.
function others(a, q) {
  const all = a.questions.length;
  return el("div", { class: "others" }, el("span", {}, `This pause asks ${all === 2 ? "two" : all} things. The agent goes on when ${all === 2 ? "both" : "all"} are answered.`),
    a.questions.map((one) => {
      const words = [callName(one) ? name(callName(one), one.calls[0].nameMarks ?? []) : heading[kindOf(one)] ?? "Question", ` · ${one === q ? "this one" : one.decision ? verbOf(one.decision) : "waits"}`];
      return one === q ? el("span", { class: "other here" }, words) : el("a", { class: "other", href: `#/${keyOf(a.id, one.id)}` }, words);
    }));
}

// calls are what a yes lets run.
function calls(a, q, ui, ended) {
  const title = ended ? "What was asked" : "What will run";
  if (!q.calls?.length) return section(title, "", el("p", {}, noCall(a, q)));
  const compared = q.compared?.length ? "compared with what was approved lately" : "";
  return q.calls.map((call, n) => section(q.calls.length > 1 ? [title, " ", name(call.name ?? "", call.nameMarks ?? [])] : title, n === 0 ? compared : "", call.note && el("p", { class: "note strong" }, noteText(call.note)), argumentsOf(a, q, call, n, ui)));
}

// noCall says what is known of a yes where Holdpoint knows no call.
function noCall(a, q) {
  if (a.withheld) return notRead;
  if (q.statements?.length) return "Holdpoint has not seen a call. A yes lets run what the agent makes of it. What it says about that is below.";
  return "Nobody knows what a yes lets run: the agent did not say which call it asks about.";
}

// statements are what the agent sent beside its message, in a frame.
function statements(a, q, ui) {
  const list = q.statements;
  const each = list.map((one) => {
    const last = one.path.split(".").at(-1);
    const head = one.name ? ["It names ", name(one.name, one.nameMarks ?? []), one.fields?.length ? ", with:" : "."] : list.length > 1 ? name(one.path) : null;
    const more = one.rest && rest("sent", api.sent(a.id, q.id), ui, "All that the agent sent, as a file");
    return el("div", {}, head && el("p", { class: "names" }, head),
      one.fields?.length > 0 && table(mark(one.fields, ui, `${one.path} `), { folds: ui.folds, label: last }), more);
  });
  return section("What the agent says with it", byAgent, el("div", { class: "says open", role: "group", "aria-label": "Written by the agent" }, each));
}

const noteText = (note) => note.charAt(0).toUpperCase() + note.slice(1) + ".";

function argumentsOf(a, q, call, n, ui) {
  const fields = fieldsOf(call);
  const here = fields.reduce((sum, f) => sum + (f.text?.length ?? 0), 0);
  const more = call.rest && rest(n, api.raw(a.id, q.id, n), ui, call.size > here ? `The rest, ${kib(call.size - here)}, as a file` : "The whole, as a file");
  if (fields.length) return [table(mark(fields, ui), { folds: ui.folds, compared: q.compared ?? [] }), more];
  if (call.raw) return whole(call.raw, ui.folds);
  if (call.arguments || call.size === 2) return el("p", { class: "note" }, "It has no arguments.");
  if (a.withheld) return el("p", { class: "note" }, notRead);
  return el("p", { class: "note" }, "Its arguments are not known.");
}

// mark says which fields are others than they were when the question was opened.
function mark(fields, ui, prefix = "") {
  if (!ui.before) return fields;
  return fields.map((field) => (ui.before.get(prefix + field.path) === field.text ? field : { ...field, changed: true }));
}

const kib = (n) => (n >= 1 << 20 ? `${(n / (1 << 20)).toFixed(1)} MB` : `${Math.ceil(n / 1024)} KB`);

// rest is the way to what the page does not show of what is asked. A yes waits until it was opened.
function rest(n, href, ui, words) {
  if (!ui.read.has(n)) ui.files.add(n);
  const read = () => { ui.files.delete(n); ui.read.add(n); ui.changed(); };
  return el("p", { class: "rest" }, el("a", { class: "button small", href, download: n === "sent" ? "sent.txt" : "arguments.txt", on: { click: read } }, words),
    el("span", { class: "note" }, "A yes waits until it was opened."));
}

// answer is what was decided, and what became of it.
function answer(a, q, ui) {
  const d = decisionOf(a, q);
  const parts = [];
  const changes = changesOf(q, d);
  if (changes) {
    parts.push(el("div", { class: "fields" }, el("dl", {}, changes.map(({ key, was, is }) => pair(name(key), el("dd", { class: "value" }, change(was, is)))))));
  } else if (d?.payload && (d.edited || !["approved", "denied"].includes(d.says))) parts.push(whole(d.payload.kind === "string" ? d.payload.value : d.payload.raw, null));
  else if (d?.payloadNote && !d.payloadRaw) parts.push(el("p", { class: "note" }, `The answer is ${d.payloadNote}.`));
  else if (d?.edited) parts.push(el("p", { class: "note" }, "It was approved with other arguments than those shown."));
  if (d?.comment && d.comment !== ui.refused?.quote) parts.push(el("p", { class: "quote" }, shown(d.comment, d.commentMarks)));
  const what = a.end ? became(a.end) : a.state === "carrying" ? "The answer is being brought to the agent." : a.state === "decided" ? carriedBy(a) : a.state === "doubt" ? "" : "The agent goes on when the other questions of this pause are answered.";
  if (what) parts.push(el("p", { class: "became" }, what));
  return parts.length ? section("What became of it", "", parts) : null;
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
  const has = q.similar.some((one) => one.comment);
  return section("Earlier decisions", [tool && name(tool), a.agent && [" by ", shown(a.agent)]],
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Earlier decisions" }, el("table", {},
      el("thead", {}, el("tr", {}, ["When", "Decision", "Who"].map((t) => el("th", { scope: "col" }, t)),
        columns.map((path) => el("th", { scope: "col", class: numeric.has(path) ? "right" : "" }, name(path))), has && el("th", { scope: "col" }, "Comment"))),
      el("tbody", {}, q.similar.map((one) => el("tr", {},
        el("td", {}, one.at && time(one.at, "clock", clock(one.at))),
        el("td", {}, one.outcome, one.changed?.length ? `, ${one.changed.length} change${one.changed.length === 1 ? "" : "s"}` : ""),
        el("td", {}, one.by ? shown(you(one.by)) : one.door === "chat" ? "in the chat" : ""),
        columns.map((path) => el("td", { class: numeric.has(path) ? "right number" : "" }, cell(one, path))),
        has && el("td", {}, one.comment ? ["“", shown(one.comment.slice(0, 120)), "”"] : "")))))));
}

function conversation(a) {
  const n = a.conversation.length;
  return el("details", {}, el("summary", {}, `End of the conversation · ${n} message${n === 1 ? "" : "s"}`),
    a.conversation.map((m) => el("div", { class: "turn" }, el("b", {}, { user: "Person", assistant: "Agent", tool: "Result of a call", system: "System" }[m.role] ?? "Other"),
      el("div", { class: "prose", dir: "auto" }, shown(m.text ?? "", m.marks), m.cut && el("span", { class: "note" }, " (the rest is not shown)")))));
}

// ids are for those who look into the audit.
function ids(a, q) {
  const asked = a.end?.questions.find((one) => one.id === q.id);
  const rows = [["approval", a.id], ["question", q.id], ["digest", q.digest], ["answer's digest", asked?.digest], ["door", q.decision ? "desk" : a.end?.door], ["agent", a.agent], ["thread", a.thread], ["run", a.run], ["path", a.path], ["dialect", a.dialect], ["requester", a.requester ?? a.requesterHash]];
  return el("details", { class: "ids" }, el("summary", {}, "Ids, for the audit"),
    el("dl", {}, rows.filter(([, value]) => value).map(([label, value]) => [el("dt", {}, label), el("dd", {}, name(value))])));
}
