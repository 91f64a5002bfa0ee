import { useEffect, useState } from "react";
import { useAgent, useInterrupt } from "@copilotkit/react-core/v2";

// Questions shows all that the agent asks, with buttons for each question. CopilotKit sends nothing
// before each question has its answer, so every answer names its question: resolve(x, id).
export function Questions({ agentId = "default" }) {
  useInterrupt({
    agentId,
    render: ({ interrupts, resolve, cancel }) => (
      <div id="card">
        {interrupts.map((i) => (
          <Question key={i.id} interrupt={i} answer={(payload) => resolve(payload, i.id)} cancel={() => cancel(i.id)} />
        ))}
      </div>
    ),
  });
  return null;
}

function Question({ interrupt, answer, cancel }) {
  const [why, setWhy] = useState("");
  const [said, setSaid] = useState("");
  const say = (word, send) => { setSaid(word); send(); };
  const has = (key, type) => interrupt.responseSchema?.properties?.[key]?.type === type;
  // Frameworks name a yes differently, and only some take a reason. The question's schema says which.
  const key = ["approved", "accepted", "confirmed"].find((k) => has(k, "boolean")) ?? "approved";
  const place = ["reason", "message"].find((k) => has(k, "string"));
  const denial = place && why ? { [key]: false, [place]: why } : { [key]: false };
  return (
    <section className="asked">
      <p className="question">{interrupt.message ?? interrupt.reason}</p>
      <p className="refusal">{interrupt.metadata?.holdpoint?.refusal?.text}</p>
      <button onClick={() => say("Approved", () => answer({ [key]: true }))}>Approve</button>
      <button onClick={() => say("Denied", () => answer(denial))}>Deny</button>
      <button onClick={() => say("Cancelled", cancel)}>Cancel</button>
      {place && <input placeholder="Why not?" value={why} onChange={(e) => setWhy(e.target.value)} />}
      <p className="said">{said && `${said}. It is sent when every question has an answer.`}</p>
    </section>
  );
}

// Outcome says what became of the last answer. A click alone shows nothing of that: an answer may be
// refused, and may not arrive at all. Then CopilotKit leaves a card whose buttons do nothing.
export function Outcome({ agentId = "default" }) {
  const { agent } = useAgent({ agentId });
  const [text, setText] = useState("");
  useEffect(() => {
    const heard = agent.subscribe({
      onEvent: ({ event }) => {
        if (event.type === "RUN_STARTED") setText("");
        if (event.type === "RUN_FINISHED") setText(event.metadata?.holdpoint?.refusal?.text ?? "");
        if (event.type === "RUN_ERROR") setText((was) => was || "That did not arrive. Load the page again to answer it.");
      },
    });
    return () => heard.unsubscribe();
  }, [agent]);
  return <p role="status">{text}</p>;
}
