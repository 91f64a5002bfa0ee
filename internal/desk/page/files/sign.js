// Signing in. A token is typed once and becomes a cookie that no script can read; behind a proxy
// the proxy does it. What was typed to a question stays on the page meanwhile.
import * as api from "./api.js";
import { button, el, fill } from "./dom.js";
import { has, say } from "./language.js";
import { look } from "./poll.js";
import { changed, on, state } from "./state.js";

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
      said.textContent = say(has(`sign.failed.${problem.code}`) ? `sign.failed.${problem.code}` : "sign.failed");
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
    el("h2", { id: "sign-title" }, say(first ? "sign.in" : state.another ? "sign.another" : "sign.signedOut")),
    !first && el("p", {}, say("sign.kept")),
    other,
    token ? [el("label", { for: "token" }, say("sign.token")), input, said, el("p", { class: "buttons" }, button(say("sign.in"), { kind: "yes", press: enter }))]
      : [el("p", {}, say("sign.proxy")), el("p", { class: "buttons" }, el("a", { class: "button plainly", href: location.pathname, target: "_blank", rel: "noopener" }, say("sign.again")), button(say("sign.goOn"), { kind: "yes", press: async () => { await look(); if (state.live !== "out") dialog?.close(); else said.textContent = say("sign.notYet"); } })), said]);
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
  fill(node, state.another && [say("sign.nothingSent"), " ", button(say("sign.anew"), { kind: "small", press: () => location.reload() })]);
}

on("out", askIn);
on("live", tellOther);
on("live", () => { if (state.live === "live" && dialog) dialog.close(); });
