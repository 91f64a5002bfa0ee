// Deciding the open question: what a press of a button or a key does, and when it does nothing.
import * as edit from "./edit.js";
import { left } from "./clock.js";
import { button, byId, el, fill, tell } from "./dom.js";
import { parts, say } from "./language.js";
import { nextAfter } from "./list.js";
import { callName, fieldsOf, kindOf, mayOf } from "./model.js";
import { add, pendingOf, stop, undo } from "./pending.js";
import { again, look } from "./poll.js";
import { draw, greeting } from "./question.js";
import { draftOf, on, openKey, openQuestion, settings, state } from "./state.js";
import { name } from "./text.js";
import { reasonOf, refusal, said, whoDid } from "./words.js";

const dead = 1000; // ms in which nobody can have read what has just appeared

let ui = fresh();

function fresh() {
  return { mode: "read", files: new Set(), read: new Set(), before: null, refused: null, edits: new Map(), since: performance.now(), folds: { any: false }, digest: null, changed: () => drawBar() };
}

const draft = () => draftOf(openKey());

// settle starts the dead time anew: something has appeared or changed.
const settle = () => { ui.since = performance.now(); };
const isDead = () => performance.now() - ui.since < dead;

export const mode = () => ui.mode;

// ---- what is on the page ----

function drawAll() {
  ui.files.clear();
  ui.answer = null;
  ui.pick = null;
  draw(ui);
  ui.folds.changed = () => drawBar();
  drawBar();
}

// off says why the open question cannot be approved, "" if it can.
function whyNot(a, q, may) {
  if (!may.open) return say(q.decision || a.state !== "waiting" ? "why.decided" : "reason.INTERRUPT_EXPIRED");
  if (state.live === "store") return say("why.store");
  if (state.live === "out") return say(state.another ? "why.another" : "why.out");
  if (pendingOf(openKey())) return say("why.pending");
  return "";
}

function whyNoYes(a, q, may) {
  const why = whyNot(a, q, may);
  if (why) return why;
  if (q.cancelOnly) return say("reason.INVALID_PAYLOAD");
  if (kindOf(q) === "tool" && q.yesKnown && !may.approve) return reasonOf(a, may.why.approve, "takes.approve");
  if (!(kindOf(q) === "tool" && q.yesKnown) && !may.answer) return reasonOf(a, may.why.answer, "takes.answer");
  if (ui.files.size) return say(ui.files.has("sent") ? "why.fileSent" : "why.fileArguments");
  return "";
}

const isGrave = (q) => Boolean(q.grave);

// drawBar shows the buttons. They stand where they stood.
export function drawBar() {
  const bar = byId("bar"), a = state.detail, q = openQuestion();
  if (!a || !q) return fill(bar);
  const made = el("div", { class: "column bar" }, panel(q), buttons(a, q, mayOf(a, q)));
  // A button that is made anew between the press and the release of a mouse takes no click.
  if (bar.firstChild?.isEqualNode(made)) return;
  const focused = bar.contains(document.activeElement) ? document.activeElement.id : "";
  fill(bar, made);
  if (focused) byId(focused)?.focus();
}

function buttons(a, q, may) {
  if (ui.mode === "edit") return editing(q);
  if (ui.mode === "review") {
    return row([button(say("bar.backToEditing"), { kind: "quiet", sign: "undo", key: say("key.esc"), press: back })],
      button(say("bar.approveWith", { n: edit.problems(ui, q).changes }), { kind: "yes", sign: "check", press: approve, more: { id: "yes" } }));
  }
  if (ui.mode === "grave") return graveButtons(q);
  if (ui.mode === "sure") return row([button(say("bar.back"), { kind: "quiet", key: say("key.esc"), press: back })], button(say(`bar.${ui.sure.what}`), { kind: ui.sure.kind, sign: ui.sure.sign, press: () => commit(ui.sure), more: { id: "sure" } }));
  if (!may.open) {
    return row([ui.refused?.decided && draft().comment && button(say("bar.copy"), { kind: "quiet", press: copyComment })], button(say("bar.next"), { kind: "plainly", key: "J", press: () => next(true), more: { id: "next" } }));
  }
  const tool = kindOf(q) === "tool" && q.yesKnown;
  const no = whyNot(a, q, may) || (may.deny ? "" : reasonOf(a, may.why.deny, "takes.deny")), yes = whyNoYes(a, q, may);
  const refuse = button(say(tool ? "bar.deny" : "bar.decline"), { kind: "no", sign: "cross", key: "D", off: no, press: () => decline(), more: { id: "no" } });
  const more = [];
  if (tool && may.edit) more.push(button(say("bar.edit"), { kind: "quiet", sign: "pen", key: "E", off: yes, press: startEdit, more: { id: "edit" } }));
  more.push(button(say("bar.comment"), { kind: "quiet", key: "C", off: no && yes ? no : "", press: () => comment(ui.mode === "comment" ? "read" : "comment"), more: { id: "comment-button", "aria-expanded": String(ui.mode === "comment" || ui.mode === "deny") } }));
  const main = tool ? button(say(isGrave(q) ? "bar.approveGrave" : "bar.approve"), { kind: isGrave(q) ? "grave" : "yes", sign: "check", key: "A", off: yes, press: approve, more: { id: "yes" } })
    : button(say("bar.answer"), { kind: "yes", key: say("key.send"), off: yes, press: sendAnswer, more: { id: "yes" } });
  const said = [...new Set([yes, no].filter(Boolean))].join(" ") || ui.said;
  return [row([refuse, el("div", { class: "more" }, more)], main), said && el("p", { class: "why", id: "why" }, said)];
}

