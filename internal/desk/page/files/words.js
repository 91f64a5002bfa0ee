// The page's sentences for what the API says in codes. None of them has a word that an agent wrote.
import { ago, clock } from "./clock.js";
import { state } from "./state.js";

export const you = (name) => (name && name === state.me?.name ? "You" : name);

const verbs = { approved: "approved", denied: "denied", cancelled: "declined", answered: "answered" };
const doors = { desk: "at the desk", chat: "in the chat", agui: "in the chat", retention: "", timeout: "", policy: "by a rule" };

// verbOf is what a decision did.
export const verbOf = (decision) => verbs[decision.says] ?? (decision.status === "cancelled" ? "declined" : "answered");

// whoDid says who decided a question, how and when.
export function whoDid(decision, door = "desk") {
  const by = decision.by ? you(decision.by) : door === "chat" ? "Somebody" : "Somebody";
  const at = decision.at ? ` ${ago(decision.at)}` : "";
  const where = doors[door] ? `, ${doors[door]}` : "";
  return `${by} ${verbOf(decision)} this${decision.edited ? " with changes" : ""}${at}${where}`;
}

const lacks = {
  credentials: "the run came with credentials of its user, which Holdpoint does not keep",
  tools: "the run declared tools of the chat, and only the chat can answer their calls",
  messages: "the conversation is not known whole",
  input: "the run's input could not be kept",
  client: "this chat shows only what the agent itself says",
  store: "the store may forget that an answer was sent",
  record: "it was asked before there was a desk",
  home: "the agent keeps its question in another process",
  late: "the decision is old",
};

// carriedBy says who brings the answer to the agent.
export function carriedBy(approval) {
  const waits = approval.waitsForChat;
  if (!waits?.length) return "Holdpoint brings the answer to the agent by itself.";
  return `The answer goes to the agent when the chat sends its next request, because ${waits.map((code) => lacks[code] ?? code).join(", and ")}.`;
}

const notices = {
  "in doubt": "Nobody knows whether the agent has acted on the answer.",
  finished: "The agent got the answer and has finished.",
  withdrawn: "It was given up. The agent got no answer.",
  lost: "The agent did not know the question any more.",
  retired: "It was not run. The agent was told that nobody answered, not that somebody refused.",
};

// became says what became of a question that has ended.
export function became(end) {
  const error = end.error ? ` The run ended with the error ${end.error}.` : "";
  return (notices[end.how] ?? `It has ended: ${end.how}.`) + error;
}

const reasons = {
  AGENT_ELSEWHERE: "The process that serves this agent is another one. Decide it there.",
  FORBIDDEN: "To decide it takes somebody with that right.",
  REQUESTER: "You asked for this, so somebody else has to answer.",
  DECISION_NOT_KNOWN: "Nobody knows which answer lets this run.",
  INVALID_PAYLOAD: "This can only be declined.",
  INTERRUPT_EXPIRED: "Its time is over.",
};

// reasonOf says why something may not be done with an approval, by the code of it.
export function reasonOf(approval, code, otherwise) {
  const why = reasons[code] ?? otherwise;
  return !reasons[code] || code === "FORBIDDEN" ? `${approval.withheld ? "You may see that this waits." : "You can read this."} ${why}` : why;
}

// refusal says in words why a decision was not taken: {title, text}.
export function refusal(problem, one) {
  const did = one?.noun ?? "decision";
  const q = problem.approval?.questions?.find((each) => each.id === one?.word.question);
  const end = problem.approval?.end;
  switch (problem.code) {
    case "DECIDED_OTHERWISE": case "RESUME_CONFLICT": case "RESUME_IN_PROGRESS": case "APPROVAL_ENDED": {
      const asked = q?.decision ?? end?.questions?.find((each) => each.id === one?.word.question);
      const known = asked?.status ? { by: end?.by, at: end?.at, ...asked } : null;
      return { title: known ? whoDid(known, q?.decision ? "desk" : end?.door) : "It was answered meanwhile", quote: known?.comment, text: `Your ${did} was not sent.` };
    }
    case "QUESTION_CHANGED": case "DIGEST_REQUIRED":
      return { title: "The question changed after you opened it", text: "Nothing was sent. What is different is marked. Read it again." };
    case "INTERRUPT_EXPIRED":
      return { title: one?.expires ? `Nobody answered by ${clock(one.expires)}` : "Its time is over", text: `Your ${did} was not taken.` };
    case "APPROVAL_NOT_FOUND": case "QUESTION_NOT_FOUND": case "UNKNOWN_INTERRUPT_ID":
      return { title: "This question is gone", text: `Holdpoint does not know it any more. Your ${did} was not taken.` };
    case "INVALID_PAYLOAD":
      return { title: "The answer does not fit", text: `Nothing was sent. ${problem.detail}` };
    case "AGENT_ELSEWHERE":
      return { title: "It has to be decided elsewhere", text: `${reasons.AGENT_ELSEWHERE} Nothing was sent.` };
    case "STORE_UNAVAILABLE":
      return { title: "Holdpoint cannot reach its store", text: "No decision is taken until it is back; none is lost." };
    case "AUDIT_UNAVAILABLE":
      return { title: "The decision cannot be written down", text: "So it was not taken. Try again." };
    case "UNAUTHENTICATED":
      return { title: "You were signed out", text: "Nothing was sent. Your text is kept here." };
    case "ANOTHER_CALLER":
      return { title: "Somebody else is signed in here now", text: "Nothing was sent." };
    case "FORBIDDEN":
      return { title: "You may not decide this", text: "Nothing was sent." };
    case "REASON_NOT_TAKEN":
      return { title: "The agent takes no reason", text: "Nothing was sent. Deny it without telling the agent." };
    case "TOO_MANY_DECISIONS":
      return { title: "These were too many at once", text: "It was not taken. Try again in a moment." };
    case "OFFLINE":
      return { title: "Holdpoint did not answer", text: "It may have taken the decision or not: this page shows which as soon as it answers." };
    default:
      return { title: "It was not taken", text: `${problem.detail || problem.code}.` };
  }
}
