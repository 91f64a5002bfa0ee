// The list of what waits. Nothing in it moves under the hand: what is new waits at its end until it
// is asked for, and what has gone is struck through until another question is opened.
import { full, since, span, left } from "./clock.js";
import { button, byId, el, fill, tell } from "./dom.js";
import { has, number, parts, say } from "./language.js";
import { pendingOf } from "./pending.js";
import { heading, wordsOf } from "./model.js";
import { name, shown } from "./text.js";
import { on, state } from "./state.js";
import { verbOf } from "./words.js";

let shownKeys = []; // of the rows on the page, in their order
let groups = new Map(); // their groups
let known = new Map(); // the newest row of each key
let news = 0, toldAt = -Infinity;

const soon = 600;
const groupOf = (row) => (row.doubt ? "doubt" : left(row.expires) < soon ? "soon" : "old");
const titles = { doubt: say("group.doubt"), soon: say("group.soon", { n: soon / 60 }), old: say("group.old"), all: say("group.all") };

const fits = (row) => state.filter === "" || state.filter.toLowerCase().split(/\s+/).every((word) => wordsOf(row).includes(word));

const rowsNow = () => (state.tab === "decided" ? state.ended : state.rows);

// arrange orders the rows anew. It is called when somebody has done something, never by a poll.
export function arrange() {
  const rows = rowsNow().filter(fits);
  known = new Map(rows.map((row) => [row.key, row]));
  if (state.tab === "decided") groups = new Map([["all", rows]]);
  else {
    groups = new Map([["doubt", []], ["soon", []], ["old", []]]);
    for (const row of rows) groups.get(groupOf(row)).push(row);
    groups.get("soon").sort((a, b) => left(a.expires) - left(b.expires));
  }
  shownKeys = [...groups.values()].flat().map((row) => row.key);
  news = 0;
  draw();
}

// refresh takes what a poll has brought: rows change where they are.
function refresh() {
  const rows = rowsNow().filter(fits);
  if (!shownKeys.length || state.tab === "decided") {
    const before = shownKeys.join(" ");
    arrange();
    if (!before && shownKeys.length && state.tab === "waiting") announce(shownKeys.length);
    return;
  }
  const fresh = new Map(rows.map((row) => [row.key, row]));
  for (const key of shownKeys) {
    const row = fresh.get(key);
    if (row) known.set(key, row);
    else if (known.has(key)) known.get(key).gone = true;
  }
  const now = rows.filter((row) => !shownKeys.includes(row.key)).length;
  if (now > news) announce(now);
  news = now;
  update();
}

// announce tells of new questions, every ten seconds at most.
function announce(n) {
  if (performance.now() - toldAt < 10_000) return;
  toldAt = performance.now();
  tell(say("news.told", { n }));
}

function tagsOf(row) {
  const { q } = row;
  const tags = [];
  const add = (text, how = "") => tags.push(el("span", { class: `badge ${how}` }, text));
  if (state.tab === "decided") { const { text, bad } = outcome(row); add(text, bad ? "bad" : ""); return tags; }
  const waits = pendingOf(row.key);
  if (waits) add(say(`pending.${waits.what}.tag`), "now");
  if (row.gone) add(say("tag.decided"));
  if (row.doubt) add(say("tag.mayHaveRun"), "bad");
  if (q.grave) add(say(q.graveRule ? "tag.grave" : "tag.hidden"), "bad");
  if (q.compared?.some?.((one) => one.times)) add(say("tag.amount"), "warn");
  if (q.compared?.some?.((one) => one.others)) add(say("tag.currency"), "warn");
  if (!row.doubt && left(row.expires) <= 0) add(say("tag.expired"), "bad");
  else if (!row.doubt && left(row.expires) < soon) tags.push(el("span", { class: "badge warn" }, parts("tag.expiresIn", { time: el("time", { datetime: row.expires, data: { show: "left" } }, span(left(row.expires))) })));
  if (row.of > 1) add(row.some ? say("tag.oneOf", { n: row.of }) : say("tag.nth", { nth: row.n + 1, n: row.of }));
  if (row.mine) add(say("tag.youAsked"));
  return tags;
}

// outcome says in few words how a question has ended: {text, bad}. bad: nobody said yes to it.
export function outcome(row) {
  const { end, state: how } = row.approval;
  const asked = end?.questions.find((one) => one.id === row.question);
  const decision = row.q.decision ?? asked;
  if (end?.how === "retired" || end?.how === "expired") return { text: say("out.nobody"), bad: true };
  if (end?.how === "withdrawn") return { text: say("out.givenUp"), bad: true };
  if (end?.how === "in doubt") return { text: say("out.doubt"), bad: true };
  if (how === "carrying") return { text: say("out.carrying") };
  if (!decision) return { text: has(`out.${how}`) ? say(`out.${how}`) : how };
  const by = decision.by === state.me?.name ? say("out.byYou") : decision.by ? say("out.by", { who: decision.by }) : say("out.byChat");
  const changes = decision.says === "approved" && decision.edited ? say("did.withChanges") : "";
  const verb = verbOf(decision);
  return { text: say(`out.${verb}`, { changes, by }), bad: verb === "denied" || verb === "declined" };
}

