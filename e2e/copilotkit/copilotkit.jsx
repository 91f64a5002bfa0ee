// A small chat with CopilotKit, the way its documentation shows it: a provider, a chat, and useInterrupt for the questions.
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { CopilotChat, CopilotKitProvider, useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import * as cards from "./cards.jsx";
import { Card, Notice, config, useNotice } from "./parts.jsx";
import { Outcome, Questions as Copied } from "./questions.jsx";

const all = ({ interrupt, interrupts, event, resolve, cancel }) => (
  <Card interrupts={interrupts?.length ? interrupts : [interrupt ?? { id: "custom", message: JSON.stringify(event?.value) }]}
    answer={(payload) => (interrupts ?? [{}]).forEach((i) => resolve(payload, i.id))}
    cancel={() => (interrupts ?? [{}]).forEach((i) => cancel(i.id))} />
);

function Questions() {
  useInterrupt({ agentId: "default", render: cards[config.card] ?? all });
  return null;
}

function Said() {
  const { agent, isReady } = useAgent({ agentId: "default" });
  const [notice, seen] = useNotice();
  useEffect(() => {
    window.chat.agent = agent;
    const listening = agent.subscribe({ onEvent: seen });
    return () => listening.unsubscribe();
  }, [agent]);
  return <>{config.card === "copied" ? <div id="notice"><Outcome /></div> : <Notice text={notice} />}<p id="state">{agent.isRunning || !isReady ? "running" : "idle"}</p></>;
}

const onError = (e) => { window.chat.errors.push(`${e.code}: ${e.error?.message ?? e.error}`); };
createRoot(document.getElementById("app")).render(
  <CopilotKitProvider runtimeUrl={config.runtime} headers={{ "x-agent-url": config.url }} showDevConsole={false} enableInspector={false} onError={onError}>
    <Said />
    {config.card === "copied" ? <Copied /> : <Questions />}
    <div style={{ height: 600 }}><CopilotChat agentId="default" threadId={config.thread} /></div>
  </CopilotKitProvider>,
);
