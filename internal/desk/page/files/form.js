// An answer's form, made from the schema of what the agent asks for. Numbers stay the text that was
// typed.
import { el, fill } from "./dom.js";
import { whole } from "./fields.js";
import { isNumber, read, twiceIn } from "./json.js";
import { has, say } from "./language.js";
import { choicesOf, literal } from "./model.js";
import { draftOf, openKey } from "./state.js";
import { orderOf, shown } from "./text.js";

let made = 0;

// form makes the inputs, and ui.answer(), which is {payload} or {errors}. What will be sent stands
// below them. quiet: ui.answer says nothing of errors beside the inputs.
export function form(ui, q, kind) {
  const sends = el("div", { class: "sends" });
  const show = () => {
    const { payload } = ui.answer(true);
    const made = el("div", {}, el("p", { class: "note" }, say(payload === undefined ? "sends.nothing" : `sends.${whatIs(payload)}`)),
      payload !== undefined && el("pre", { tabindex: "0", role: "group", "aria-label": say("sends.label") }, el("span", orderOf(payload), shown(payload))),
      payload !== undefined && looksLikeJSON(payload) && el("p", { class: "note" }, say("sends.quotes")));
    if (!sends.firstChild?.isEqualNode(made)) fill(sends, made);
  };
  const box = el("div", { on: { input: show, change: show } }, inputs(ui, q, kind, show), sends);
  show();
  return box;
}

const whatIs = (payload) => ({ '"': "text", "{": "object", "[": "list", t: "value", f: "value", n: "value" })[payload[0]] ?? "number";

// looksLikeJSON says whether a text says a JSON value that is no text.
function looksLikeJSON(payload) {
  if (payload[0] !== '"') return false;
  try { return read(JSON.parse(payload)).kind !== "string"; } catch { return false; }
}

function inputs(ui, q, kind, show) {
  const draft = draftOf(openKey());
  const choices = choicesOf(q);
  if (choices) return choice(ui, draft, choices);
  const schema = q.responseSchema;
  if (q.responseSchemaRaw) return rawForm(ui, draft, q);
  if (!schema) return anything(ui, draft, q, show);
  if (schema.type === "string" || kind === "text") return text(ui, draft, q);
  const flat = schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0;
  if (!flat) return el("div", {}, el("p", { class: "note" }, say("form.noFields")), json(ui, draft, schema));
  const inputs = Object.entries(schema.properties).map(([name, inner]) => field(draft, name, inner, (schema.required ?? []).includes(name)));
  ui.answer = (quiet) => {
    const errors = [], parts = [];
    for (const one of inputs) {
      const got = one.read();
      if (!quiet) one.say(got.error);
      if (got.error) errors.push({ text: got.error, node: one.input });
      else if (got.text !== undefined) parts.push(`${JSON.stringify(one.name)}:${got.text}`);
    }
    return errors.length ? { errors } : { payload: `{${parts.join(",")}}` };
  };
  return el("div", { class: "fields form" }, inputs.map((one) => one.node));
}

function choice(ui, draft, choices) {
  ui.pick = (n) => { const radio = box.querySelectorAll("input")[n]; if (radio) { radio.checked = true; draft.pick = n; radio.focus(); radio.dispatchEvent(new Event("change", { bubbles: true })); } };
  ui.answer = () => (draft.pick === null ? { errors: [{ text: say("form.pickFirst"), node: box.querySelector("input") }] } : { payload: choices[draft.pick].payload });
  const box = el("div", { class: "fields choices", role: "radiogroup", "aria-label": say("section.answer") }, choices.map((one, n) => {
    const radio = el("input", { type: "radio", name: "choice", on: { change: () => { draft.pick = n; } } });
    radio.checked = draft.pick === n;
    return el("label", { class: "choice" }, radio, el("span", {}, el("b", {}, shown(String(one.label))), one.sent != null && [" ", el("code", {}, shown(one.sent))], one.more && el("span", { class: "more" }, shown(one.more))), n < 9 && el("kbd", { "aria-hidden": "true" }, String(n + 1)));
  }));
  return box;
}

// anything is an answer of which nobody has said what it has to be: a text, or JSON.
function anything(ui, draft, q, show) {
  const box = el("div", {});
  const draw = () => fill(box, draft.json ? json(ui, draft, null) : text(ui, draft, q));
  const as = (isJSON, label) => {
    const radio = el("input", { type: "radio", name: "as", on: { change: () => { draft.json = isJSON; draw(); show(); } } });
    radio.checked = draft.json === isJSON;
    return el("label", {}, radio, label);
  };
  draw();
  return el("div", {}, el("div", { class: "as", role: "radiogroup", "aria-label": say("form.as") }, as(false, say("form.asText")), as(true, say("form.asJSON"))), box);
}

// rawForm is for a schema that cannot be laid out.
function rawForm(ui, draft, q) {
  return el("div", {}, el("p", { class: "note" }, say("form.raw"), " ", has(`schema.${q.responseSchemaNoteCode}`) && `${say(`schema.${q.responseSchemaNoteCode}`)} `, say("form.writeJSON")),
    json(ui, draft, null), el("p", { class: "note" }, say("form.says")), el("div", { class: "says open" }, whole(q.responseSchemaRaw, ui.folds)));
}

function text(ui, draft, q) {
  const area = el("textarea", { id: "answer", rows: 4, "aria-label": say("section.answer"), value: draft.values.get("") ?? "", on: { input: () => draft.values.set("", area.value) } });
  const limits = q.responseSchema ?? {};
  const said = el("p", { class: "error", role: "alert" });
  ui.answer = (quiet) => {
    const wrong = checkText(area.value, limits) ?? (area.value.trim() === "" ? say("form.writeFirst") : null);
    if (!quiet) said.textContent = wrong ?? "";
    return wrong ? { errors: [{ text: wrong, node: area }] } : { payload: JSON.stringify(area.value) };
  };
  return el("div", {}, area, said);
}

