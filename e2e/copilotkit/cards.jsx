// Cards as pages have them, each given to useInterrupt as its render. Those of before read event.value; the others read interrupts.
// The ids and classes are the tests'.

// The card of the reference of useInterrupt and useLangGraphInterrupt (docs.copilotkit.ai): event.value is what the agent gave to
// interrupt().
export const reference = ({ event, resolve }) => (
  <div id="card">
    <p className="question">{event.value}</p>
    <form onSubmit={(e) => { e.preventDefault(); resolve(e.target.response.value); }}>
      <input id="typed" type="text" name="response" placeholder="Enter your response" />
      <button id="answer" type="submit">Submit</button>
    </form>
  </div>
);

// A card for LangChain's HumanInTheLoopMiddleware: one decision for each action under review.
export const requests = ({ event, resolve }) => {
  const actions = (typeof event.value === "string" ? JSON.parse(event.value) : event.value).action_requests ?? [];
  const decide = (decision) => resolve({ decisions: actions.map(() => decision) });
  return (
    <div id="card">
      {actions.map((a, n) => <p key={n} className="question">{a.name} {JSON.stringify(a.args ?? a.arguments)}</p>)}
      <button id="approve" onClick={() => decide({ type: "approve" })}>Approve</button>
      <button id="deny" onClick={() => decide({ type: "reject", message: "no" })}>Reject</button>
    </div>
  );
};

// The card of useInterrupt's type documentation (react-core 1.74.0). With two questions it answers the first one only.
export const documented = ({ interrupt, resolve, cancel }) => (
  <div id="card">
    <p className="question">{interrupt?.message}</p>
    <button id="approve" onClick={() => resolve({ approved: true })}>Approve</button>
    <button id="cancel" onClick={() => cancel()}>Cancel</button>
  </div>
);