const row = (left, right) => el("div", { class: "buttons" }, el("div", { class: "left" }, left), right);

function editing(q) {
  const { changes, wrong } = edit.problems(ui, q);
  const off = changes === 0 ? say("edit.nothing") : wrong ? say("edit.wrong", { n: wrong }) : "";
  return [row([button(say("bar.back"), { kind: "quiet", sign: "undo", key: say("key.esc"), press: back })],
    button(say("bar.review", { n: changes }), { kind: "plainly", off, press: () => { ui.mode = "review"; settle(); drawAll(); byId("title").focus(); }, more: { id: "review" } })),
  off && el("p", { class: "why" }, off)];
}

// what has to be typed before something grave is approved.
function confirmed(q) {
  const tool = callName(q);
  if (q.confirm?.value) return { value: q.confirm.value, words: parts("grave.value", { path: name(q.confirm.path) }) };
  if (tool && /^[\x21-\x7e]+$/.test(tool)) return { value: tool, words: [say("grave.tool")] };
  return { value: say("grave.word"), words: parts("grave.type", { word: el("code", {}, say("grave.word")) }) };
}

function graveButtons(q) {
  const right = draft().typed === confirmed(q).value;
  const off = right ? "" : say("grave.off");
  return [row([button(say("bar.back"), { kind: "quiet", key: say("key.esc"), press: back })], button(say("bar.approve"), { kind: "grave", sign: "check", off, press: approve, more: { id: "yes" } })),
    off && el("p", { class: "why" }, off)];
}

// panel is what opens above the buttons.
function panel(q) {
  if (ui.mode === "comment" || ui.mode === "deny") return commentPanel(q);
  if (ui.mode === "sure") return el("p", { class: "sure" }, say(`sure.${ui.sure.what}`));
  if (ui.mode !== "grave") return null;
  const { words } = confirmed(q);
  const input = el("input", { type: "text", id: "typed", class: "mono", autocomplete: "off", autocapitalize: "off", spellcheck: "false", value: draft().typed,
    on: { input: () => { draft().typed = input.value; drawBar(); const now = byId("typed"); now.setSelectionRange(now.value.length, now.value.length); }, keydown: (e) => { if (e.key === "Enter" && !e.isComposing && !e.repeat) { e.preventDefault(); approve(); } } } });
  return el("div", { class: "notice bad" }, el("b", { class: "title" }, q.graveRule ? say("grave.rule", { rule: q.graveRule }) : say("grave.marks")), el("p", {}, say("grave.noWayBack")), el("label", { for: "typed" }, words), input);
}

function commentPanel(q) {
  const hint = say(ui.mode === "deny" ? "comment.enter" : "comment.for");
  const box = q.takesReason && el("input", { type: "checkbox", id: "tell", on: { change: () => { draft().tell = box.checked; } } });
  if (box) box.checked = draft().tell;
  const area = el("textarea", { id: "comment", rows: 2, maxlength: 4000, "aria-describedby": "hint", value: draft().comment,
    on: { input: () => { draft().comment = area.value; }, keydown: (e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing && !e.repeat && !e.ctrlKey && !e.metaKey && ui.mode === "deny") { e.preventDefault(); decline(); } } } });
  return el("div", { class: "comment" }, el("label", { for: "comment" }, say(ui.mode === "deny" ? (q.yesKnown ? "comment.whyDeny" : "comment.whyDecline") : "bar.comment")), area,
    el("p", { class: "note", id: "hint" }, box ? hint : `${hint} ${say("comment.notTold")}`), box && el("label", { class: "tell" }, box, say("comment.tell")));
}

// ---- what a press does ----

// may says whether a press counts now.
function ready() {
  const a = state.detail, q = openQuestion();
  if (!a || !q || isDead()) return null;
  return { a, q, may: mayOf(a, q) };
}

