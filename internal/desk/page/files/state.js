// What the page knows at the moment. Each part says when it has changed; who shows it listens.

export const state = {
  me: null,            // who reads this page
  live: "begin",       // begin, live, retry, store or out
  another: false,      // out, and somebody else has signed in in this browser
  retryAt: 0,          // performance.now() of the next try
  asOf: null,          // when the list was read last
  tab: "waiting",
  filter: "",
  rows: [],            // of the list as the server has it, in its order
  ended: [],           // of the list of what is decided
  more: false,         // there is more than the page has read
  open: null,          // {id, question} of the question on the page
  detail: null,        // the approval of the open question
};

const listeners = new Map();

// on has a function called when a part changes.
export function on(part, listener) {
  if (!listeners.has(part)) listeners.set(part, []);
  listeners.get(part).push(listener);
}

// changed says that a part has changed.
export function changed(part, ...args) {
  for (const listener of listeners.get(part) ?? []) listener(...args);
}

// openQuestion is the question on the page, as the API has it; undefined: there is none.
export const openQuestion = () => state.detail?.questions.find((q) => q.id === state.open?.question);

// keyOf names a question in lists, in addresses and in what is kept of it.
export const keyOf = (id, question) => `${encodeURIComponent(id)}/${encodeURIComponent(question)}`;

// openKey is keyOf of the question on the page; "": there is none.
export const openKey = () => (state.open ? keyOf(state.open.id, state.open.question) : "");

// drafts are what somebody has typed to a question and not sent, by its key: it outlives a look at
// another question, and being signed out.
const drafts = new Map();

export function draftOf(key) {
  if (!drafts.has(key)) drafts.set(key, { comment: "", tell: false, typed: "", values: new Map(), json: false, pick: null, edits: new Map(), refused: null });
  return drafts.get(key);
}

export const forget = (key) => drafts.delete(key);

// settings are the reader's own, and stay in this browser. None of them is a secret.
const stored = "holdpoint-desk";
export const settings = Object.assign({ keys: true, wait: 5, next: true, lang: "" }, (() => {
  try { return JSON.parse(localStorage.getItem(stored)) ?? {}; } catch { return {}; }
})());

export function set(name, value) {
  settings[name] = value;
  try { localStorage.setItem(stored, JSON.stringify(settings)); } catch { /* it lasts as long as the page */ }
  changed("settings");
}
