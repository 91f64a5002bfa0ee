// What the page knows of a question, made of what the API says. A field that the API does not have
// yet is worked out here where that can be done, and left out where not.
import { left } from "./clock.js";
import { isNumber } from "./json.js";
import { say } from "./language.js";
import { keyOf } from "./state.js";
import { oneLine } from "./text.js";

// fieldsOf are the fields of a call, as the server laid them out.
export const fieldsOf = (call) => call?.fields ?? [];

// literal is the value of a schema's const or enum, which the API keeps as text.
export const literal = (node) => (node.kind === "string" ? node.value : node.raw);

// kindOf says how a question is answered: tool, text, choice or form.
export function kindOf(q) {
  if (q.kind) return q.kind === "form" && choicesOf(q) ? "choice" : q.kind;
  if (q.calls?.length && (q.yesKnown || !q.responseSchema)) return "tool";
  const schema = q.responseSchema;
  if (!schema) return "text";
  if (choicesOf(q)) return "choice";
  if (schema.type === "string") return "text";
  return q.yesKnown ? "tool" : "form";
}

// choicesOf are the options of a question that is answered by picking one: {label, sent, more,
// payload}. sent is what the agent gets where its label says something else.
export function choicesOf(q) {
  const schema = q.responseSchema;
  if (!schema) return null;
  const of = (s, wrap) => {
    if (s.enum?.kind === "array") return s.enum.items.map((item) => ({ label: literal(item), payload: wrap(item.raw) }));
    const each = s.oneOf ?? s.anyOf;
    if (Array.isArray(each) && each.length && each.every((o) => o.const)) {
      return each.map((o) => ({ label: o.title ?? literal(o.const), sent: o.title === undefined || o.title === literal(o.const) ? null : literal(o.const), more: o.description, payload: wrap(o.const.raw) }));
    }
    return null;
  };
  const direct = of(schema, (raw) => raw);
  if (direct) return direct;
  if (schema.type === "boolean") return [[say("yes"), "true"], [say("no"), "false"]].map(([label, payload]) => ({ label, payload }));
  const names = Object.keys(schema.properties ?? {});
  if (schema.type === "object" && names.length === 1) return of(schema.properties[names[0]], (raw) => `{${JSON.stringify(names[0])}:${raw}}`);
  return null;
}

// editsOf is where the answer's schema takes other arguments with a yes: {key, args}, the member that
// says yes and the schema of the arguments. It is the schema itself or one of its forms. undefined:
// there is no such place.
export function editsOf(q) {
  const schema = q.responseSchema ?? {};
  const forms = [schema, ...["oneOf", "anyOf", "allOf"].flatMap((k) => (Array.isArray(schema[k]) ? schema[k] : []))];
  const yes = (member) => member && (member.const ? member.const.raw === "true" : member.type === "boolean");
  for (const { properties } of forms) {
    const key = ["approved", "accepted", "confirmed"].find((k) => yes(properties?.[k]));
    if (key && properties.editedArgs) return { key, args: properties.editedArgs };
  }
}

// namedBy is the one call that the agent names where Holdpoint knows none; undefined: there is none.
export function namedBy(q) {
  const named = q.calls?.length ? [] : (q.statements ?? []).filter((one) => one.name);
  return named.length === 1 ? named[0] : undefined;
}

// argumentsOf are the arguments with which an edit begins, as a node.
export const argumentsOf = (q) => (q.calls?.length === 1 ? q.calls[0].arguments : namedBy(q)?.arguments);

// mayOf says what the caller may do with a question, and why not: codes by what.
export function mayOf(approval, q) {
  const may = q.may ?? {};
  const open = approval.state === "waiting" && !q.decision && !(left(q.expires) <= 0);
  const edits = argumentsOf(q)?.kind === "object" && editsOf(q);
  return {
    open, approve: may.approve ?? q.yesKnown, answer: may.answer ?? true, deny: may.deny || (may.cancel ?? true),
    edit: Boolean(edits) && (may.edit ?? true) && !q.cancelOnly, operate: may.operate ?? true, why: may.why ?? {},
  };
}

