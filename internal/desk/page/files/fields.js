// The arguments of a call, laid out to be read.
import { button, el } from "./dom.js";
import { parts, say } from "./language.js";
import { digits } from "./model.js";
import { literal, name, orderOf, shown } from "./text.js";

const maxLines = 12, maxLength = 1200, someLines = 9, someLength = 900, someFields = 60;

// isProse says whether a text is written in sentences, and not a word, an id or code.
export const isProse = (text) => /\n/.test(text) || (text.length > 80 && text.includes(" "));

// A Folds knows what of a question is not on the page yet.
export class Folds {
  constructor() { this.closed = new Map(); this.files = new Set(); this.next = 0; this.changed = () => {}; }
  get any() { return this.closed.size > 0; }
  add(open) { const n = this.next++; this.closed.set(n, open); return n; }
  open(n) { const open = this.closed.get(n); this.closed.delete(n); open?.(); this.changed(); }
  openAll() { for (const n of [...this.closed.keys()]) this.open(n); }
}

// folded cuts a text that is long, with a button for its rest. make(text, from, to) makes the nodes.
function folded(text, folds, make) {
  const lines = text.split("\n");
  if (!folds || (lines.length <= maxLines && text.length <= maxLength)) return make(0, text.length);
  let cut = lines.length > maxLines ? lines.slice(0, someLines).join("\n").length : someLength;
  cut = Math.min(cut, someLength);
  if (/[\uD800-\uDBFF]/.test(text[cut - 1])) cut--;
  const rest = text.length - cut, restLines = text.slice(cut).split("\n").length - 1;
  const words = restLines > 0 ? say("fold.lines", { n: restLines, characters: rest }) : say("fold.characters", { n: rest });
  const box = el("div", { class: "fold" }, make(0, cut));
  const n = folds.add(() => box.replaceChildren(...[make(0, text.length)].flat()));
  box.append(button(words, { kind: "small", press: () => folds.open(n) }));
  return box;
}

// lined is a text with the numbers of its lines.
function lined(text, marks, kind) {
  return (from, to) => {
    const box = el("div", { class: `code ${kind}` });
    let inside = false; // a hunk: before it, lines that begin with + and - name files
    for (let at = from; at <= to;) {
      let end = text.indexOf("\n", at);
      if (end < 0 || end > to) end = to;
      inside ||= text.startsWith("@@", at);
      const sign = kind === "diff" && inside ? text[at] : "";
      const how = sign === "+" ? "plus" : sign === "-" ? "minus" : "";
      box.append(el("div", { class: `line ${how}` },
        how && el("span", { class: "unseen" }, `${say(how === "plus" ? "diff.added" : "diff.removed")} `), lineOf(text, marks, at, end)));
      at = end + 1;
    }
    return box;
  };
}

// lineOf is a line of code. Its direction is that of code.
const lineOf = (text, marks, at, end) => el("span", { class: orderOf(text.slice(at, end)).class }, shown(text, marks, at, end));

// number shows digits as they came, in groups that only the eye sees.
export function number(text, big) {
  return el("span", { class: big ? "number big" : "number" }, digits(text).map((group) => el("span", {}, group)));
}

// value makes the nodes of one field.
function value(field, folds) {
  const { text = "", marks = [] } = field;
  switch (field.kind) {
    case "number":
      return [number(text, field.salient), field.currency && [" ", el("span", { class: "unit" }, shown(field.currency))]];
    case "boolean": case "null":
      return el("code", { class: "stored" }, text || "null");
    case "empty":
      return el("code", { class: "stored faint" }, text || '""');
    case "code": case "diff":
      return folded(text, folds, lined(text, marks, field.kind));
    default:
      if (field.kind === "prose" || isProse(text)) return folded(text, folds, (from, to) => el("div", { class: "prose", dir: "auto" }, shown(text, marks, from, to)));
      return folded(text, folds, (from, to) => literal(text, marks, from, to));
  }
}

// keyOfField is a member's key, or the place of an element.
export const keyOfField = (field) => field.key ?? /\[\d+\]$/.exec(field.path)?.[0] ?? field.path;

