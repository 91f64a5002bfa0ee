// Time is the server's. Each answer says what time it is there; between two answers the browser's
// monotonic clock counts on. What the browser believes the time to be is never asked.

import { locale, number, say } from "./language.js";

let at = 0;   // the server's time in ms, when it said it
let then = 0; // performance.now() at that moment
let known = false;

// set takes the server's time out of an answer.
export function set(time) {
  const ms = typeof time === "number" ? time : Date.parse(time);
  if (!Number.isFinite(ms)) return;
  at = ms; then = performance.now(); known = true;
}

// now is the server's time in ms, NaN while nobody has told it.
export const now = () => (known ? at + performance.now() - then : NaN);

// since says in few words how long ago something was.
export function since(iso) {
  const s = Math.max(0, Math.round((now() - Date.parse(iso)) / 1000));
  if (!Number.isFinite(s)) return "";
  if (s < 60) return say("time.seconds", { n: s });
  if (s < 3600) return say("time.minutes", { n: Math.floor(s / 60) });
  if (s < 48 * 3600) return say("time.hours", { n: Math.floor(s / 3600) });
  return say("time.days", { n: Math.floor(s / 86400) });
}

// ago is since, as a part of a sentence.
export function ago(iso) {
  const s = Math.max(0, Math.round((now() - Date.parse(iso)) / 1000));
  if (!Number.isFinite(s)) return "";
  if (s < 2) return say("ago.now");
  if (s < 60) return say("ago.seconds", { n: s });
  if (s < 3600) return say("ago.minutes", { n: Math.floor(s / 60) });
  if (s < 48 * 3600) return say("ago.hours", { n: Math.floor(s / 3600) });
  return say("ago.days", { n: Math.floor(s / 86400) });
}

// left is the time in seconds until something; Infinity: it never comes.
export function left(iso) {
  if (!iso) return Infinity;
  const s = (Date.parse(iso) - now()) / 1000;
  return Number.isNaN(s) ? Infinity : s;
}

// span says how long some seconds are, as 2:51 or 3 h.
export function span(s) {
  s = Math.max(0, Math.floor(s));
  if (s < 3600) return `${number(Math.floor(s / 60))}:${two.format(s % 60)}`;
  if (s < 48 * 3600) return say("time.hours", { n: Math.floor(s / 3600) });
  return say("time.days", { n: Math.floor(s / 86400) });
}

const two = new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 });
const clockOnly = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const withSeconds = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const withDay = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const whole = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });

// clock is the time of day where the reader is, with the day if it is another one.
export function clock(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  return date.toDateString() === new Date(now()).toDateString() ? clockOnly.format(date) : withDay.format(date);
}

// full is the whole date with the time.
export function full(iso) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? "" : whole.format(date);
}

// exact is clock with seconds.
export function exact(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  return date.toDateString() === new Date(now()).toDateString() ? withSeconds.format(date) : withDay.format(date);
}
