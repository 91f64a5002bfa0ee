// The API of docs/desk-api.yaml, as this page asks it. Who asks is told by a cookie that no script
// can read.
import * as clock from "./clock.js";
import { plain, read } from "./json.js";

// These are what will run or was answered, so their text is kept.
const kept = new Set(["arguments", "payload", "const", "enum", "default"]);

// A Problem is an answer that is none of the API's good ones, or no answer at all: code OFFLINE.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.code ?? String(status));
    Object.assign(this, body, { status, code: body.code ?? "UNKNOWN" });
  }
}

// caller is the name of who reads this page, "" until it is known. The server does nothing that the
// page asks for if somebody else has signed in in this browser since.
let caller = "";
export const readBy = (name) => { caller = name; };

async function ask(method, path, { text, etag, as = caller } = {}) {
  const headers = { Accept: "application/json" };
  if (as) headers["Holdpoint-Caller"] = encodeURIComponent(as);
  if (text !== undefined) headers["Content-Type"] = "application/json";
  if (etag) headers["If-None-Match"] = etag;
  let answer, said;
  try {
    // A redirect is that of a proxy to its sign-in: whoever follows it reads another page.
    answer = await fetch(path, { method, headers, body: text, redirect: "manual", credentials: "same-origin", cache: "no-store" });
    said = answer.status === 304 || answer.type === "opaqueredirect" ? "" : await answer.text();
  } catch {
    throw new Problem(0, { code: "OFFLINE" });
  }
  if (answer.type === "opaqueredirect") throw new Problem(401, { code: "UNAUTHENTICATED", auth: "header" });
  const isJSON = /^application\/(problem\+)?json/.test(answer.headers.get("Content-Type") ?? "");
  let data = null;
  if (isJSON && said) {
    try { data = plain(read(said), kept); } catch { throw new Problem(answer.status, { code: "UNREADABLE" }); }
  }
  clock.set(data?.now ?? Date.parse(answer.headers.get("Date") ?? ""));
  if (!answer.ok && answer.status !== 304) {
    if (!data) data = answer.status === 401 ? { code: "UNAUTHENTICATED" } : { code: "UNKNOWN", detail: String(answer.status) };
    throw new Problem(answer.status, data);
  }
  return { status: answer.status, data, etag: answer.headers.get("ETag") };
}

const at = (id, question) => `v1/approvals/${encodeURIComponent(id)}${question === undefined ? "" : `/questions/${encodeURIComponent(question)}`}`;

export const me = async () => (await ask("GET", "v1/me", { as: "" })).data;
export const signIn = (token) => ask("POST", "v1/session", { text: JSON.stringify({ token }) });
export const signOut = () => ask("DELETE", "v1/session");

// page asks for a page of a list; the etag is of the one that is there already. With perAgent it
// has at most so many of each agent.
export const page = (state, cursor, etag, perAgent = 0) =>
  ask("GET", `v1/approvals?state=${state}&limit=200${perAgent ? `&perAgent=${perAgent}` : ""}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { etag });

export const one = async (id) => (await ask("GET", at(id))).data;
export const giveUp = async (id) => (await ask("DELETE", at(id))).data;

// decide sends a decision. payload is the text of a JSON value, so that numbers stay as they are.
export async function decide({ id, question, decision, digest, payload, comment, reason }) {
  const parts = { decision: JSON.stringify(decision), digest: JSON.stringify(digest) };
  if (payload !== undefined) parts.payload = payload;
  if (comment) parts.comment = JSON.stringify(comment);
  if (reason) parts.reason = JSON.stringify(reason);
  const text = "{" + Object.entries(parts).map(([k, v]) => `"${k}":${v}`).join(",") + "}";
  return (await ask("POST", at(id, question), { text })).data;
}

// sent is where all is that the agent sent with a question beside its message, as a file.
export const sent = (id, question) => `v1/approvals/${encodeURIComponent(id)}/sent/${encodeURIComponent(question)}`;

// raw is where the recorded arguments of a call are, as a file.
export const raw = (id, question, call) =>
  `v1/approvals/${encodeURIComponent(id)}/raw/${encodeURIComponent(question)}/${call}`;