// changesOf are the arguments that a decision has changed: {key, was, is} with the texts, null where
// there is none; null: it was decided on the arguments as they were.
export function changesOf(q, decision) {
  const edited = decision?.arguments?.kind === "object" ? decision.arguments : null;
  if (!edited) return null;
  const text = (node) => (node ? (node.kind === "string" ? node.value : node.raw) : null);
  const was = new Map((argumentsOf(q)?.members ?? []).map((m) => [m.key, m.node]));
  const is = new Map(edited.members.map((m) => [m.key, m.node]));
  return [...new Set([...is.keys(), ...was.keys()])].filter((key) => was.get(key)?.raw !== is.get(key)?.raw).map((key) => ({ key, was: text(was.get(key)), is: text(is.get(key)) }));
}

// callName is the tool that a yes lets run; "" if nobody knows it.
export const callName = (q) => q.calls?.[0]?.name ?? "";

export const heading = { text: say("heading.text"), choice: say("heading.choice"), form: say("heading.form") };

// lineOf is what a row of the list says of a question in one line: what was sent, if that is
// something else than what was asked about.
export function lineOf(q, decision) {
  if (q.line) return oneLine(q.line);
  if (decision?.edited && !decision.fields?.length) return say("line.before", { line: lineOf(q) });
  if (kindOf(q) !== "tool" && q.message) return oneLine(q.message);
  const laid = decision?.edited ? decision.fields : q.calls?.length ? fieldsOf(q.calls[0]) : (q.statements ?? []).flatMap((one) => one.fields ?? []);
  const fields = laid.filter((f) => f.kind !== "object" && f.kind !== "array");
  const parts = [];
  const salient = fields.find((f) => f.salient);
  if (salient) parts.push(oneLine(salient.text + (salient.currency ? ` ${salient.currency}` : ""), 60));
  for (const f of fields) {
    if (parts.length >= 3) break;
    if (f !== salient && f.text !== salient?.currency && f.kind !== "null" && f.kind !== "empty") parts.push(oneLine(f.text, 80));
  }
  if (!parts.length && q.calls?.[0]?.raw) return oneLine(q.calls[0].raw);
  return parts.join(" · ") || oneLine(q.message ?? "");
}

// decisionOf is what was decided on a question, here or by the chat; null: nothing was.
export function decisionOf(approval, q) {
  const asked = approval.end?.questions.find((one) => one.id === q.id);
  return q.decision ?? (asked?.status ? { ...asked, by: approval.end.by, at: approval.end.at } : null);
}

// rowsOf are the rows that an approval has in a list: one for each question. A list does not have
// all questions of a pause that has very many.
export function rowsOf(approval, me) {
  return approval.questions.map((q, n) => ({
    key: keyOf(approval.id, q.id), id: approval.id, question: q.id, q, n, of: approval.questions.length + (approval.questionsLeft ?? 0), some: Boolean(approval.questionsLeft), approval,
    kind: kindOf(q), tool: callName(q), line: lineOf(q, decisionOf(approval, q)), opened: approval.opened, expires: q.expires,
    mine: Boolean(me?.name && approval.requester && me.name === approval.requester), doubt: approval.state === "doubt",
  }));
}

// words that a row is found by.
export const wordsOf = (row) =>
  [row.approval.agent, row.approval.requester, row.tool, row.line, row.approval.thread, row.approval.tenant].filter(Boolean).join("\n").toLowerCase();

// digits cuts a number's text into groups of its whole digits, for the eye only.
export function digits(text) {
  const found = isNumber(text) && /^(-?)(\d{5,})(.*)$/s.exec(text);
  if (!found) return [text];
  const groups = [];
  for (let end = found[2].length; end > 0; end -= 3) groups.unshift(found[2].slice(Math.max(0, end - 3), end));
  groups[0] = found[1] + groups[0];
  groups[groups.length - 1] += found[3];
  return groups;
}
