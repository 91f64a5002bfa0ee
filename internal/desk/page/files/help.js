// Help and settings, in one dialog.
import * as api from "./api.js";
import { button, el } from "./dom.js";
import { choose, language, languages, say } from "./language.js";
import { set, settings, state } from "./state.js";

const keys = [
  ["J", "K", say("help.step")], [say("key.enter"), say("help.open")], ["A", say("help.approve")], ["D", say("help.deny")], ["E", say("help.edit")],
  ["C", say("help.comment")], ["Z", say("help.undo")], [say("key.digits"), say("help.pick")], [say("key.ctrlEnter"), say("help.send")], ["/", say("help.filter")],
  ["G W", say("help.waiting")], ["G D", say("help.decided")], [say("key.esc"), say("help.back")], ["?", say("help.help")],
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
  const choice = el("select", { id: "language", on: { change: () => { set("lang", choice.value); choose(choice.value); } } },
    el("option", { value: "" }, say("help.browser")), languages.map((one) => el("option", { value: one.lang, lang: one.lang }, one.name)));
  choice.value = languages.some((one) => one.lang === settings.lang) ? settings.lang : "";
  if (choice.value !== "" && choice.value !== language) choice.value = ""; // the address names another one
  const dialog = el("dialog", { "aria-labelledby": "help-title", on: { close: () => dialog.remove() } },
    el("div", { class: "head" }, el("h2", { id: "help-title" }, say("help.title")), button(say("help.close"), { kind: "quiet", key: say("key.esc"), press: close })),
    el("h3", {}, say("help.keys")),
    el("dl", { class: "keys" }, keys.map((one) => [el("dt", {}, one.slice(0, -1).map((k) => el("kbd", {}, k))), el("dd", {}, one.at(-1))])),
    el("p", { class: "note" }, say("help.when")),
    el("fieldset", {}, el("legend", {}, say("help.settings")), box("keys", say("help.single")), box("next", say("help.next"))),
    el("fieldset", {}, el("legend", {}, say("help.wait")), radio(5, say("help.after", { n: 5 })), radio(20, say("help.after", { n: 20 })), radio("ask", say("help.ask"))),
    languages.length > 1 && el("p", { class: "language" }, el("label", { for: "language" }, say("help.language")), choice, el("span", { class: "note" }, say("help.anew"))),
    state.me?.session && el("p", {}, button(say("sign.out"), { kind: "small", press: async () => { await api.signOut().catch(() => {}); location.reload(); } })));
  document.body.append(dialog);
  dialog.showModal();
}
