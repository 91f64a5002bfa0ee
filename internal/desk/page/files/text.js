// Text that an agent, a tool or a person wrote, so that nobody is fooled by it: what cannot be seen
// is shown as a sign in its place, and no text turns the reading direction of what stands around it.
import { el } from "./dom.js";
import { say } from "./language.js";

// hidden are the characters that show nothing, or change how others are shown. The server's marks
// say the same and more; where a text comes without marks, this stands in.
const hidden = /[\p{Cf}\p{Cc}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const emoji = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|[0-9#*]/u;

const code = (sign) => "U+" + sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

// ownMarks are the marks of a text that came without the server's, in UTF-16 units.
function ownMarks(text) {
  if (!hidden.test(text)) return [];
  const marks = [];
  let at = 0, before = "";
  for (const sign of text) {
    const joins = (sign === "\uFE0F" || sign === "\u200D") && emoji.test(before);
    if (sign !== "\n" && sign !== "\t" && sign !== "\r" && hidden.test(sign) && !joins) {
      const last = marks.at(-1);
      if (last && last.sign === sign && last.from + last.units === at) {
        last.units += sign.length; last.count++;
      } else marks.push({ class: "A", name: code(sign), sign, from: at, units: sign.length, count: 1 });
    }
    if (sign !== "\uFE0F") before = sign;
    at += sign.length;
  }
  return marks;
}

// A text of many lines is asked for line by line. Its marks are looked for once.
let last = { text: null, marks: null, list: [] };

function marksOf(text, marks) {
  if (last.text !== text || last.marks !== marks) last = { text, marks, list: marks ? placed(text, marks) : ownMarks(text) };
  return last.list;
}

// firstIn is the place of the first mark that ends behind a unit.
function firstIn(list, from) {
  let low = 0, high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid].from + list[mid].units > from) high = mid; else low = mid + 1;
  }
  return low;
}

// placed are the server's marks in UTF-16 units: it counts in code points.
function placed(text, marks) {
  const sorted = marks.map((mark) => ({ ...mark })).sort((a, b) => a.at - b.at);
  let n = 0, at = 0, units = 0;
  const ends = sorted.flatMap((mark) => [[mark.at, mark, "from"], [mark.at + (mark.length ?? 1), mark, "to"]]).sort((a, b) => a[0] - b[0]);
  for (const sign of text) {
    for (; n < ends.length && ends[n][0] <= at; n++) ends[n][1][ends[n][2]] = units;
    if (n === ends.length) break;
    at++; units += sign.length;
  }
  for (; n < ends.length; n++) ends[n][1][ends[n][2]] = Math.min(units, text.length);
  let end = 0;
  return sorted.filter((mark) => {
    mark.units = mark.to - mark.from;
    const apart = mark.from >= end;
    if (apart) end = mark.to;
    return apart;
  });
}

// chipText is what stands in the place of a mark that cannot be seen.
export function chipText(mark) {
  if (mark.decoded) return say("mark.decoded", { text: mark.decoded });
  return mark.count > 1 ? say("mark.times", { name: nameOf(mark), n: mark.count }) : nameOf(mark);
}

// nameOf is the name of a mark: that of Unicode, which is the same in every language.
function nameOf(mark) {
  const first = mark.name?.endsWith(more) ? mark.name.slice(0, -more.length) : null;
  return first === null ? mark.name : say("mark.andOthers", { name: first });
}
const more = " and others"; // the API's words for a run of several characters

// seen says whether what is marked can be seen itself: letters that look like others, and spaces.
const seen = (mark) => mark.kind === "lookalike" || mark.kind === "space" || mark.class === "B";

// shown makes the nodes of a text, or of its part from one unit to another.
export function shown(text, marks, from = 0, to = text.length) {
  const nodes = [];
  let at = from;
  const list = marksOf(text, marks);
  for (let n = firstIn(list, from); n < list.length && list[n].from < to; n++) {
    const mark = list[n];
    const start = Math.max(mark.from, from), end = Math.min(mark.from + mark.units, to);
    if (start >= end) continue;
    if (start > at) nodes.push(text.slice(at, start));
    if (seen(mark)) {
      nodes.push(el("mark", { class: mark.class === "B" ? "space" : "lookalike", title: nameOf(mark) }, text.slice(start, end),
        el("span", { class: "unseen" }, ` (${nameOf(mark)}) `)));
    } else nodes.push(el("mark", { class: "chip", title: nameOf(mark) }, chipText(mark)));
    at = end;
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

// turning are the characters that turn the order of what stands around them, and controls.
const turning = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2029\u202A-\u202E\u2066-\u2069]/;

// orderOf says how a text stands among others: by itself, so that Arabic and Hebrew are read as they
// are written; letter by letter as it is stored where a character in it turns the order.
export const orderOf = (text) => (turning.test(text) ? { class: "stored" } : { class: "isolated", dir: "auto" });

// literal shows a text that is no prose, or its part from one unit to another.
export const literal = (text, marks, from, to) => el("code", orderOf(text), shown(text, marks, from, to));

// name shows a word such as a tool's name or a key.
export const name = (text, marks) => literal(text, marks);

// person shows who somebody is.
export const person = (text) => el("b", { class: "person" }, shown(text));

// markNames are the names of some marks, for a sentence.
export const markNames = (marks) => [...new Set(marks.map((m) => (m.kind === "lookalike" && m.decoded ? say("mark.is", { sign: m.decoded, name: nameOf(m) }) : nameOf(m))).filter(Boolean))].slice(0, 4).join(", ");

// oneLine is a text for a place that has one line, without marks: what is hidden becomes its code.
export function oneLine(text, most = 160) {
  const cut = text.length > most * 2 ? text.slice(0, most * 2) : text;
  let out = "", at = 0;
  for (const mark of ownMarks(cut)) {
    out += cut.slice(at, mark.from) + ` ${mark.name} `;
    at = mark.from + mark.units;
  }
  out = (out + cut.slice(at)).replace(/\s+/g, " ").trim();
  return out.length > most ? out.slice(0, most - 1) + "…" : out;
}
