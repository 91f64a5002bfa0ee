// What is said above the arguments: what is not as it looks, and what has happened to the question.
import * as api from "./api.js";
import { clock, exact, left } from "./clock.js";
import { button, el } from "./dom.js";
import { parts, say } from "./language.js";
import { changesOf, decisionOf, fieldsOf, kindOf } from "./model.js";
import { look } from "./poll.js";
import { state } from "./state.js";
import { markNames, name, shown } from "./text.js";
import { became, reasonOf, verbOf, whoDid } from "./words.js";

export const notice = (how, title, ...children) => el("div", { class: `notice ${how}` }, el("b", { class: "title" }, title), children);

// notes are the notices of a question.
export function notes(a, q, ui, may) {
  const list = [];
  if (ui.refused) list.push(notice("bad", ui.refused.title, ui.refused.quote && el("p", { class: "quote" }, parts("quote", { text: shown(ui.refused.quote) })), el("p", {}, ui.refused.text, ui.refused.detail && [" ", el("span", { class: "server", lang: "en" }, shown(ui.refused.detail))]), ui.refused.list?.length && el("ul", {}, ui.refused.list.map((one) => el("li", {}, shown(one))))));
  if (a.state === "doubt") list.push(doubt(a, q, may));
  else if (a.end || q.decision) list.push(...(ui.refused?.decided ? [] : [over(a, q)]));
  else if (left(q.expires) <= 0) list.push(notice("plainly", say("expired.by", { time: clock(q.expires) }), el("p", {}, say("expired.told"))));
  if (q.cancelOnly && may.open) list.push(notice("plainly", say("cancelOnly.title"), el("p", {}, say("cancelOnly.text"))));
  const odd = marked(q);
  if (odd.length && !a.end) {
    list.push(notice("bad", say("marks.title"), el("ul", {}, odd), el("p", {}, say("marks.shown"), q.calls?.length ? ` ${say("marks.run")}` : "")));
  }
  if (may.open && kindOf(q) === "tool" && !may.approve && may.why.approve) list.push(notice("plainly", reasonOf(a, may.why.approve, "takes.approve")));
  return list;
}

// doubt is what nobody knows the end of.
function doubt(a, q, may) {
  const d = decisionOf(a, q);
  const who = d?.by && d?.at ? `${say(`by.${verbOf(d)}`, { who: d.by, time: clock(d.at) })} ` : "";
  const free = async (event) => {
    event.target.closest("button").setAttribute("aria-disabled", "true");
    try { await api.giveUp(a.id); } catch (problem) { if (!(problem instanceof api.Problem)) throw problem; }
    look();
  };
  return notice("bad", say("doubt.title"), el("p", {}, who, say("doubt.text")),
    may.operate && el("p", {}, button(say("doubt.giveUp"), { kind: "small", press: free }), " ", el("span", {}, say("doubt.frees"))));
}

// over is a question that is decided or has ended.
function over(a, q) {
  const d = decisionOf(a, q);
  if (a.end?.how === "retired") return notice("plainly", say("over.retired"), el("p", {}, became(a.end)));
  if (a.end?.door === "desk" && (a.end.how === "withdrawn" || a.end.how === "in doubt")) {
    return notice("plainly", say(a.end.by && a.end.by === state.me?.name ? "gaveUp.you" : "gaveUp.other", { who: a.end.by ?? say("did.somebody"), time: clock(a.end.at) }));
  }
  if (!d) return notice("plainly", a.end ? became(a.end) : say("over.ended"));
  const mine = d.by && d.by === state.me?.name;
  const n = changesOf(q, d)?.length ?? 0;
  const title = mine ? say(`mine.${verbOf(d)}`, { changes: n ? say("mine.changes", { n }) : d.edited ? say("did.withChanges") : "", time: exact(d.at) }) : whoDid(d, q.decision ? "desk" : a.end?.door);
  return notice(mine ? "plainly" : "plainly strong", title);
}

const kinds = new Set(["bidi", "lookalike", "control", "line", "private", "unassigned", "broken", "blank", "stack", "more"]);

// marked says in a line each what is hidden, and where. where makes the words anew for each line.
function marked(q) {
  const list = [];
  const add = (where, marks) => {
    const by = new Map();
    for (const m of marks ?? []) if (m.class === "A") by.set(m.kind, [...(by.get(m.kind) ?? []), m]);
    for (const [kind, all] of by) {
      const decoded = kind === "lookalike" ? "" : all.map((m) => m.decoded).filter(Boolean).join(" ");
      const names = decoded ? "" : markNames(all);
      const what = say(`mark.${kinds.has(kind) ? kind : "invisible"}`, { n: all.reduce((sum, m) => sum + (m.count || 1), 0) });
      list.push(el("li", {}, parts("marks.line", { what, where: where() }), decoded && parts("marks.spell", { text: shown(decoded) }), names && `: ${names}`));
    }
  };
  const inFields = (fields, otherwise) => {
    for (const f of fields) { add(() => say("marks.inKey"), f.keyMarks); add(() => name(f.path || otherwise, f.keyMarks ?? []), f.marks); }
  };
  for (const call of q.calls ?? []) {
    add(() => say("marks.inTool"), call.nameMarks);
    inFields(fieldsOf(call), "");
  }
  for (const one of q.statements ?? []) {
    add(() => say("marks.inName"), one.nameMarks);
    inFields(fieldsOf(one), one.path.split(".").at(-1));
  }
  add(() => say("marks.inWords"), q.messageMarks);
  if (!list.length && q.grave && !q.graveRule) list.push(el("li", {}, say("marks.elsewhere")));
  return list.length > 12 ? [...list.slice(0, 12), el("li", {}, say("marks.places", { n: list.length - 12 }))] : list;
}
