// A small chat with TanStack AI, the way its documentation shows it: useChat, a card for each question, and messages that outlive
// a reload. What it shows has the names that ../copilotkit/driver.mjs looks for. What it should speak to stands behind the # of
// its address: {url, thread, tools}.
import { toolDefinition } from "@tanstack/ai/client";
import { fetchServerSentEvents, localStoragePersistence, useChat } from "@tanstack/ai-react";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const config = JSON.parse(decodeURIComponent(location.hash.slice(1)));
window.chat = { events: [], errors: [] };

const deletes = toolDefinition({ name: "delete_file", description: "Deletes a file.", inputSchema: z.object({ path: z.string() }), needsApproval: true });
const options = {
  threadId: config.thread,
  connection: fetchServerSentEvents(config.url),
  persistence: localStoragePersistence(),
  tools: config.tools ? [deletes.client()] : [],
  onChunk: (chunk) => { window.chat.events.push(JSON.parse(JSON.stringify(chunk))); },
  onError: (e) => { window.chat.errors.push(String(e?.message ?? e)); },
};

function Question({ interrupt }) {
  const says = (approved) => interrupt.resolveInterrupt(interrupt.kind === "tool-approval" ? approved : { approved });
  return (
    <section className="asked">
      <p className="question">{interrupt.message ?? interrupt.reason}</p>
      <p className="refusal">{interrupt.metadata?.holdpoint?.refusal?.text}</p>
      <button onClick={() => says(true)}>Approve</button>
      <button onClick={() => says(false)}>Deny</button>
      <button onClick={() => interrupt.cancel()}>Cancel</button>
    </section>
  );
}

const textOf = (message) => message.parts.filter((p) => p.type === "text").map((p) => p.content).join("");

function Chat() {
  const { messages, sendMessage, interrupts, isLoading, resuming, error } = useChat(options);
  const [typed, setTyped] = useState("");
  window.chat.agent = { pendingInterrupts: interrupts };
  const send = (e) => { e.preventDefault(); setTyped(""); sendMessage(typed); };
  return (
    <>
      <div id="messages">{messages.map((m) => <p key={m.id}>{m.role}: {textOf(m)}</p>)}</div>
      {interrupts.length > 0 && <div id="card">{interrupts.map((i) => <Question key={i.id} interrupt={i} />)}</div>}
      <p id="notice" role="status">{error?.message}</p>
      <p id="state">{isLoading || resuming ? "running" : "idle"}</p>
      <form onSubmit={send}>
        <input id="composer" value={typed} onChange={(e) => setTyped(e.target.value)} />
        <button id="send">Send</button>
      </form>
    </>
  );
}

createRoot(document.getElementById("app")).render(<Chat />);
