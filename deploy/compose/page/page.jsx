// A chat with CopilotKit: a provider, a chat, and useInterrupt for the agent's questions.
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";
import { CopilotChat, CopilotKitProvider, useAgent, useInterrupt } from "@copilotkit/react-core/v2";

// The thread's name stands behind the # of the address, so that a reload finds the thread again.
if (!location.hash) history.replaceState(null, "", `#${crypto.randomUUID()}`);
const thread = location.hash.slice(1);

// Holdpoint says here why it refused an answer (docs/contract.md). It asks again then.
const refusal = (interrupt) => interrupt.metadata?.holdpoint?.refusal?.text;

// The examples' agents take {approved: true}. The payload for your agent is in docs/copilotkit.md, and a card with buttons for each question.
function Questions() {
  useInterrupt({
    agentId: "default",
    render: ({ interrupts, resolve }) => {
      const answer = (approved) => interrupts.forEach((i) => resolve({ approved }, i.id));
      return (
        <div id="card">
          {interrupts.map((i) => (
            <div key={i.id}>
              <p className="question">{i.message ?? i.reason}</p>
              <p className="refusal">{refusal(i)}</p>
            </div>
          ))}
          <button id="approve" onClick={() => answer(true)}>Approve</button>
          <button id="deny" onClick={() => answer(false)}>Deny</button>
        </div>
      );
    },
  });
  return null;
}

function State() {
  const { agent, isReady } = useAgent({ agentId: "default" });
  return <p id="state" role="status">{agent.isRunning || !isReady ? "running" : "idle"}</p>;
}

createRoot(document.getElementById("app")).render(
  <CopilotKitProvider runtimeUrl="/api/copilotkit" showDevConsole={false} enableInspector={false}>
    <State />
    <Questions />
    <CopilotChat agentId="default" threadId={thread} />
  </CopilotKitProvider>,
);