function json(ui, draft, schema) {
  const area = el("textarea", { id: "answer", class: "mono", rows: schema ? 8 : 4, "aria-label": say("form.labelJSON"), spellcheck: "false", value: draft.values.get("") ?? "", on: { input: () => draft.values.set("", area.value) } });
  const said = el("p", { class: "error", role: "alert" });
  ui.answer = (quiet) => {
    const wrong = checkJSON(area.value, schema);
    if (!quiet) said.textContent = wrong ?? "";
    return wrong ? { errors: [{ text: wrong, node: area }] } : { payload: area.value.trim() };
  };
  return el("div", {}, area, said);
}

// typeOf is what a schema asks for, null beside another type left out.
const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type);

// field is one member of a form: {name, node, input, read, say}. read gives {text} of JSON, or {error}.
function field(draft, name, schema, required) {
  const id = `f${++made}`, type = typeOf(schema), kept = draft.values.get(name);
  const start = kept ?? (schema.default ? literal(schema.default) : "");
  const choices = type === "boolean" ? [["true", say("yes")], ["false", say("no")]] : schema.enum?.kind === "array" ? schema.enum.items.map((item) => [item.raw, literal(item)]) : null;
  const about = { id, "aria-describedby": `${id}e`, "aria-required": required ? "true" : undefined, on: { input: () => draft.values.set(name, input.value), change: () => draft.values.set(name, input.value) } };
  let input;
  if (choices) {
    input = el("select", about, el("option", { value: "" }, say(required ? "form.pickOne" : "form.noAnswer")), choices.map(([value, label]) => el("option", { value }, label)));
    input.value = kept ?? (schema.default ? schema.default.raw : "");
  } else if (type === "string" || type === "number" || type === "integer") {
    input = el("input", { type: "text", inputmode: type === "string" ? undefined : "decimal", autocomplete: "off", value: start, ...about });
  } else input = el("textarea", { class: "mono", rows: 4, spellcheck: "false", value: start, ...about });
  const error = el("p", { class: "error", id: `${id}e` });
  const node = el("div", { class: "field" }, el("label", { class: "key", for: id }, shown(schema.title ?? name), schema.title !== undefined && schema.title !== name && [" ", el("code", {}, shown(name))], !required && el("span", { class: "note" }, ` ${say("form.optional")}`)),
    el("div", { class: "value" }, input, schema.description && el("p", { class: "note" }, shown(schema.description)), error));
  return {
    name, node, input,
    say(words) { error.textContent = words ?? ""; if (words) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid"); },
    read() {
      const typed = input.value;
      if (typed === "" && !(required && type === "string" && !choices)) return required ? { error: say("form.required") } : {};
      if (typed === "" && required && !(schema.minLength === 0)) return { error: say("form.required") };
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
  if (!isNumber(typed)) return say("check.number", { typed, example: type === "integer" ? "12" : "12.50" });
  if (type === "integer" && !Number.isInteger(Number(typed))) return say("check.integer", { typed });
  if (schema.minimum !== undefined && Number(typed) < schema.minimum) return say("check.least", { least: String(schema.minimum) });
  if (schema.maximum !== undefined && Number(typed) > schema.maximum) return say("check.most", { most: String(schema.maximum) });
  return null;
}

const examples = { date: ["check.date", "1988-02-28", /^\d{4}-\d{2}-\d{2}$/], time: ["check.time", "14:05:00Z", /^\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i], "date-time": ["check.dateTime", "1988-02-28T14:05:00Z", /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i], email: ["check.email", "ann@example.com", /^[^\s@]+@[^\s@]+$/] };

// checkText says in words why a text does not fit.
export function checkText(typed, schema) {
  if (schema.minLength !== undefined && [...typed].length < schema.minLength) return say("check.short", { n: schema.minLength });
  if (schema.maxLength !== undefined && [...typed].length > schema.maxLength) return say("check.long", { n: [...typed].length, most: schema.maxLength });
  const known = Object.hasOwn(examples, schema.format) ? examples[schema.format] : undefined;
  if (known && (!known[2].test(typed) || (schema.format === "date" && !isDay(typed)))) return say(known[0], { typed, example: known[1] });
  return null;
}

function isDay(text) {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

// notJSON says in words where a text is no JSON.
function notJSON(typed, at) {
  const before = typed.slice(0, at).split("\n");
  const where = at >= typed.trimEnd().length ? say("json.ends") : say("json.at", { line: before.length, character: [...before.at(-1)].length + 1 });
  const hint = /^[^\s{["\d-][^{[":]*$/.test(typed.trim()) ? say("json.quotes", { example: JSON.stringify(typed.trim().slice(0, 40)) }) : say("json.example", { example: '{"name": "value"}' });
  return `${say("json.not", { where })} ${hint}`;
}

// checkJSON says in words why a text is no JSON of the type that is asked for.
export function checkJSON(typed, schema) {
  let node;
  if (typed.trim() === "") return say("json.nothing");
  try { node = read(typed); } catch (wrong) { return notJSON(typed, wrong.at ?? 0); }
  const twice = twiceIn(node);
  if (twice !== null) return say("json.twice", { key: twice });
  const type = schema ? typeOf(schema) : undefined;
  if ((type === "object" || type === "array") && node.kind !== type) return say(type === "object" ? "json.object" : "json.list");
  return null;
}
