// The page's sentences for what the API says in codes. None of them has a word that an agent wrote.
import { ago, clock } from "./clock.js";
import { has, say } from "./language.js";
import { state } from "./state.js";

const isMe = (name) => Boolean(name && name === state.me?.name);

// you is a name, or the word for the reader.
export const you = (name) => (isMe(name) ? say("you") : name);

// verbOf is what a decision did: approved, denied, declined or answered.
export const verbOf = (decision) =>
  ({ approved: "approved", denied: "denied", cancelled: "declined", answered: "answered" })[decision.says] ?? (decision.status === "cancelled" ? "declined" : "answered");

const doors = { desk: "did.atDesk", chat: "did.inChat", agui: "did.inChat", policy: "did.byRule" };

// whoDid says who decided a question, how and when.
export function whoDid(decision, door = "desk") {
  return say(`did.${isMe(decision.by) ? "you" : "other"}.${verbOf(decision)}`, {
    who: decision.by ?? say("did.somebody"), changes: decision.edited ? say("did.withChanges") : "",
    when: decision.at ? say("did.when", { ago: ago(decision.at) }) : "", where: doors[door] ? say(doors[door]) : "",
  });
}

// carriedBy says who brings the answer to the agent.
export function carriedBy(approval) {
  const waits = approval.waitsForChat;
  if (!waits?.length) return say("carried.itself");
  return say("carried.chat", { why: waits.map((code) => (has(`lacks.${code}`) ? say(`lacks.${code}`) : code)).join(say("list.and")) });
}

// became says what became of a question that has ended.
export function became(end) {
  const how = `ended.${end.how.replaceAll(" ", "")}`;
  return (has(how) ? say(how) : say("ended.other", { how: end.how })) + (end.error ? say("ended.error", { code: end.error }) : "");
}

// reasonOf says why something may not be done with an approval, by the code of it. otherwise is the
// key of what it takes.
export function reasonOf(approval, code, otherwise) {
  if (code !== "FORBIDDEN" && has(`reason.${code}`)) return say(`reason.${code}`);
  return say(approval.withheld ? "reason.withheld" : "reason.readOnly", { why: say(otherwise) });
}

// refusal says why a decision was not taken: {title, text, detail}. detail is the server's own
// sentence, in English.
export function refusal(problem, one) {
  const notSent = () => say(`notSent.${one?.what ?? "decision"}`), notTaken = () => say(`notTaken.${one?.what ?? "decision"}`);
  const q = problem.approval?.questions?.find((each) => each.id === one?.word.question);
  const end = problem.approval?.end;
  switch (problem.code) {
    case "DECIDED_OTHERWISE": case "RESUME_CONFLICT": case "RESUME_IN_PROGRESS": case "APPROVAL_ENDED": {
      const asked = q?.decision ?? end?.questions?.find((each) => each.id === one?.word.question);
      const known = asked?.status ? { by: end?.by, at: end?.at, ...asked } : null;
      return { title: known ? whoDid(known, q?.decision ? "desk" : end?.door) : say("refused.answered"), quote: known?.comment, text: notSent() };
    }
    case "QUESTION_CHANGED": case "DIGEST_REQUIRED":
      return { title: say("refused.changed"), text: say("refused.changed.text") };
    case "INTERRUPT_EXPIRED":
      return { title: one?.expires ? say("expired.by", { time: clock(one.expires) }) : say("reason.INTERRUPT_EXPIRED"), text: notTaken() };
    case "APPROVAL_NOT_FOUND": case "QUESTION_NOT_FOUND": case "UNKNOWN_INTERRUPT_ID":
      return { title: say("gone.title"), text: `${say("refused.unknown")} ${notTaken()}` };
    case "INVALID_PAYLOAD":
      return { title: say("refused.unfit"), text: say("refused.nothingSent"), detail: problem.detail };
    case "AGENT_ELSEWHERE":
      return { title: say("refused.elsewhere"), text: `${say("reason.AGENT_ELSEWHERE")} ${say("refused.nothingSent")}` };
    case "UNAUTHENTICATED":
      return { title: say("sign.signedOut"), text: `${say("refused.nothingSent")} ${say("sign.kept")}` };
    case "ANOTHER_CALLER":
      return { title: say("sign.another"), text: say("refused.nothingSent") };
    case "FORBIDDEN":
      return { title: say("refused.forbidden"), text: say("refused.nothingSent") };
  }
  const key = `refused.${problem.code}`;
  if (has(key)) return { title: say(key), text: say(`${key}.text`) };
  return { title: say("refused.other"), text: say("refused.other.text"), detail: problem.detail || problem.code };
}

// said is a refusal as one text, for a place without markup.
export const said = (words) => [`${words.title}.`, words.text, words.detail].filter(Boolean).join(" ");
