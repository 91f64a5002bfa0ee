// An answer's form, made from the schema of what the agent asks for. Numbers stay the text that was
// typed.
import { el } from "./dom.js";
import { isNumber, read } from "./json.js";
import { choicesOf, literal } from "./model.js";
import { draftOf, openKey } from "./state.js";
import { shown } from "./text.js";

let made = 0;

// form makes the inputs, and ui.answer(), which is {payload} or {errors}.
export function form(ui, q, kind) {
  const draft = draftOf(openKey());
  const choices = choicesOf(q);
  if (choices) return choice(ui, draft, choices);
  const schema = q.responseSchema;
  if (!schema || schema.type === "string" || kind === "text") return text(ui, draft, q);
  const flat = schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0;
  if (!flat) return json(ui, draft, schema);
  const inputs = Object.entries(schema.properties).map(([name, inner]) => field(draft, name, inner, (schema.required ?? []).includes(name)));
  ui.answer = () => {
    const errors = [], parts = [];
    for (const one of inputs) {
      const got = one.read();
      one.say(got.error);
      if (got.error) errors.push({ text: got.error, node: one.input });
      else if (got.text !== undefined) parts.push(`${JSON.stringify(one.name)}:${got.text}`);
    }
    return errors.length ? { errors } : { payload: `{${parts.join(",")}}` };
  };
  return el("div", { class: "fields form" }, inputs.map((one) => one.node));
}

function choice(ui, draft, choices) {
  ui.pick = (n) => { const radio = box.querySelectorAll("input")[n]; if (radio) { radio.checked = true; draft.pick = n; radio.focus(); } };
  ui.answer = () => (draft.pick === null ? { errors: [{ text: "Pick one of them first.", node: box.querySelector("input") }] } : { payload: choices[draft.pick].payload });
  const box = el("div", { class: "fields choices", role: "radiogroup", "aria-label": "Your answer" }, choices.map((one, n) => {
    const radio = el("input", { type: "radio", name: "choice", on: { change: () => { draft.pick = n; } } });
    radio.checked = draft.pick === n;
    return el("label", { class: "choice" }, radio, el("span", {}, el("b", {}, shown(String(one.label))), one.sent != null && [" ", el("code", {}, shown(one.sent))], one.more && el("span", { class: "more" }, shown(one.more))), n < 9 && el("kbd", { "aria-hidden": "true" }, String(n + 1)));
  }));
  return box;
}

function text(ui, draft, q) {
  const area = el("textarea", { id: "answer", rows: 4, "aria-label": "Your answer", value: draft.values.get("") ?? "", on: { input: () => draft.values.set("", area.value) } });
  const limits = q.responseSchema ?? {};
  const said = el("p", { class: "error", role: "alert" });
  ui.answer = () => {
    const wrong = checkText(area.value, limits) ?? (area.value.trim() === "" ? "Write an answer first." : null);
    said.textContent = wrong ?? "";
    return wrong ? { errors: [{ text: wrong, node: area }] } : { payload: JSON.stringify(area.value) };
  };
  return el("div", {}, area, said);
}

function json(ui, draft, schema) {
  const area = el("textarea", { class: "mono", rows: 8, "aria-label": "Your answer, as JSON", spellcheck: "false", value: draft.values.get("") ?? "", on: { input: () => draft.values.set("", area.value) } });
  const said = el("p", { class: "error", role: "alert" });
  ui.answer = () => {
    const wrong = checkJSON(area.value, schema);
    said.textContent = wrong ?? "";
    return wrong ? { errors: [{ text: wrong, node: area }] } : { payload: area.value.trim() };
  };
  return el("div", {}, el("p", { class: "note" }, "This answer has a form that the page has no fields for. Write it as JSON."), area, said);
}

// typeOf is what a schema asks for, null beside another type left out.
const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type);

