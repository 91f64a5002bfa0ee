// Every state of the page, judged by axe-core, measured, in both schemes and in three sizes.
import assert from "node:assert/strict";
import { fill } from "./gallery.mjs";

// pictures are those of docs/desk.
const pictures = { "wide light original payment": "question", "wide light post_notice": "hidden", "wide dark run_sql": "dark", "phone light original payment": "phone" };

const sizes = { wide: [1280, 800], phone: [360, 740], zoomed: [320, 256] };

// everywhere visits the states of what waits, for a person whose page has a size and a scheme.
async function everywhere(w, size, scheme) {
  const [width, height] = sizes[size];
  await fill(w);
  const p = await w.person("maria.okafor", { width, height, scheme, touch: size !== "wide", settings: { next: false }, signIn: false });
  const home = () => p.page.evaluate(() => { location.hash = "#/"; });
  await p.page.waitForSelector("#token");
  await p.judged("signing in");
  if (scheme === "light") await p.shot(`sign-${size}`);
  await p.signIn();
  await p.sees(9);
  await p.judged("list");
  for (const words of ["run_sql", "send_email", "post_notice", "create_tag", "apply_patch", "Which warehouse", "Traveller", "original payment"]) {
    await home();
    await p.open(words);
    await p.judged(words);
    const picture = pictures[`${size} ${scheme} ${words}`];
    if (picture) await p.shot(picture, true);
    if (words === "original payment") {
      await p.has("End of the conversation · 1 message", "#question");
      await p.page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
      await p.judged("all open");
    }
    if (words === "post_notice") {
      await p.click("yes");
      await p.page.waitForSelector("#typed");
      await p.judged("grave");
      if (size === "phone") await p.shot(`phone-grave-${scheme}`);
    }
    if (words === "send_email") {
      await p.click("yes");
      await p.has("All of the text is open now.", "#bar");
      await p.judged("unfolded");
    }
    if (words === "Traveller") {
      await p.click("yes");
      await p.has("do not fit", "#bar");
      await p.judged("does not fit");
    }
  }
  if (size !== "wide") await p.shot(`phone-${size}-${scheme}`);
  await p.click("edit");
  await p.page.fill("#e1", "600");
  await p.judged("edit");
  await p.click("review");
  await p.judged("review");
  await p.alive();
  await p.click("yes");
  await p.page.waitForSelector(".strip");
  await p.judged("a strip");
  await p.shot(`strip-${size}-${scheme}`);
  await home();
  await p.page.click("#help");
  await p.judged("help");
  await p.shot(`help-${size}-${scheme}`);
  await p.page.getByRole("button", { name: "Close" }).click();
}

const each = {};
for (const size of Object.keys(sizes)) for (const scheme of ["light", "dark"]) each[`${size} ${scheme}`] = (w) => everywhere(w, size, scheme);

export const scenes = {
  ...each,

  // What comes from outside: empty, expired, in doubt, given up, the store away, no answer, signed out.
  async "states and words"(w) {
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.has("Nothing waits New questions appear by themselves.", "#list");
    await p.has("Nothing waits.", "#question");
    await p.judged("empty");
    const soon = await w.tool("deploy", { to: "production" }, { expiresAt: new Date(Date.now() + 9_000).toISOString() });
    await w.tool("old", { n: 1 });
    const broken = await w.ask({ break: true, calls: [{ id: "c9", name: "charge_card", args: '{"amount":49.90,"currency":"EUR"}' }], interrupts: [{ id: "i9", reason: "tool_call", toolCallId: "c9", responseSchema: { type: "object", properties: { approved: { type: "boolean" } } } }] });
    await p.sees(3);
    await p.has("Choose a question. J and K go through the list, Enter opens.", "#question");
    await p.has("Expires within 10 minutes", "#list");
    await p.open("deploy");
    await p.judged("expires soon");
    await w.until("its time is over", async () => { await p.pass(1000); return (await p.text()).includes("Nobody answered by"); });
    await p.judged("expired");
    assert.ok(soon);

    await w.decide(broken.thread, { decision: "approve", comment: "charged before" });
    await w.until("the doubt", async () => (await w.approvals("?state=doubt")).length === 1);
    await w.until("the row", async () => { await p.poll(); return (await p.text("#list")).includes("may have run"); });
    await p.page.evaluate(() => { location.hash = "#/"; });
    await p.has("In doubt", "#list");
    await p.page.locator("a.row", { hasText: "charge_card" }).click();
    await p.has("This may have run", "#question .notice");
    await p.has("jonas.lind approved it at", "#question .notice");
    await p.judged("in doubt");
    await p.shot("doubt");
    assert.equal(await p.page.locator("#yes").count(), 0);
    await p.page.getByRole("button", { name: "Give it up" }).click();
    await w.until("given up", async () => { await p.pass(1000); return (await p.text()).includes("gave it up at"); });

    // No answer at all.
    p.expect.push("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK");
    await p.context.setOffline(true);
    await p.pass(3100);
    await w.until("not live", async () => { await p.pass(200); return (await p.text("#live")).includes("Not live. Trying again in"); });
    await p.judged("not live");
    await p.context.setOffline(false);
    await w.until("live again", async () => { await p.pass(1000); return (await p.text("#live")).trim() === "Live"; });

    // The store is away: the answer is the desk's own, given here in its place.
    p.expect.push("503");
    await p.page.route("**/v1/approvals?*", (r) => r.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Service Unavailable", status: 503, code: "STORE_UNAVAILABLE", detail: "the store cannot be asked at the moment", now: new Date().toISOString() }) }));
    await p.page.evaluate(() => { location.hash = "#/"; });
    await p.page.locator("a.row", { hasText: "old" }).click();
    await p.pass(3100);
    await p.has("Holdpoint cannot reach its store. This list is as of", "#banner");
    await p.has("You cannot decide until the store is back", "#bar");
    await p.judged("store down");
    await p.shot("store");
    await p.page.unroute("**/v1/approvals?*");
    await w.until("back", async () => { await p.pass(2000); return (await p.text("#live")).trim() === "Live"; });
  },

  // Who may read and not decide sees why; who may only list sees that something waits.
  async rights(w) {
    await w.tool("refund", { order: "SO-48213", amount: 1200 });
    const p = await w.person();
    await p.open("refund");
    await p.has("You can read this. You do not have the right to approve it.", "#bar");
    for (const id of ["yes", "no"]) assert.equal(await p.page.getAttribute(`#${id}`, "aria-disabled"), "true");
    await p.press("a");
    await p.press("d");
    await p.page.click("#yes", { force: true });
    assert.equal(await p.page.locator(".strip, #comment").count(), 0);
    assert.ok(!(await p.text()).includes("conversation"), "it takes a right of its own");
    await p.judged("not allowed");
    const lister = await w.person("jonas.lind");
    await lister.open("refund");
    await lister.has("You can see that this waits, but you may not read it.", "#question");
    await lister.has("You can see that this waits. You do not have the right to approve it.", "#bar");
    assert.ok(!(await lister.text("body")).includes("You can read this"));
    assert.ok(!(await lister.text("body")).includes("SO-48213"));
    await lister.judged("withheld");
    await w.question("Which one?", undefined, { metadata: { langgraph: { raw: { secret: "SO-48213" } } } });
    await w.until("the row", async () => { await lister.poll(); return (await lister.text("#list")).includes("new question"); });
    await lister.page.getByRole("button", { name: "1 new question" }).click();
    await lister.open("Question");
    await lister.has("You can see that this waits, but you may not read it.", "#question");
    assert.ok(!/wrote nothing|SO-48213/.test(await lister.text("body")));
  },
};
