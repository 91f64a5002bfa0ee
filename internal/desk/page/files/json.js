// Reading JSON without losing what it says. JSON.parse makes 1.1 of 1.10 and Infinity of 1e400, and
// of a key that stands twice it keeps the last. Arguments are what will run, so they are read into
// nodes that keep the text of each value.

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const string = /"(?:[^"\\]|\\.)*"/sy;
const deepest = 64;

// read returns the node of a JSON text: {kind, raw, value?, members?, items?}. kind is string,
// number, true, false, null, object, array, or deep for what is nested deeper than anybody reads.
// It throws a SyntaxError if the text is no JSON; its at is the place.
export function read(text) {
  const at = { text, pos: 0 };
  const node = value(at, 0);
  skip(at);
  if (at.pos !== text.length) throw broken(at, "there is something behind the value");
  return node;
}

function broken(at, words = "it is not JSON") { return Object.assign(new SyntaxError(words), { at: at.pos }); }

// said is what a JSON string says.
function said(at, from, raw) {
  try { return JSON.parse(raw); } catch { at.pos = from; throw broken(at); }
}

function skip(at) {
  space.lastIndex = at.pos;
  space.exec(at.text);
  at.pos = space.lastIndex;
}

function take(at, pattern) {
  pattern.lastIndex = at.pos;
  const found = pattern.exec(at.text);
  if (!found) throw broken(at);
  at.pos = pattern.lastIndex;
  return found[0];
}

function value(at, depth) {
  skip(at);
  const from = at.pos;
  const sign = at.text[from];
  if (sign === "{" || sign === "[") return depth >= deepest ? deep(at) : nested(at, sign, depth);
  if (sign === '"') {
    const raw = take(at, string);
    return { kind: "string", raw, value: said(at, from, raw) };
  }
  for (const word of ["true", "false", "null"]) {
    if (at.text.startsWith(word, from)) {
      at.pos += word.length;
      return { kind: word, raw: word };
    }
  }
  return { kind: "number", raw: take(at, number) };
}

function nested(at, sign, depth) {
  const from = at.pos++;
  const object = sign === "{";
  const list = [];
  const end = object ? "}" : "]";
  for (skip(at); at.text[at.pos] !== end; skip(at)) {
    if (list.length && at.text[at.pos] !== ",") throw broken(at);
    if (list.length) at.pos++;
    if (!object) { list.push(value(at, depth + 1)); continue; }
    skip(at);
    const begin = at.pos, key = said(at, begin, take(at, string));
    skip(at);
    if (at.text[at.pos] !== ":") throw broken(at);
    at.pos++;
    list.push({ key, node: value(at, depth + 1) });
  }
  at.pos++;
  const raw = at.text.slice(from, at.pos);
  return object ? { kind: "object", raw, members: list } : { kind: "array", raw, items: list };
}

// deep takes a value by its brackets alone.
function deep(at) {
  const from = at.pos;
  for (let open = 0; ;) {
    const sign = at.text[at.pos];
    if (sign === undefined) throw broken(at);
    if (sign === '"') { take(at, string); continue; }
    at.pos++;
    if (sign === "{" || sign === "[") open++;
    else if ((sign === "}" || sign === "]") && --open === 0) break;
  }
  return { kind: "deep", raw: at.text.slice(from, at.pos) };
}

// plain makes ordinary values of a node. What stands under a name of keep stays a node.
export function plain(node, keep = new Set()) {
  switch (node.kind) {
    case "object": {
      const made = {};
      for (const { key, node: inner } of node.members) {
        Object.defineProperty(made, key, { value: keep.has(key) ? inner : plain(inner, keep), enumerable: true, configurable: true, writable: true });
      }
      return made;
    }
    case "array": return node.items.map((inner) => plain(inner, keep));
    case "string": return node.value;
    case "number": return Number(node.raw);
    case "true": return true;
    case "false": return false;
    case "null": return null;
    default: return node.raw;
  }
}

// put is the text of an object with some members replaced: changed has JSON texts by the place of
// the member. What is not changed keeps its text.
export function put(object, changed) {
  return "{" + object.members.map(({ key, node }, n) => JSON.stringify(key) + ":" + (changed.get(n) ?? node.raw)).join(",") + "}";
}

// twiceIn is the first key that stands twice in an object of a node, at any depth; null: none does.
export function twiceIn(node) {
  const inner = node.kind === "object" ? node.members.map((m) => m.node) : node.kind === "array" ? node.items : [];
  if (node.kind === "object") {
    const seen = new Set();
    for (const { key } of node.members) { if (seen.has(key)) return key; seen.add(key); }
  }
  for (const one of inner) { const key = twiceIn(one); if (key !== null) return key; }
  return null;
}

// isNumber says whether a text is a number as JSON writes it.
export const isNumber = (text) => /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
