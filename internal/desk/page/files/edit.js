// Changing arguments before they are approved, and seeing the changes before they are sent. What is
// not changed keeps its text, to the last digit.
import { el } from "./dom.js";
import { change, pair } from "./fields.js";
import { checkJSON, checkNumber, checkText } from "./form.js";
import { put } from "./json.js";
import { parts, say } from "./language.js";
import { argumentsOf, editsOf } from "./model.js";
import { name } from "./text.js";

const textOf = (node) => (node.kind === "string" ? node.value : node.raw);
const schemaOf = (q, key) => editsOf(q).args.properties?.[key] ?? {};

// ui.edits has by the place of an argument the text in its input.

// editor makes an input of each argument.
export function editor(ui, q) {
  return el("section", {}, el("h3", {}, say("section.run"), " ", el("span", { class: "more" }, say("edit.asYou"))),
    el("div", { class: "fields form" }, argumentsOf(q).members.map((member, n) => input(ui, q, member, n))));
}

function input(ui, q, { key, node }, n) {
  const text = textOf(node), id = `e${n}`;
  let control;
  if (node.kind === "true" || node.kind === "false") {
    control = el("select", { id }, ["true", "false"].map((v) => el("option", { value: v }, v)));
  } else if (node.kind === "number" || (node.kind === "string" && text.length <= 80 && !/[\r\n]/.test(text))) {
    control = el("input", { id, type: "text", class: "mono", autocomplete: "off", spellcheck: "false", inputmode: node.kind === "number" ? "decimal" : undefined });
  } else control = el("textarea", { id, rows: Math.min(12, 2 + text.split("\n").length), spellcheck: node.kind === "string" ? "true" : "false", class: node.kind === "string" ? "" : "mono" });
  control.value = text;
  const untouched = control.value; // as the browser keeps it: it takes some line ends away
  if (ui.edits.has(n)) control.value = ui.edits.get(n);
  const wrote = el("p", { class: "note", id: `${id}w` }), error = el("p", { class: "error", id: `${id}e` });
  control.setAttribute("aria-describedby", `${id}w ${id}e`);
  const look = () => {
    if (control.value === untouched) ui.edits.delete(n); else ui.edits.set(n, control.value);
    const is = ui.edits.has(n);
    wrote.replaceChildren(...(is ? parts("edit.wrote", { text: name(text.length > 80 ? text.slice(0, 80) + "…" : text) }) : []));
    const wrong = is ? wrongWith(q, key, node, control.value) : null;
    error.textContent = wrong ?? "";
    if (wrong) control.setAttribute("aria-invalid", "true"); else control.removeAttribute("aria-invalid");
    ui.changed();
  };
  control.addEventListener("input", look);
  control.addEventListener("change", look);
  queueMicrotask(look);
  return el("div", { class: "field" }, el("label", { class: "key", for: id }, name(key)), el("div", { class: "value" }, control, wrote, error));
}

// wrongWith says in words why a text cannot stand for an argument.
function wrongWith(q, key, node, typed) {
  const schema = schemaOf(q, key);
  const type = typeof schema.type === "string" ? schema.type : { number: "number", string: "string" }[node.kind];
  if (node.kind === "string" && (type === undefined || type === "string")) return checkText(typed, schema);
  if (type === "number" || type === "integer") return checkNumber(typed.trim(), schema, type);
  if (node.kind === "true" || node.kind === "false") return null;
  return checkJSON(typed, schema);
}

const jsonOf = (node, typed) => (node.kind === "string" ? JSON.stringify(typed) : typed.trim());

// problems says how many changes there are, and whether one of them does not fit.
export function problems(ui, q) {
  const list = argumentsOf(q).members;
  let wrong = 0;
  for (const [n, typed] of ui.edits) if (wrongWith(q, list[n].key, list[n].node, typed)) wrong++;
  return { changes: ui.edits.size, wrong };
}

// payload is the answer that lets the call run with the changes, as JSON text.
export function payload(ui, q) {
  const args = argumentsOf(q);
  const texts = new Map([...ui.edits].map(([n, typed]) => [n, jsonOf(args.members[n].node, typed)]));
  return `{${JSON.stringify(editsOf(q).key)}:true,"editedArgs":${put(args, texts)}}`;
}

// review shows each change as it will be sent.
export function review(ui, q) {
  const list = argumentsOf(q).members, n = ui.edits.size, rest = list.length - n;
  return el("section", {}, el("h3", {}, say("edit.changes"), " ", el("span", { class: "more" }, say("edit.of", { changed: n, n: list.length }))),
    el("div", { class: "fields" }, el("dl", {}, [...ui.edits].sort((a, b) => a[0] - b[0]).map(([at, typed]) =>
      pair(name(list[at].key), el("dd", { class: "value" }, change(textOf(list[at].node), typed)))))),
    el("p", { class: "note" }, say("edit.rest", { n: rest })));
}
