// The keyboard. A single key decides only where somebody looks at a question: with the focus in it,
// pressed once, and alone.
import { byId } from "./dom.js";
import * as decide from "./decide.js";
import { beside, focusRow } from "./list.js";
import { showHelp } from "./help.js";
import { openKey, settings, state } from "./state.js";

const inField = (node) => node.matches?.("input:not([type=radio]), textarea, select, [contenteditable]");
const inPane = (node) => byId("pane").contains(node) && !byId("strips").contains(node);

// G waits for the key behind it.
let gone = -Infinity;

// step goes to the row n places on: in the list with the focus, in a question by opening it.
function step(node, n) {
  const row = node.closest?.("a.row");
  if (row) { const key = beside(row.dataset.key, n); if (key) focusRow(key); return; }
  const key = beside(openKey(), n);
  if (!key) return;
  if (state.open && inPane(node)) location.hash = `#/${key}`; else focusRow(key);
}

const deciding = {
  a: () => decide.approve(), d: () => decide.deny(), e: () => decide.startEdit(), c: () => decide.comment(),
};

document.addEventListener("keydown", (event) => {
  const node = event.target;
  if (event.isComposing || event.keyCode === 229 || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && !event.altKey && inPane(node)) {
    event.preventDefault();
    decide.sendAnswer();
    return;
  }
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") { escape(node); return; }
  if (inField(node) || !settings.keys) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "j" || key === "k") { event.preventDefault(); step(node, key === "j" ? 1 : -1); return; }
  if (event.repeat) return;
  const after = performance.now() - gone < 1500;
  gone = -Infinity;
  if (after && (key === "w" || key === "d")) { event.preventDefault(); location.hash = key === "w" ? "#/" : "#/decided"; return; }
  if (key === "g") { gone = performance.now(); return; }
  if (key === "?") { event.preventDefault(); showHelp(); return; }
  if (key === "/") { event.preventDefault(); byId("filter")?.focus(); return; }
  if (key === "z") { if (decide.undo()) event.preventDefault(); return; }
  if (key === "a" && node.closest?.("a.row")) { event.preventDefault(); location.hash = node.getAttribute("href"); return; }
  if (!inPane(node)) return;
  if (deciding[key]) { event.preventDefault(); deciding[key](); return; }
  if (/^[1-9]$/.test(key)) { event.preventDefault(); decide.pick(Number(key) - 1); }
});

// escape goes back by one step: out of a panel, out of a field, to the list.
function escape(node) {
  if (inPane(node) && decide.back()) return;
  if (node.id === "filter") { byId("list").querySelector("a.row")?.focus(); return; }
  if (inField(node) && inPane(node)) { byId("title")?.focus(); return; }
  if (state.open && inPane(node)) { const key = openKey(); if (matchMedia("(max-width: 759px)").matches) location.hash = "#/"; setTimeout(() => focusRow(key), 0); }
}