export function approve() {
  const now = ready();
  if (!now) return;
  const { a, q, may } = now;
  const why = whyNoYes(a, q, may);
  if (why) { tell(why); return; }
  if (!(kindOf(q) === "tool" && q.yesKnown)) { sendAnswer(); return; }
  if (ui.mode === "edit" || ui.mode === "comment" || ui.mode === "deny") ui.mode = ui.mode === "edit" ? "edit" : "read";
  if (ui.mode === "edit") return;
  if (ui.folds.any && ui.mode !== "review") {
    ui.folds.openAll();
    settle();
    ui.said = say("why.unfolded");
    tell(ui.said);
    drawBar();
    return;
  }
  if (isGrave(q)) {
    if (ui.mode !== "grave") { ui.back = ui.mode; ui.mode = "grave"; drawBar(); byId("typed").focus(); return; }
    if (draft().typed !== confirmed(q).value) return;
  }
  const edited = ui.edits.size > 0 && (ui.mode === "review" || ui.back === "review");
  offer({ decision: edited ? "answer" : "approve", payload: edited ? edit.payload(ui, q) : undefined, what: "approve", kind: "yes", sign: "check" });
}

export function decline() {
  const now = ready();
  if (!now) return;
  const { a, q, may } = now;
  const why = whyNot(a, q, may) || (may.deny ? "" : reasonOf(a, may.why.deny, "takes.deny"));
  if (why) { tell(why); return; }
  const tool = kindOf(q) === "tool" && q.yesKnown;
  const decision = q.noKnown && !q.cancelOnly ? "deny" : "cancel";
  offer({ decision, reason: decision === "deny" && q.takesReason && draft().tell ? draft().comment.trim() : undefined, what: tool ? "deny" : "decline", kind: "no", sign: "cross" });
}

export function sendAnswer() {
  const now = ready();
  if (!now) return;
  const { a, q, may } = now;
  const why = whyNoYes(a, q, may);
  if (why) { tell(why); return; }
  if (kindOf(q) === "tool" && q.yesKnown) { approve(); return; }
  const got = ui.answer?.();
  if (!got) return;
  if (got.errors) {
    got.errors[0].node?.focus();
    ui.said = got.errors.length === 1 ? got.errors[0].text : say("form.wrong", { n: got.errors.length });
    tell(ui.said, true);
    drawBar();
    return;
  }
  if (ui.folds.any) { ui.folds.openAll(); settle(); ui.said = say("why.unfoldedAnswer"); tell(ui.said); drawBar(); return; }
  offer({ decision: "answer", payload: got.payload, what: "answer", kind: "yes" });
}

// offer lets a decision wait, or asks once more where the reader wants that instead.
function offer(one) {
  if (settings.wait === "ask" && ui.mode !== "sure") {
    ui.sure = one; ui.mode = "sure"; settle(); drawBar(); byId("sure").focus();
    return;
  }
  commit(one);
}

function commit(one) {
  if (isDead()) return;
  const q = openQuestion(), key = openKey();
  if (pendingOf(key)) return;
  const { decision, payload, reason, what } = one;
  const tool = callName(q);
  add({ key, what, tool: kindOf(q) === "tool" && tool ? tool : say(`pending.of.${kindOf(q)}`), isTool: kindOf(q) === "tool" && Boolean(tool), expires: q.expires,
    word: { id: state.open.id, question: q.id, decision, digest: q.digest, payload, reason, comment: draft().comment.trim() || undefined } },
  settings.wait === "ask" || left(q.expires) < 30);
  draft().refused = null;
  ui.refused = null;
  ui.mode = "read";
  ui.said = "";
  if (settings.next) next(false);
  else { drawAll(); byId("title")?.focus(); }
}

// next opens the question that comes next. asked: somebody asked for it.
export function next(asked) {
  const key = nextAfter(openKey());
  if (key) location.hash = `#/${key}`;
  else if (asked) location.hash = "#/";
  else { drawBar(); byId("title")?.focus(); }
}

export function comment(to = "comment") {
  const now = state.detail && openQuestion() && mayOf(state.detail, openQuestion()).open;
  if (!now || ui.mode === "edit" || ui.mode === "review") return;
  ui.mode = to;
  drawBar();
  byId(to === "read" ? "comment-button" : "comment")?.focus();
}

// deny opens the comment; Enter in it sends.
export function deny() {
  const now = ready();
  if (!now) return;
  const why = whyNot(now.a, now.q, now.may) || (now.may.deny ? "" : say("why.mayNotDeny"));
  if (why) { tell(why); return; }
  comment("deny");
}