function draw() {
  const nav = byId("list");
  const top = nav.querySelector(".rows")?.scrollTop ?? 0;
  const search = el("input", { type: "search", id: "filter", placeholder: say("filter.hint"), "aria-label": say("filter.label"), value: state.filter, autocomplete: "off",
    on: { input: (e) => { state.filter = e.target.value; arrange(); const again = byId("filter"); again.focus(); again.setSelectionRange(again.value.length, again.value.length); } } });
  const box = el("div", { class: "rows" });
  for (const [group, rows] of groups) {
    if (!rows.length) continue;
    const titled = [...groups.values()].filter((list) => list.length).length > 1 || group !== "old";
    box.append(el("section", { "aria-label": titles[group] },
      titled && el("h2", { class: "group" }, `${titles[group]} · ${number(rows.length)}`),
      el("ul", {}, rows.map((row) => el("li", {}, rowOf(row))))));
  }
  if (!shownKeys.length) box.append(empty());
  box.append(el("div", { id: "news" }));
  if (state.more) box.append(el("p", { class: "plain note" }, say("list.more")));
  fill(nav, el("div", { class: "search" }, search), box);
  box.scrollTop = top;
  drawNews();
}

function empty() {
  if (state.live === "out") return el("p", { class: "plain note" }, say("list.signIn"));
  if (state.live === "begin") return el("p", { class: "plain note" }, say("list.reading"));
  if (state.filter) return el("div", { class: "plain" }, el("b", {}, say("list.nothingFits")), el("p", { class: "note" }, say("list.nothingFits.text")));
  if (state.tab === "decided") return el("div", { class: "plain" }, el("b", {}, say("list.nothingDecided")));
  return el("div", { class: "plain" }, el("b", {}, say("list.nothingWaits")), el("p", { class: "note" }, say("list.nothingWaits.text")));
}

function rowOf(row) {
  // The address does not change if the question is open already; the focus goes to it all the same.
  const click = (event) => { if (event.currentTarget.hasAttribute("aria-current")) byId("title")?.focus(); };
  const link = el("a", { class: "row", href: `#/${row.key}`, data: { key: row.key }, on: { click } });
  return paint(link, row);
}

// paint fills a row. It is filled anew only if it says something else now.
function paint(link, row) {
  const current = state.open && row.id === state.open.id && row.question === state.open.question;
  if (current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  link.classList.toggle("gone", Boolean(row.gone));
  const tags = tagsOf(row);
  const sign = tags.map((tag) => tag.textContent.replace(/[\p{Nd}:]+$/u, "")).join("|") + row.line + (row.gone ?? "");
  if (link.dataset.sign === sign) return link;
  link.dataset.sign = sign;
  const at = row.approval.end?.at;
  const when = state.tab === "decided" && at
    ? el("time", { datetime: at, data: { show: "clock" } })
    : el("time", { datetime: row.opened ?? "", title: full(row.opened), data: { show: "since" } }, since(row.opened));
  const a = row.approval;
  return fill(link,
    el("span", { class: "head" }, row.kind === "tool" && row.tool ? name(row.tool, row.q.calls[0].nameMarks ?? []) : el("b", {}, heading[row.kind] ?? heading.text), when),
    el("span", { class: "line" }, el("bdi", {}, row.line || " ")),
    el("span", { class: "who" }, el("span", {}, a.agent ? shown(a.agent) : say("row.agent"), a.requester && [" · ", parts("row.for", { who: el("bdi", {}, shown(a.requester)) })]), tags));
}

// update paints what is there, where it is.
function update() {
  for (const link of byId("list").querySelectorAll("a.row")) {
    const row = known.get(link.dataset.key);
    if (row) paint(link, row);
  }
  drawNews();
}

function drawNews() {
  const node = byId("news");
  if (!node) return;
  const words = news === 0 ? "" : say("news.show", { n: news });
  if (node.dataset.words === words) return;
  node.dataset.words = words;
  fill(node, words && button(words, { kind: "small", press: () => { const first = shownKeys.length; arrange(); focusRow(shownKeys[Math.min(first, shownKeys.length - 1)]); } }));
}

// focusRow puts the focus on a row.
export function focusRow(key) {
  const link = [...byId("list").querySelectorAll("a.row")].find((one) => one.dataset.key === key);
  link?.focus();
  link?.scrollIntoView({ block: "nearest" });
}

// beside is the key of the row n places behind another, of those that can still be decided.
export function beside(key, n) {
  const can = shownKeys.filter((k) => k === key || (!known.get(k)?.gone && !pendingOf(k)));
  const at = can.indexOf(key);
  if (at < 0) return can[n > 0 ? 0 : can.length - 1];
  return can[at + n];
}

// nextAfter is the question that comes when one is decided.
export function nextAfter(key) {
  const can = shownKeys.filter((k) => k !== key && !known.get(k)?.gone && !pendingOf(k) && !known.get(k)?.doubt);
  const behind = shownKeys.slice(shownKeys.indexOf(key) + 1).find((k) => can.includes(k));
  return behind ?? can[0] ?? rowsNow().find((row) => row.key !== key && !pendingOf(row.key) && !row.doubt && !row.gone)?.key;
}

on("list", refresh);
on("pending", update);
on("open", arrange);
