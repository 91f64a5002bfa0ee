// What is said above the arguments: what is not as it looks, and what has happened to the question.
import * as api from "./api.js";
import { clock, exact, left } from "./clock.js";
import { button, el } from "./dom.js";
import { changesOf, decisionOf, fieldsOf, kindOf } from "./model.js";
import { look } from "./poll.js";
import { state } from "./state.js";
import { markNames, name, shown } from "./text.js";
import { became, reasonOf, verbOf, whoDid, you } from "./words.js";

export const notice = (how, title, ...children) => el("div", { class: `notice ${how}` }, el("b", { class: "title" }, title), children);

// notes are the notices of a question.
export function notes(a, q, ui, may) {
  const list = [];
  if (ui.refused) list.push(notice("bad", ui.refused.title, ui.refused.quote && el("p", { class: "quote" }, "“", shown(ui.refused.quote), "”"), el("p", {}, shown(ui.refused.text)), ui.refused.list?.length && el("ul", {}, ui.refused.list.map((one) => el("li", {}, shown(one))))));
  if (a.state === "doubt") list.push(doubt(a, q, may));
  else if (a.end || q.decision) list.push(...(ui.refused?.decided ? [] : [over(a, q)]));
  else if (left(q.expires) <= 0) list.push(notice("plainly", `Nobody answered by ${clock(q.expires)}`, el("p", {}, "It was not run. The agent is told that nobody answered, not that somebody refused.")));
  if (q.cancelOnly && may.open) list.push(notice("plainly", "This can only be declined", el("p", {}, "Nobody knows any more what was asked, or what became of an earlier answer.")));
  const odd = marked(q);
  if (odd.length && !a.end) {
    list.push(notice("bad", "Some text is not what it looks like", el("ul", {}, odd), el("p", {}, `All of them are shown as marks.${q.calls?.length ? " They are part of what will run." : ""}`)));
  }
  if (may.open && kindOf(q) === "tool" && !may.approve && may.why.approve) list.push(notice("plainly", reasonOf(a, may.why.approve, "To approve it takes somebody with that right.")));
  return list;
}

// doubt is what nobody knows the end of.
function doubt(a, q, may) {
  const d = decisionOf(a, q);
  const who = d?.by && d?.at ? `${d.by} ${verbOf(d)} it at ${clock(d.at)}. ` : "";
  const free = async (event) => {
    event.target.closest("button").setAttribute("aria-disabled", "true");
    try { await api.giveUp(a.id); } catch (problem) { if (!(problem instanceof api.Problem)) throw problem; }
    look();
  };
  return notice("bad", "This may have run", el("p", {}, `${who}Holdpoint sent it and the connection broke before the agent answered. Nobody can approve or deny it again. Look in the target system whether it happened.`),
    may.operate && el("p", {}, button("Give it up", { kind: "small", press: free }), " ", el("span", {}, "frees the chat; the agent gets nothing")));
}

// over is a question that is decided or has ended.
function over(a, q) {
  const d = decisionOf(a, q);
  if (a.end?.how === "retired") return notice("plainly", "Nobody answered, so it was not run", el("p", {}, became(a.end)));
  if (a.end?.door === "desk" && (a.end.how === "withdrawn" || a.end.how === "in doubt")) {
    return notice("plainly", `${you(a.end.by) ?? "Somebody"} gave it up at ${clock(a.end.at)}`);
  }
  if (!d) return notice("plainly", a.end ? became(a.end) : "It has ended");
  const mine = d.by && d.by === state.me?.name;
  const n = changesOf(q, d)?.length ?? 0;
  const title = mine ? `You ${verbOf(d)} it${n ? ` with ${some(n, "change", "changes")}` : d.edited ? " with changes" : ""} at ${exact(d.at)}` : whoDid(d, q.decision ? "desk" : a.end?.door);
  return notice(mine ? "plainly" : "plainly strong", title);
}

const some = (n, one, many) => (n === 1 ? `1 ${one}` : `${n} ${many}`);
const kinds = {
  bidi: (n) => some(n, "character that turns the reading direction", "characters that turn the reading direction"),
  lookalike: (n) => some(n, "letter that looks like another one", "letters that look like others"),
  control: (n) => some(n, "control character", "control characters"),
  line: (n) => some(n, "line break that not everybody sees", "line breaks that not everybody sees"),
  private: (n) => some(n, "character without a meaning of its own", "characters without a meaning of their own"),
  unassigned: (n) => some(n, "character that does not exist", "characters that do not exist"),
  broken: (n) => some(n, "broken character", "broken characters"),
  blank: (n) => some(n, "character that is blank", "characters that are blank"),
  stack: (n) => some(n, "heaped accent", "heaped accents"),
  more: (n) => some(n, "more", "more"),
};
const invisible = (n) => some(n, "invisible character", "invisible characters");

// marked says in a line each what is hidden, and where. where makes the words anew for each line.
function marked(q) {
  const list = [];
  const add = (where, marks) => {
    const by = new Map();
    for (const m of marks ?? []) if (m.class === "A") by.set(m.kind, [...(by.get(m.kind) ?? []), m]);
    for (const [kind, all] of by) {
      const decoded = kind === "lookalike" ? "" : all.map((m) => m.decoded).filter(Boolean).join(" ");
      const names = decoded ? "" : markNames(all);
      list.push(el("li", {}, (kinds[kind] ?? invisible)(all.reduce((sum, m) => sum + (m.count || 1), 0)), " (in ", where(), ")",
        decoded && ["; they spell “", shown(decoded), "”"], names && `: ${names}`));
    }
  };
  const inFields = (fields, otherwise) => {
    for (const f of fields) { add(() => "a key", f.keyMarks); add(() => name(f.path || otherwise, f.keyMarks ?? []), f.marks); }
  };
  for (const call of q.calls ?? []) {
    add(() => "the tool's name", call.nameMarks);
    inFields(fieldsOf(call), "");
  }
  for (const one of q.statements ?? []) {
    add(() => "the name that the agent says", one.nameMarks);
    inFields(fieldsOf(one), one.path.split(".").at(-1));
  }
  add(() => "the agent's words", q.messageMarks);
  if (!list.length && q.grave && !q.graveRule) list.push(el("li", {}, "It lies in a part of the question that is not on this page"));
  return list.length > 12 ? [...list.slice(0, 12), el("li", {}, `and in ${list.length - 12} more places`)] : list;
}
