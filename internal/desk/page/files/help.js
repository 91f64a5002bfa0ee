// Help and settings, in one dialog.
import * as api from "./api.js";
import { button, el } from "./dom.js";
import { set, settings, state } from "./state.js";

const keys = [
  ["J", "K", "next and previous question"], ["Enter", "open the question in the list"], ["A", "approve"], ["D", "deny: a comment, then Enter"], ["E", "edit the arguments"],
  ["C", "comment"], ["Z", "undo"], ["1 – 9", "pick a choice"], ["Ctrl Enter", "send the answer"], ["/", "filter"], ["G W", "what waits"], ["G D", "what was decided"], ["Esc", "back"], ["?", "this help"],
];

export function showHelp() {
  const close = () => dialog.close();
  const radio = (value, label) => {
    const input = el("input", { type: "radio", name: "wait", on: { change: () => set("wait", value) } });
    input.checked = settings.wait === value;
    return el("label", {}, input, label);
  };
  const box = (name, label) => {
    const input = el("input", { type: "checkbox", on: { change: () => set(name, input.checked) } });
    input.checked = settings[name];
    return el("label", {}, input, label);
  };
  const dialog = el("dialog", { "aria-labelledby": "help-title", on: { close: () => dialog.remove() } },
    el("div", { class: "head" }, el("h2", { id: "help-title" }, "Help and settings"), button("Close", { kind: "quiet", key: "Esc", press: close })),
    el("h3", {}, "Keys"),
    el("dl", { class: "keys" }, keys.map((one) => [el("dt", {}, one.slice(0, -1).map((k) => el("kbd", {}, k))), el("dd", {}, one.at(-1))])),
    el("p", { class: "note" }, "A and D count only with the focus in the question, and not in the first second after it appears."),
    el("fieldset", {}, el("legend", {}, "Settings"), box("keys", "Single keys work"), box("next", "After a decision, open the next question")),
    el("fieldset", {}, el("legend", {}, "A decision is sent"), radio(5, "after 5 seconds"), radio(20, "after 20 seconds"), radio("ask", "at once, and the page asks first")),
    state.me?.session && el("p", {}, button("Sign out", { kind: "small", press: async () => { await api.signOut().catch(() => {}); location.reload(); } })));
  document.body.append(dialog);
  dialog.showModal();
}
