// Making elements. A string that is put into one is text, always: there is no way here from a
// string to markup, to a link or to a handler.

const SVG = "http://www.w3.org/2000/svg";

// el makes an element. props: class, on (handlers by event), data, text and attributes by their
// names; an attribute that is undefined, null or false is left out. children are nodes, strings,
// and lists of them.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "class") node.className = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  put(node, children);
  return node;
}

function put(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) put(node, child);
    else if (child !== undefined && child !== null && child !== false) node.append(child);
  }
}

// fill replaces what is in an element.
export function fill(node, ...children) {
  node.replaceChildren();
  put(node, children);
  return node;
}

const paths = {
  check: "M3 8.5l3.4 3.4L13 5",
  cross: "M4 4l8 8M12 4l-8 8",
  pen: "M3 13l.7-3L10.5 3.2a1.2 1.2 0 0 1 1.7 0l.6.6a1.2 1.2 0 0 1 0 1.7L6 12.3z",
  undo: "M6.5 3.5L3.5 6.5l3 3M4 6.5h5.5a3 3 0 0 1 0 6H7",
};

// icon draws one of the page's own signs. It says nothing: the words beside it do.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}

// byId is an element of the page's frame.
export const byId = (id) => document.getElementById(id);

// button makes one. off is the reason why it does nothing now, in words: it stays where it is and
// can be reached, and the reason stands beside it.
export function button(label, { kind = "", sign, key, off, press, more = {} }) {
  return el("button", {
    type: "button", class: kind, "aria-disabled": off ? "true" : undefined, "aria-keyshortcuts": key && key.length === 1 ? key : undefined, ...more,
    on: { click: (event) => { if (!off) press(event); } },
  }, sign && icon(sign), el("span", {}, label), key && el("kbd", { "aria-hidden": "true" }, key));
}

let said = 0;

// tell has a screen reader say something. loud: at once.
export function tell(text, loud = false) {
  const node = byId(loud ? "alert" : "status");
  said++;
  // The same words twice are two things to say.
  fill(node, el("p", { data: { n: said } }, text));
}