// tree nests fields by their depths.
function tree(fields) {
  const root = { children: [] };
  const stack = [root];
  for (const field of fields) {
    const node = { field, children: [] };
    const depth = Math.min(field.depth ?? 0, stack.length - 1);
    stack.length = depth + 1;
    stack[depth].children.push(node);
    stack.push(node);
  }
  return root.children;
}

// lately says how a field is beside those that were approved lately.
function lately(one) {
  if (!one) return null;
  const notes = [];
  if (one.same) notes.push(" ", el("span", { class: "note" }, say("lately.same")));
  else if (one.usual !== undefined) notes.push(el("p", { class: "note" }, parts("lately.always", { value: el("b", { ...orderOf(one.usual), class: `other ${orderOf(one.usual).class}` }, shown(one.usual)) })));
  if (one.others?.length) notes.push(el("p", {}, el("strong", { class: "badge warn" }, parts("lately.currency", { currency: shown(one.currency), others: shown(one.others.join(", ")) }))));
  if (!one.same && one.least !== undefined) {
    const n = one.count ?? one.of;
    const reach = one.least === one.most ? one.least : say("lately.reach", { least: one.least, most: one.most });
    notes.push(el("p", { class: "note" }, parts(one.currency ? "lately.approvedIn" : "lately.approved", { n: n ?? 0, currency: shown(one.currency ?? ""), reach: el("span", { class: "number" }, reach) })));
    if (one.times) notes.push(el("p", {}, el("strong", { class: "badge warn" }, timesText(one.times))));
  }
  return notes;
}

const timesText = (n) => say(n >= 1 ? "lately.times" : "lately.less", { n });

// pair is a name and a value that belong together, in a list of such.
export const pair = (key, value, how = "") => el("div", { class: `field ${how}` }, el("dt", { class: "key" }, key), value);

// table lays fields out as a list of names and values. folds: what is long is folded; null: nothing
// is. label is the name of a value that has none.
export function table(fields, { folds = null, compared = [], label = "" } = {}) {
  const by = new Map((compared ?? []).map((one) => [one.path, one]));
  const rows = (nodes) => nodes.map(({ field, children }) => {
    const what = children.length ? el("dd", { class: "nested" }, el("dl", {}, rows(children))) : el("dd", { class: "value" },
      value(field, folds), lately(by.get(field.path)));
    return pair([name(keyOfField(field) || label, field.keyMarks ?? []), field.twice && el("span", { class: "badge bad" }, say("field.twice")), field.changed && el("span", { class: "badge warn" }, say("field.changed"))],
      what, children.length ? "parent" : "");
  });
  const nodes = tree(fields);
  const list = el("dl", {}), box = el("div", { class: "fields" }, list);
  if (folds && fields.length > someFields && nodes.length > 1) {
    let n = 0, some = 0;
    while (n < nodes.length && some < someFields) some += 1 + leaves(nodes[n++]);
    list.append(...rows(nodes.slice(0, n)));
    if (n < nodes.length) {
      const rest = nodes.slice(n), words = say("fold.arguments", { n: rest.length });
      const last = el("div", { class: "field" }, el("div", { class: "value" }));
      const fold = folds.add(() => { list.append(...rows(rest)); last.remove(); });
      last.firstChild.append(button(words, { kind: "small", press: () => folds.open(fold) }));
      box.append(last);
    }
    return box;
  }
  list.append(...rows(nodes));
  return box;
}

const leaves = (node) => node.children.reduce((sum, child) => sum + 1 + leaves(child), 0);

// whole shows a text that is no arguments: as it came, with its lines.
export const whole = (text, folds) => el("div", { class: "fields" }, el("div", { class: "field" },
  el("div", { class: "value wide" }, folded(text, folds, lined(text, undefined, "code")))));

// change shows what was and what is sent, with signs and words beside the colours.
export function change(before, after) {
  const line = (how, word, text) => el("div", { class: `line ${how}` }, el("span", { class: "unseen" }, word), lineOf(text, undefined, 0, text.length));
  return el("div", { class: "code change" }, before !== null && line("minus", `${say("diff.before")} `, before), after !== null && line("plus", `${say("diff.after")} `, after));
}
