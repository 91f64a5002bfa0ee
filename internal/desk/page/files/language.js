// The page's texts in the language of its reader. The server chose the language when it sent the
// document: by ?lang=, else by what the browser accepts. A language that the reader chose in the
// settings goes before both. The texts are in one file for each language, such as en.json.
import { settings } from "./state.js";

const root = document.documentElement;

// languages are those that the server has: {lang, name}, in the order of their codes.
export const languages = [...document.querySelectorAll("link[hreflang]")].map((link) => ({ lang: link.hreflang, name: link.title }));

// language is the code of the page's language.
export const language = root.lang;

// choose keeps a language for this browser, "" for the one that the browser accepts, and loads the
// page in it.
export function choose(lang) {
  location.assign(lang ? `?lang=${encodeURIComponent(lang)}${location.hash}` : `${location.pathname}${location.hash}`);
}

// A kept language is asked for once: an address that names one stays as it is.
if (settings.lang && settings.lang !== language && !new URLSearchParams(location.search).has("lang") && languages.some((one) => one.lang === settings.lang)) {
  location.replace(`?lang=${encodeURIComponent(settings.lang)}${location.hash}`);
  await new Promise(() => {}); // the page goes
}

const catalogue = await read();

// read loads the texts. A connection that breaks is tried again: without its texts the page cannot
// say that it broke.
async function read() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 15_000)) {
    try {
      const answer = await fetch(new URL(`./${language}.json`, import.meta.url), { cache: "no-store", credentials: "same-origin" });
      if (answer.ok) return await answer.json();
    } catch { /* again */ }
    await new Promise((done) => setTimeout(done, wait));
  }
}

// locale is the reader's own form of the language, such as de-AT, for numbers and times.
export const locale = navigator.languages.find((one) => one.toLowerCase().split("-")[0] === language.split("-")[0]) ?? catalogue["language.locale"];

const plain = new Intl.NumberFormat(locale);
const plural = new Intl.PluralRules(locale);

// number writes a number of the page's own. What an agent wrote keeps its digits.
export const number = (n) => plain.format(n);

// textOf is the text of a key. One that depends on a number has a text for each plural category of
// the language, or for a number itself as "=2".
function textOf(key, args) {
  const found = Object.hasOwn(catalogue, key) ? catalogue[key] : undefined;
  const text = typeof found === "object" ? found[`=${args.n}`] ?? found[plural.select(args.n)] ?? found.other : found;
  if (text !== undefined) return text;
  console.error(`no text ${key} in ${language}.json`);
  return key;
}

// parts are a text with its placeholders filled, as children of an element: a placeholder may stand
// for nodes. What stands in a placeholder is never read as a text with placeholders.
export function parts(key, args = {}) {
  return textOf(key, args).split(/\{([a-z]+)\}/i).map((part, n) => {
    if (n % 2 === 0) return part;
    const value = args[part];
    return typeof value === "number" ? number(value) : value ?? "";
  });
}

// say is a text with its placeholders filled by texts and numbers.
export const say = (key, args) => parts(key, args).join("");

// has reports whether there is a text for a key.
export const has = (key) => Object.hasOwn(catalogue, key);