export function startEdit() {
  const now = ready();
  if (!now || !now.may.edit || whyNoYes(now.a, now.q, now.may)) return;
  ui.mode = "edit";
  drawAll();
  byId("question").querySelector("input, textarea, select")?.focus();
}

// back goes one step back. false: there is none.
export function back() {
  if (ui.mode === "read") return false;
  const to = ui.mode === "review" ? "edit" : ui.mode === "grave" ? ui.back ?? "read" : "read";
  if (ui.mode === "edit") ui.edits.clear();
  const whole = ui.mode === "edit" || ui.mode === "review";
  ui.mode = to;
  if (whole) drawAll(); else drawBar();
  byId("title")?.focus();
  return true;
}

export const pick = (n) => ui.pick?.(n);
export { undo };

async function copyComment() {
  try { await navigator.clipboard.writeText(draft().comment); tell(say("comment.copied")); } catch { ui.mode = "read"; }
}

// ---- what comes from elsewhere ----

const textsOf = (q) => new Map([...(q.calls ?? []).flatMap(fieldsOf).map((f) => [f.path, f.text]),
  ...(q.statements ?? []).flatMap((one) => fieldsOf(one).map((f) => [`${one.path} ${f.path}`, f.text]))]);

on("open", () => {
  ui = fresh();
  if (state.open) Object.assign(ui, { edits: draft().edits, refused: draft().refused });
  drawAll();
});

let signBefore = "";
on("detail", (missing) => {
  const a = state.detail, q = openQuestion();
  if (!a || !q) {
    if (missing) gone();
    return;
  }
  const sign = JSON.stringify([a.state, q.digest, q.decision?.at, a.end?.how, a.questions.map((one) => Boolean(one.decision)), q.may, a.may, a.waitsForChat, left(q.expires) <= 0]);
  const first = ui.digest === null;
  if (!first && sign === signBefore) return;
  const open = mayOf(a, q).open, was = ui.open;
  if (!first && ui.digest !== q.digest && open) {
    ui.before = ui.texts;
    ui.refused = refusal({ code: "QUESTION_CHANGED" });
    ui.mode = "read";
    ui.edits.clear();
    stop(say("pending.changed"), openKey());
    tell(said(ui.refused), true);
    settle();
  }
  if (!first && was && !open && q.decision && q.decision.by !== state.me?.name && !ui.mine) {
    ui.refused = { title: whoDid(q.decision), quote: q.decision.comment, text: "", decided: true };
    ui.mode = "read";
    tell(ui.refused.title, true);
  }
  if (!open) ui.mode = "read";
  // Somebody who types keeps his place: what he reads has not changed.
  const typing = !first && open && ui.digest === q.digest && (ui.mode !== "read" || byId("question").contains(document.activeElement) && /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName));
  signBefore = sign;
  ui.digest = q.digest;
  ui.open = open;
  ui.texts = textsOf(q);
  if (typing) { drawBar(); return; }
  const inside = byId("question").contains(document.activeElement);
  drawAll();
  if (first) { settle(); if (ui.focus !== false) byId("title").focus(); } else if (inside) byId("title").focus();
});

function gone() {
  fill(byId("question"), el("div", { class: "column" }, el("h2", { tabindex: "-1", id: "title" }, say("gone.title")), el("p", {}, say("gone.text"))));
  fill(byId("bar"), el("div", { class: "column bar" }, row([], button(say("bar.next"), { kind: "plainly", key: "J", press: () => next(true) }))));
}

on("refused", (one, problem) => {
  const words = refusal(problem, one);
  one.said = said(words);
  if (problem.code === "OFFLINE") one.perhaps = true;
  draftOf(one.key).refused = { ...words, decided: problem.status === 409 };
  one.shownElsewhere = state.open && openKey() === one.key;
  if (problem.status === 401 || problem.status === 503 || problem.status === 0 || problem.code === "ANOTHER_CALLER") look();
  if (!one.shownElsewhere) { tell(`${say(one.perhaps ? "pending.perhaps" : "pending.notSent")}. ${one.said}`, true); return; }
  ui.refused = draftOf(one.key).refused;
  tell(said(words), true);
  if (problem.status === 409) { ui.open = false; }
  drawAll();
  again();
});

on("sent", (one) => { if (state.open && openKey() === one.key) { ui.mine = true; again(); } });
on("undone", (one) => { if (state.open && openKey() === one.key) drawBar(); else location.hash = `#/${one.key}`; });
on("list", () => {
  const node = byId("question"), made = greeting();
  if (!state.open && !node.firstChild?.isEqualNode(made)) fill(node, made);
});
on("pending", drawBar);
on("live", drawBar);
addEventListener("focus", settle);
