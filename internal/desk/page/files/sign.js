// Signing in. A token is typed once and becomes a cookie that no script can read; behind a proxy
// the proxy does it. What was typed to a question stays on the page meanwhile.
import * as api from "./api.js";
import { button, el, fill } from "./dom.js";
import { look } from "./poll.js";
import { changed, on, state } from "./state.js";

const failures = {
  OFFLINE: "Holdpoint does not answer.",
  TOO_MANY_TRIES: "Too many wrong tokens came from here. Try again in a few seconds.",
  TLS_REQUIRED: "A token is taken by TLS only, or on the machine on which Holdpoint runs: the network would see it.",
  NO_SESSIONS: "Nobody signs in here: the proxy in front says who you are.",
};

let dialog = null;

export function askIn() {
  if (dialog) return;
  const first = state.me === null;
  const other = el("p", { id: "other" });
  const said = el("p", { class: "error", role: "alert" });
  const input = el("input", { type: "password", id: "token", autocomplete: "current-password", spellcheck: "false" });
  const enter = async () => {
    said.textContent = "";
    try { await api.signIn(input.value.trim()); } catch (problem) {
      said.textContent = failures[problem.code] ?? "This token is not one of the desk's.";
      input.select();
      return;
    }
    input.value = "";
    dialog.close();
    state.me = null;
    await look();
    changed("open-again");
  };
  const token = state.auth !== "header" && state.auth !== "jwt";
  dialog = el("dialog", { class: "sign", "aria-labelledby": "sign-title", on: { close: () => { dialog?.remove(); dialog = null; }, cancel: (e) => e.preventDefault() } },
    el("h2", { id: "sign-title" }, first ? "Sign in" : state.another ? "Somebody else is signed in here now" : "You were signed out"),
    !first && el("p", {}, "Your text is kept here."),
    other,
    token ? [el("label", { for: "token" }, "Token of the desk"), input, said, el("p", { class: "buttons" }, button("Sign in", { kind: "yes", press: enter }))]
      : [el("p", {}, "Who you are is told by the proxy in front of this page."), el("p", { class: "buttons" }, el("a", { class: "button plainly", href: location.pathname, target: "_blank", rel: "noopener" }, "Sign in again"), button("Go on", { kind: "yes", press: async () => { await look(); if (state.live !== "out") dialog?.close(); else said.textContent = "You are not signed in yet."; } })), said]);
  input.addEventListener("keydown", (e) => { if (e.key === "Enter" && !e.isComposing) { e.preventDefault(); enter(); } });
  document.body.append(dialog);
  tellOther();
  dialog.showModal();
  if (token) input.focus();
}

// tellOther offers the page to whoever has signed in since, who begins with a new one.
function tellOther() {
  const node = dialog?.querySelector("#other");
  if (!node || node.hasChildNodes() === state.another) return;
  fill(node, state.another && ["Nothing is sent in that name. ", button("Begin anew as who is signed in", { kind: "small", press: () => location.reload() })]);
}

on("out", askIn);
on("live", tellOther);
on("live", () => { if (state.live === "live" && dialog) dialog.close(); });
