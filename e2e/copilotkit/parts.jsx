// What both pages have in common: the card that asks, and the line that says what became of the last answer.
import { useState } from "react";

// Where everything is stands behind the # of the page's address: {url, runtime, thread}.
export const config = JSON.parse(decodeURIComponent(location.hash.slice(1)));

// Everything that a run of this page told goes here, for the tests to look at.
window.chat = { events: [], errors: [] };

// refusalOf is why the last request was refused, in words for the person. It stands in RUN_FINISHED and in each interrupt that is
// asked again.
export const refusalOf = (what) => what?.metadata?.holdpoint?.refusal;

// useNotice keeps what RUN_FINISHED said of the last request: nothing, as a rule.
export function useNotice() {
  const [notice, setNotice] = useState("");
  const seen = ({ event }) => {
    window.chat.events.push(JSON.parse(JSON.stringify(event)));
    if (event.type === "RUN_STARTED") setNotice("");
    if (event.type === "RUN_FINISHED") setNotice(refusalOf(event)?.text ?? "");
  };
  return [notice, seen];
}

export const Notice = ({ text }) => <p id="notice" role="status">{text}</p>;

// A Card asks all that is open. What is typed is sent as a number where it is one.
export function Card({ interrupts, answer, cancel }) {
  const [typed, setTyped] = useState("");
  const typedAnswer = () => ({ count: /^\d+$/.test(typed) ? Number(typed) : typed });
  return (
    <div id="card">
      {interrupts.map((i) => (
        <div key={i.id} className="asked" data-id={i.id}>
          <p className="question">{i.message ?? i.reason}</p>
          <p className="refusal">{refusalOf(i)?.text}</p>
        </div>
      ))}
      <button id="approve" onClick={() => answer({ approved: true })}>Approve</button>
      <button id="deny" onClick={() => answer({ approved: false })}>Deny</button>
      <button id="cancel" onClick={() => cancel()}>Cancel</button>
      <input id="typed" value={typed} onChange={(e) => setTyped(e.target.value)} />
      <button id="answer" onClick={() => answer(typedAnswer())}>Answer</button>
    </div>
  );
}
