// Decisions that are not sent yet. Each waits in a strip above the bar and can be taken back; what
// waits when the page goes away, when its reader is signed out, or when somebody else decides, is
// never sent.
import * as api from "./api.js";
import { button, byId, el, tell } from "./dom.js";
import { parts, say } from "./language.js";
import { changed, forget, on, settings, state } from "./state.js";
import { name } from "./text.js";

const most = 3;
const list = []; // {key, word, what, tool, isTool, left, node, held, state}
let last = 0, ticking = 0;

// pendingOf is the decision on a question that has not been sent.
export const pendingOf = (key) => list.find((one) => one.key === key && one.state !== "failed");

// add has a decision wait. word is what the API gets; at once: it does not wait.
export function add(one, atOnce) {
  Object.assign(one, { left: atOnce ? 0 : settings.wait === 20 ? 20_000 : 5000, state: "waits", held: false });
  one.whole = one.left;
  list.push(one);
  draw(one);
  if (list.filter((other) => other.state === "waits").length > most) send(list.find((other) => other.state === "waits"));
  if (atOnce) send(one);
  else if (!ticking) { last = performance.now(); ticking = setInterval(tick, 100); }
  changed("pending");
  tell(say(`pending.${one.what}.told`, { tool: one.tool }));
}

function tick() {
  const now = performance.now(), passed = now - last;
  last = now;
  for (const one of [...list]) {
    if (one.state !== "waits" || one.held) continue;
    one.left -= passed;
    if (one.left <= 0) send(one);
    else show(one);
  }
  if (!list.some((one) => one.state === "waits")) { clearInterval(ticking); ticking = 0; }
}

// undo takes a decision back, the newest without one.
export function undo(one = list.findLast((other) => other.state === "waits")) {
  if (!one || one.state !== "waits") return false;
  drop(one);
  tell(say("pending.takenBack", { tool: one.tool }));
  changed("undone", one);
  return true;
}

function drop(one) {
  list.splice(list.indexOf(one), 1);
  const focused = one.node.contains(document.activeElement);
  one.node.remove();
  if (focused) (document.querySelector("#question h2") ?? byId("pane")).focus();
  changed("pending");
}

async function send(one) {
  if (one.state !== "waits") return;
  one.state = "sent";
  show(one);
  let approval;
  try { approval = await api.decide(one.word); } catch (problem) {
    if (!(problem instanceof api.Problem)) throw problem;
    one.state = "failed";
    changed("refused", one, problem);
    if (one.shownElsewhere) drop(one); else draw(one, one.said ?? problem.detail);
    changed("pending");
    return;
  }
  forget(one.key);
  tell(say(`pending.${one.what}.done`));
  drop(one);
  changed("sent", one, approval);
}

// stop ends decisions that must not be sent any more: of one question, or all.
export function stop(why, key) {
  for (const one of list.filter((other) => other.state === "waits" && (!key || other.key === key))) {
    one.state = "failed";
    draw(one, why);
    tell(why, true);
  }
  changed("pending");
}

// dismiss takes what was not sent off the page.
export const dismiss = (key) => { for (const one of list.filter((other) => other.state === "failed" && other.key === key)) drop(one); };

function draw(one, why) {
  const failed = one.state === "failed";
  const text = el("span", { class: "said" });
  const node = el("div", { class: failed ? "strip failed" : "strip", role: "group", "aria-label": say(failed ? "pending.notSent" : "pending.notYet") },
    el("div", { class: "stripe" }, text, failed
      ? [button(say("pending.show"), { kind: "dark small", press: () => { location.hash = `#/${one.key}`; } }), button(say("pending.dismiss"), { kind: "dark small", press: () => drop(one) })]
      : [button(say("pending.now"), { kind: "dark small", press: () => send(one) }), button(say("pending.undo"), { kind: "dark small", sign: "undo", key: "Z", press: () => undo(one) })]),
    !failed && el("div", { class: "time", "aria-hidden": "true" }));
  const hold = (on) => () => { one.held = on || node.contains(document.activeElement) || node.matches(":hover"); show(one); };
  for (const [event, on] of [["focusin", true], ["focusout", false], ["pointerenter", true], ["pointerleave", false]]) {
    node.addEventListener(event, () => (on ? hold(true)() : setTimeout(hold(false), 0)));
  }
  if (one.node) one.node.replaceWith(node); else byId("strips").append(node);
  one.node = node;
  if (failed) text.append(el("b", {}, say(one.perhaps ? "pending.perhaps" : "pending.notSent"), "."), ` ${why ?? ""}`);
  else show(one);
}

// show says how long there is left to take it back.
function show(one) {
  const text = one.node.querySelector(".said");
  const s = Math.max(1, Math.ceil(one.left / 1000));
  const words = one.state === "sent" ? say("pending.sending") : one.held ? say("pending.held") : say("pending.in", { n: s });
  if (one.node.dataset.words !== words) {
    one.node.dataset.words = words;
    text.replaceChildren(...parts(`pending.${one.what}.line`, { tool: one.isTool ? name(one.tool) : one.tool, state: words }));
  }
  one.node.querySelector(".time")?.style.setProperty("--left", String(Math.max(0, one.left / one.whole)));
}

on("out", () => stop(say(state.another ? "pending.another" : "pending.out")));
on("list", () => {
  if (state.live !== "live" || state.more) return;
  const open = new Set(state.rows.map((row) => row.key));
  for (const one of list.filter((other) => other.state === "waits" && !open.has(other.key))) {
    stop(say("pending.answered", { tool: one.tool }), one.key);
  }
});
