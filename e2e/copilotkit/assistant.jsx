// The same small chat with assistant-ui: its runtime for AG-UI over an HttpAgent in the page, and its hooks for the questions.
import { useMemo } from "react";
import { createRoot } from "react-dom/client";
import { HttpAgent } from "@assistant-ui/react-ag-ui/http-agent";
import { AssistantRuntimeProvider, ComposerPrimitive, MessagePrimitive, ThreadPrimitive, useAuiState } from "@assistant-ui/react";
import { useAgUiInterrupts, useAgUiRuntime, useAgUiSubmitInterruptResponses } from "@assistant-ui/react-ag-ui";
import { Card, Notice, config, useNotice } from "./parts.jsx";

function Questions() {
  const interrupts = useAgUiInterrupts();
  const submit = useAgUiSubmitInterruptResponses();
  if (interrupts.length === 0) return null;
  const all = (more) => submit(interrupts.map((i) => ({ interruptId: i.id, ...more })));
  return <Card interrupts={interrupts} answer={(payload) => all({ status: "resolved", payload })} cancel={() => all({ status: "cancelled" })} />;
}

const Said = ({ notice }) => {
  const running = useAuiState((s) => s.thread.isRunning);
  return <><Notice text={notice} /><p id="state">{running ? "running" : "idle"}</p></>;
};
const Message = () => <MessagePrimitive.Root className="message"><MessagePrimitive.Parts /></MessagePrimitive.Root>;

function Chat() {
  const [notice, seen] = useNotice();
  const agent = useMemo(() => {
    const made = new HttpAgent({ url: config.url, threadId: config.thread });
    made.subscribe({ onEvent: seen });
    window.chat.agent = made;
    return made;
  }, []);
  const runtime = useAgUiRuntime({ agent, onError: (e) => { window.chat.errors.push(e.message); } });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Said notice={notice} />
      <ThreadPrimitive.Root>
        <div id="messages"><ThreadPrimitive.Messages components={{ Message }} /></div>
        <Questions />
        <ComposerPrimitive.Root><ComposerPrimitive.Input id="composer" /><ComposerPrimitive.Send id="send">Send</ComposerPrimitive.Send></ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById("app")).render(<Chat />);
