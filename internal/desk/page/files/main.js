// The page's frame: what is open by its address, who reads it, and whether the list is live.
import "./decide.js";
import "./keys.js";
import { clock, exact, left, now, since, ago, span } from "./clock.js";
import { button, byId, el, fill, tell } from "./dom.js";
import { showHelp } from "./help.js";
import { number, parts, say } from "./language.js";
import { arrange, focusRow } from "./list.js";
import { look, openOne } from "./poll.js";
import { askIn } from "./sign.js";
import { changed, keyOf, on, state } from "./state.js";

// route opens what the address says: #/, #/decided, #/approval/question.
function route() {
  const [id, question] = location.hash.replace(/^#\//, "").split("/").map(decoded);
  const before = state.open;
  const tab = id === "decided" && !question ? "decided" : !id ? "waiting" : state.tab;
  if (tab !== state.tab) { state.tab = tab; look(); }
  document.body.dataset.view = id && question ? "question" : "list";
  if (id && question) openOne(id, question);
  else {
    state.open = null;
    state.detail = null;
    changed("open");
    if (before) setTimeout(() => focusRow(keyOf(before.id, before.question)), 0);
  }
  frame();
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return ""; }
}

// frame shows tabs and who reads.
function frame() {
  const n = new Set(state.rows.map((row) => row.key)).size;
  const tab = (name, words, href) => el("a", { class: "tab", href, "aria-current": state.tab === name ? "page" : undefined }, words);
  const sign = `${state.tab} ${n} ${state.more}`;
  if (byId("tabs").dataset.sign !== sign) {
    byId("tabs").dataset.sign = sign;
    fill(byId("tabs"), tab("waiting", parts("tab.waiting", { count: el("span", { class: "count" }, `${number(n)}${state.more ? "+" : ""}`) }), "#/"), tab("decided", say("tab.decided"), "#/decided"));
    fill(byId("back"), "‹ ", state.tab === "decided" ? say("tab.decided") : say("tab.waiting", { count: n }));
    byId("back").setAttribute("href", state.tab === "decided" ? "#/decided" : "#/");
    document.title = n ? say("frame.waiting", { n }) : say("frame.title");
  }
  fill(byId("me"), state.me?.name ?? "", state.me?.groups?.length ? ` · ${state.me.groups.join(", ")}` : "");
}

let liveBefore = "";

// live says whether the list is as the server has it.
function live() {
  const s = Math.max(1, Math.ceil((state.retryAt - performance.now()) / 1000));
  const words = { begin: "…", live: say("live.live"), retry: say("live.retry", { n: s }), store: say("live.store", { n: s }), out: say(state.another ? "live.another" : state.me ? "live.out" : "live.notIn") }[state.live];
  const node = byId("live");
  if (node.dataset.words !== words) {
    node.dataset.words = words;
    node.dataset.how = state.live;
    fill(node, el("span", { class: "dot", "aria-hidden": "true" }), el("span", { class: "words" }, words));
  }
  if (state.live + state.another === liveBefore) return;
  liveBefore = state.live + state.another;
  const time = state.asOf === null ? "" : exact(new Date(now() - (performance.now() - state.asOf)).toISOString());
  const banner = { store: time ? say("banner.storeAsOf", { time }) : say("banner.store"), out: state.another ? say("banner.another") : state.me && say("banner.out") }[state.live];
  fill(byId("banner"), banner && el("p", {}, banner, state.live === "out" && [" ", button(say("sign.again"), { kind: "small", press: askIn })]));
  if (state.live === "store") tell(banner, true);
}

const shows = { since, ago, left: (iso) => span(left(iso)), clock };

// tick has every time on the page say what it is now.
function tick() {
  for (const node of document.querySelectorAll("time[data-show]")) {
    const words = shows[node.dataset.show](node.dateTime);
    if (node.textContent !== words) node.textContent = words;
  }
  live();
}

on("list", frame);
on("live", live);
byId("help").addEventListener("click", showHelp);
addEventListener("hashchange", route);
setInterval(tick, 1000);
arrange();
route();
look();