// field is one member of a form: {name, node, input, read, say}. read gives {text} of JSON, or {error}.
function field(draft, name, schema, required) {
  const id = `f${++made}`, type = typeOf(schema), kept = draft.values.get(name);
  const start = kept ?? (schema.default ? literal(schema.default) : "");
  const choices = type === "boolean" ? [["true", "Yes"], ["false", "No"]] : schema.enum?.kind === "array" ? schema.enum.items.map((item) => [item.raw, literal(item)]) : null;
  const about = { id, "aria-describedby": `${id}e`, "aria-required": required ? "true" : undefined, on: { input: () => draft.values.set(name, input.value), change: () => draft.values.set(name, input.value) } };
  let input;
  if (choices) {
    input = el("select", about, el("option", { value: "" }, required ? "Pick one" : "No answer"), choices.map(([value, label]) => el("option", { value }, label)));
    input.value = kept ?? (schema.default ? schema.default.raw : "");
  } else if (type === "string" || type === "number" || type === "integer") {
    input = el("input", { type: "text", inputmode: type === "string" ? undefined : "decimal", autocomplete: "off", value: start, ...about });
  } else input = el("textarea", { class: "mono", rows: 4, spellcheck: "false", value: start, ...about });
  const error = el("p", { class: "error", id: `${id}e` });
  const node = el("div", { class: "field" }, el("label", { class: "key", for: id }, shown(schema.title ?? name), schema.title !== undefined && schema.title !== name && [" ", el("code", {}, shown(name))], !required && el("span", { class: "note" }, " optional")),
    el("div", { class: "value" }, input, schema.description && el("p", { class: "note" }, shown(schema.description)), error));
  return {
    name, node, input,
    say(words) { error.textContent = words ?? ""; if (words) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid"); },
    read() {
      const typed = input.value;
      if (typed === "" && !(required && type === "string" && !choices)) return required ? { error: "This is asked for." } : {};
      if (typed === "" && required && !(schema.minLength === 0)) return { error: "This is asked for." };
      if (choices) return { text: typed };
      if (type === "number" || type === "integer") { const wrong = checkNumber(typed.trim(), schema, type); return wrong ? { error: wrong } : { text: typed.trim() }; }
      if (type === "string") { const wrong = checkText(typed, schema); return wrong ? { error: wrong } : { text: JSON.stringify(typed) }; }
      const wrong = checkJSON(typed, schema);
      return wrong ? { error: wrong } : { text: typed.trim() };
    },
  };
}

// checkNumber says in words why a text is not such a number.
export function checkNumber(typed, schema, type) {
  if (!isNumber(typed)) return `“${typed}” is not a number. Example: ${type === "integer" ? "12" : "12.50"}`;
  if (type === "integer" && !Number.isInteger(Number(typed))) return `“${typed}” is not a whole number.`;
  if (schema.minimum !== undefined && Number(typed) < schema.minimum) return `It has to be ${schema.minimum} or more.`;
  if (schema.maximum !== undefined && Number(typed) > schema.maximum) return `It has to be ${schema.maximum} or less.`;
  return null;
}

const examples = { date: ["a date", "1988-02-28", /^\d{4}-\d{2}-\d{2}$/], time: ["a time", "14:05:00Z", /^\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i], "date-time": ["a date with time", "1988-02-28T14:05:00Z", /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i], email: ["a mail address", "ann@example.com", /^[^\s@]+@[^\s@]+$/] };

// checkText says in words why a text does not fit.
export function checkText(typed, schema) {
  if (schema.minLength !== undefined && [...typed].length < schema.minLength) return `It has to have ${schema.minLength} characters or more.`;
  if (schema.maxLength !== undefined && [...typed].length > schema.maxLength) return `It has ${[...typed].length} characters; ${schema.maxLength} is the most.`;
  const known = Object.hasOwn(examples, schema.format) ? examples[schema.format] : undefined;
  if (known && (!known[2].test(typed) || (schema.format === "date" && !isDay(typed)))) return `“${typed}” is not ${known[0]}. Example: ${known[1]}`;
  return null;
}

function isDay(text) {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

// checkJSON says in words why a text is no JSON of the type that is asked for.
export function checkJSON(typed, schema) {
  let node;
  try { node = read(typed); } catch { return "This is not JSON. Example: {\"name\": \"value\"}"; }
  const type = schema ? typeOf(schema) : undefined;
  if ((type === "object" || type === "array") && node.kind !== type) return `It has to be ${type === "object" ? "an object, in { }" : "a list, in [ ]"}.`;
  return null;
}
