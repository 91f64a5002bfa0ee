// Asking the server what has changed. The page polls: a list that has not changed costs its ETag.
import * as api from "./api.js";
import { rowsOf } from "./model.js";
import { changed, state } from "./state.js";

const most = 5; // pages of 200
const fewOfEach = 20; // approvals of an agent
const kept = new Map(); // state and cursor to {etag, data}
let timer = 0, failures = 0, turn = 0, running = null;

// pages reads a list to its end, or to what the page can show. Then it reads the list again with a
// few of each agent: one agent with very many questions does not hide those of the others.
async function pages(what) {
  const seen = new Set();
  const { approvals, more } = await read(what, 0, seen);
  if (more) {
    const known = new Set(approvals.map((a) => a.id));
    approvals.push(...(await read(what, fewOfEach, seen)).approvals.filter((a) => !known.has(a.id)));
  }
  for (const name of kept.keys()) if (name.startsWith(`${what} `) && !seen.has(name)) kept.delete(name);
  return { approvals, more: more || approvals.some((a) => a.questionsLeft) };
}

// read reads the pages of a list. seen gets their names in kept.
async function read(what, perAgent, seen) {
  const approvals = [];
  let cursor = "", more = false;
  for (let n = 0; n < most; n++) {
    const name = `${what} ${perAgent} ${cursor}`;
    seen.add(name);
    const before = kept.get(name);
    // Another process of the desk may not take this one's cursor. What came before it is shown.
    const got = await api.page(what, cursor, before?.etag, perAgent).catch((p) => { if (cursor && p.status === 400) return null; throw p; });
    if (!got) { more = true; break; }
    const data = got.status === 304 ? before.data : got.data;
    if (got.etag) kept.set(name, { etag: got.etag, data });
    approvals.push(...(data.approvals ?? []));
    cursor = data.next ?? "";
    if (!cursor) break;
    more = n === most - 1;
  }
  return { approvals, more };
}

let reader = ""; // whose page this is

// learnWho reads who reads this page. What is on it is for whoever has opened it: another begins
// with a page of his own.
async function learnWho() {
  const me = await api.me();
  if (reader && reader !== me.name) {
    location.reload();
    await new Promise(() => {}); // the page goes
  }
  state.me = me;
  reader = me.name;
  api.readBy(reader);
}

async function readAll() {
  if (state.me === null) await learnWho();
  const waiting = await pages("waiting");
  // What is in doubt is rare and stays: it is asked for every fifth time.
  if (turn++ % 5 === 0) state.doubts = (await pages("doubt").catch((p) => { if (p.status === 400) return { approvals: [] }; throw p; })).approvals;
  state.more = waiting.more;
  state.rows = [...(state.doubts ?? []), ...waiting.approvals].flatMap((a) => rowsOf(a, state.me)).filter((row) => row.doubt || !row.q.decision);
  if (state.tab === "decided") await readEnded();
  await readOpen();
}

async function readEnded() {
  const lists = [];
  for (const what of ["decided", "carrying", "ended"]) {
    const got = await pages(what).catch((p) => { if (p.status === 400) return { approvals: [] }; throw p; });
    lists.push(...got.approvals);
  }
  const when = (a) => Date.parse(a.end?.at ?? a.questions.find((q) => q.decision)?.decision.at ?? a.opened) || 0;
  state.ended = lists.sort((a, b) => when(b) - when(a)).flatMap((a) => rowsOf(a, state.me));
}

// readOpen reads the open question anew.
async function readOpen() {
  const open = state.open;
  if (!open) return;
  let detail = null, missing = false;
  try { detail = await api.one(open.id); } catch (p) {
    if (p.status !== 404) throw p;
    missing = true;
  }
  if (state.open !== open) return;
  state.detail = detail;
  changed("detail", missing);
}

// look reads everything now. It answers when the page is as the server is.
export function look() {
  clearTimeout(timer);
  running ??= once().finally(() => { running = null; });
  return running;
}

async function once() {
  let wait = 3000;
  try {
    await readAll();
    failures = 0;
    state.live = "live";
    state.another = false;
    state.asOf = performance.now();
  } catch (problem) {
    if (!(problem instanceof api.Problem)) throw problem;
    failures++;
    wait = problem.status === 401 ? 3000 : Math.min(30_000, 1000 * 2 ** failures);
    const was = state.live;
    const another = problem.code === "ANOTHER_CALLER";
    state.live = problem.status === 401 || another || problem.code === "NOT_LISTED" ? "out" : problem.status === 503 ? "store" : "retry";
    if (another) wait = 3000;
    if (state.live === "out") {
      state.auth = problem.auth ?? state.me?.auth ?? "token";
      state.another = another;
      if (was !== "out") changed("out");
    }
  } finally {
    if (document.hidden) wait = Math.max(wait, 15_000);
    state.retryAt = performance.now() + wait;
    clearTimeout(timer);
    timer = setTimeout(look, wait);
  }
  changed("list");
  changed("live");
}

// openOne shows a question: what is known of it at once, and the whole when it is there.
export async function openOne(id, question) {
  state.open = { id, question };
  state.detail = null;
  changed("open");
  const open = state.open;
  try { await readOpen(); } catch (problem) {
    if (!(problem instanceof api.Problem)) throw problem;
    if (state.open === open) look();
  }
}

// again reads the open question alone, soon after something was done to it.
export async function again() {
  try { await readOpen(); } catch { look(); }
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
