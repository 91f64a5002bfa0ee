// A small chat: HttpAgent in a page, with nothing between it and what it speaks to. Its messages outlive a reload, and that a
// question was open; which one, it asks. What it should speak to stands behind the # of its address.
//
// window.chat.run(params) is one run; what it came to stands in window.chat.runs.
import { HttpAgent } from "agui-client";

const { url, thread, headers } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const key = `chat ${thread}`;
const kept = JSON.parse(localStorage.getItem(key) ?? '{"messages":[],"open":false}');
const agent = new HttpAgent({ url, threadId: thread, headers: headers ?? {}, initialMessages: kept.messages });
const at = (id) => document.getElementById(id);
const runs = [];

function show() {
  const open = agent.pendingInterrupts ?? [];
  at("question").textContent = open.map((i) => i.message ?? i.reason).join("\n");
  at("approve").disabled = at("deny").disabled = open.length === 0;
  at("log").textContent = agent.messages.map((m) => `${m.role}: ${typeof m.content === "string" ? m.content : ""}`).join("\n");
}

async function run(params, add) {
  const events = [];
  let error = null;
  at("error").textContent = "";
  if (add) agent.addMessages([add]);
  try {
    await agent.runAgent(params ?? {}, { onEvent: ({ event }) => { events.push(JSON.parse(JSON.stringify(event))); } });
  } catch (e) { error = { name: e?.name ?? typeof e, message: String(e?.message ?? e) }; }
  const failed = events.find((e) => e.type === "RUN_ERROR");
  const refused = events.find((e) => e.type === "RUN_FINISHED")?.metadata?.holdpoint?.refusal;
  at("error").textContent = failed?.code ?? refused?.code ?? error?.message ?? "";
  localStorage.setItem(key, JSON.stringify({ messages: agent.messages, open: (agent.pendingInterrupts ?? []).length > 0 }));
  show();
  runs.push({ events, error });
}

const answer = (payload) => run({ resume: agent.pendingInterrupts.map((i) => ({ interruptId: i.id, status: "resolved", payload })) });
at("approve").onclick = () => answer({ approved: true });
at("deny").onclick = () => answer({ approved: false });
at("send").onclick = () => run({}, { id: crypto.randomUUID(), role: "user", content: at("text").value });

window.chat = { run, runs, agent };
show();
// A reloaded page has its question told again by a run that brings nothing new. Only then: a backend for which nothing is open
// takes it for a run like any other.
window.chat.mounted = kept.open ? run({}) : Promise.resolve();
