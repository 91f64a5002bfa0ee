// Seeing, answering, denying, editing, and watching it go.
import assert from "node:assert/strict";
import { approval, editable, withReason } from "../world.mjs";

const refund = { order: "SO-48213", amount: 1200, currency: "EUR", to: "original payment method", reason: "damaged in transit, photos attached to ticket 20391" };

export const scenes = {
  // A call is approved by one key, waits, is sent once, and its end is seen.
  async approve(w) {
    const { thread } = await w.tool("refund", refund, { message: "Customer reports a damaged lamp and sent two photos." });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.open("refund");
    await p.has("Run refund", "#question h2");
    await p.has("SO-48213", "#question .fields");
    await p.has("Customer reports a damaged lamp", "#question .says");
    await p.has("written by the agent, not by Holdpoint", "#question");
    assert.equal(await p.page.title(), "1 waiting · Holdpoint");
    await p.press("a");
    await p.has("Approving refund · sent in 5 s", "#strips");
    await p.pass(4000);
    await p.has("sent in 1 s", "#strips");
    assert.deepEqual(await w.answers(thread), []);
    await p.pass(1200);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    await w.until("its end", async () => { await p.pass(1000); return (await p.text()).includes("The agent got the answer and has finished."); });
    await p.has("You approved it at", "#question .notice");
    assert.equal(await p.page.locator("#yes").count(), 0);
    const [told] = await w.answers(thread);
    assert.deepEqual([told.status, told.payload], ["resolved", { approved: true }]);
    assert.equal((await w.answers(thread)).length, 1);
    await p.press("g");
    await p.press("d");
    await p.has("approved by you", "#list");
  },

  // The same where the desk is another process than the agent's, on a Redis of both.
  async "a desk of many agents"(w) { await scenes.approve(w); },

  // D, a few words, Enter. The words stand in the record and not in what the agent gets.
  async "deny with a comment"(w) {
    const { thread } = await w.tool("refund", refund);
    const p = await w.person();
    await p.open("refund");
    await p.press("d");
    await p.page.keyboard.type("No invoice yet.");
    await p.press("Enter");
    await p.has("Denying refund", "#strips");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    assert.deepEqual((await w.answers(thread))[0].payload, { approved: false });
  },

  // Denying needs no typing, no unfolding and no comment.
  async "deny by a click"(w) {
    const { thread } = await w.tool("send_email", { to: "a@example.com", body: "line\n".repeat(60) });
    const p = await w.person();
    await p.open("send_email");
    await p.click("no");
    await p.page.click("#strips button:has-text('Send now')");
    await w.until("the answer", async () => (await w.answers(thread)).length);
    assert.deepEqual((await w.answers(thread))[0].payload, { approved: false });
  },

  // Two arguments are changed and looked at; the others go as they were, to the last digit.
  async "edit the arguments"(w) {
    const { thread } = await w.tool("refund", '{"order":"SO-48213","amount":1200,"share":1.10,"limit":12345678901234567890,"note":"a\\nb","tags":["x",1.0]}', { schema: editable });
    const p = await w.person();
    await p.open("refund");
    await p.press("e");
    await p.has("Nothing is changed yet.", "#bar");
    await p.page.fill("#e1", "6oo");
    await p.has("is not a number", "#question");
    await p.has("One field does not fit.", "#bar");
    await p.page.fill("#e1", "600.50");
    await p.page.fill("#e0", "SO-48214");
    await p.has("the agent wrote 1200", "#question");
    await p.shot("edit");
    await p.click("review");
    await p.has("2 of 6 arguments", "#question");
    await p.has("The other 4 arguments go as the agent wrote them.", "#question");
    await p.alive();
    await p.shot("review");
    await p.click("yes");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    const raw = await (await fetch(`${w.stage.fake}/answers`)).text();
    // What ran stands there afterwards, as a diff, to the last digit.
    await p.press("g");
    await p.press("d");
    await w.until("the row", async () => { await p.poll(); return (await p.rows()).length === 1; });
    await p.page.locator("a.row").click();
    await p.has("You approved it with 2 changes at", "#question .notice");
    assert.deepEqual(await p.page.$$eval("#question .change .line", (all) => all.map((line) => line.textContent)), ["the agent wrote: SO-48213", "you send: SO-48214", "the agent wrote: 1200", "you send: 600.50"]);
    await p.page.$$eval("details.ids", (all) => all.forEach((one) => { one.open = true; }));
    assert.match(await p.text("details.ids"), /door\s+desk/);
    await p.judged("decided with changes");
    await p.shot("decided-edit");
    assert.match(raw, /"editedArgs":\{"order":"SO-48214","amount":600\.50,"share":1\.10,"limit":12345678901234567890,"note":"a\\nb","tags":\["x",1\.0\]\}/);
  },

  // A schema with one form for the yes and another for the no, as TanStack AI's, takes edits too.
  async "edit the arguments in the form of the yes"(w) {
    const form = (approved, more) => ({ type: "object", properties: { approved: { const: approved }, ...more }, required: ["approved"], additionalProperties: false });
    const edits = { editedArgs: { type: "object", properties: { amount: { type: "number", maximum: 5 } } } };
    const { thread } = await w.tool("refund", { order: "SO-1", amount: 1 }, { schema: { oneOf: [form(true, edits), form(false)] } });
    const p = await w.person();
    await p.open("refund");
    await p.press("e");
    await p.page.fill("#e1", "6");
    await p.has("One field does not fit.", "#bar");
    await p.page.fill("#e1", "4");
    await p.click("review");
    await p.has("1 of 2 arguments", "#question");
    await p.alive();
    await p.click("yes");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    assert.deepEqual((await w.answers(thread))[0].payload, { approved: true, editedArgs: { order: "SO-1", amount: 4 } });
  },

  // What the agent asks in words is answered in words, by a choice, and by a form.
  async "answer a question"(w) {
    const words = await w.question("What should the note say?", { type: "string" });
    const pick = await w.question("Which warehouse should ship order SO-48213?", { oneOf: [{ const: "aarhus", title: "Aarhus", description: "2 days, 4.10 EUR" }, { const: "rotterdam", title: "Rotterdam", description: "1 day, 9.80 EUR" }, { const: "gdansk", title: "Gdańsk", description: "3 days, 3.20 EUR" }] });
    const form = await w.question("Traveller data for the booking to Oslo", { type: "object", required: ["name", "birth", "bags"], properties: { name: { type: "string", title: "Name", format: "constructor" }, birth: { type: "string", format: "date", title: "Date of birth" }, bags: { type: "integer", title: "Bags", maximum: 4 }, window: { type: "boolean", title: "Window seat" } } });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.open("What should the note say?");
    await p.press("Control+Enter");
    await p.has("Write an answer first.", "#question");
    await p.page.fill("#answer", "Paid in full");
    await p.press("Control+Enter");
    await p.has("Answering question", "#strips");
    await p.open("Which warehouse");
    await p.has("rotterdam", "#question .choices"); // what is sent, beside the agent's word for it
    await p.press("2");
    await p.shot("choice");
    await p.press("Control+Enter");
    await p.open("Traveller data");
    const fields = p.page.locator("#question .form input");
    await p.has("birth", "#question .form");
    await fields.nth(0).fill("Ana Ruiz");
    await fields.nth(1).fill("31.02.1988");
    await fields.nth(2).fill("2.5");
    await p.press("Control+Enter");
    await p.has("“31.02.1988” is not a date. Example: 1988-02-28", "#question");
    await p.has("2 fields do not fit. Nothing was sent.", "#bar");
    await p.shot("form");
    await fields.nth(1).fill("1988-02-28");
    await fields.nth(2).fill("2");
    await p.page.locator("#question .form select").selectOption("true");
    await p.press("Control+Enter");
    await p.pass(5100);
    for (const [asked, want] of [[words, "Paid in full"], [pick, "rotterdam"], [form, { name: "Ana Ruiz", birth: "1988-02-28", bags: 2, window: true }]]) {
      await w.until("the answer", async () => (await w.answers(asked.thread)).length);
      assert.deepEqual((await w.answers(asked.thread))[0].payload, want);
    }
  },

  // Z takes it back, and nothing was sent. Of four that wait the first is sent.
  async undo(w) {
    const asked = [];
    for (let n = 0; n < 5; n++) asked.push(await w.tool(`tool_${n}`, { n }));
    const p = await w.person("maria.okafor", { settings: { wait: 20 } }); // a slow machine takes seconds for what comes
    await p.open("tool_0");
    await p.press("a");
    await p.has("Run tool_1", "#question h2");
    await p.press("z");
    await p.has("Run tool_0", "#question h2");
    assert.equal(await p.page.locator(".strip").count(), 0);
    for (let n = 0; n < 4; n++) {
      await p.has(`Run tool_${n}`, "#question h2");
      await p.alive();
      await p.press("a");
    }
    await w.until("the first is sent", async () => (await w.answers(asked[0].thread)).length);
    await w.until("three wait", async () => (await p.page.locator(".strip").count()) === 3);
    // The time stands still while somebody is at the strip.
    await p.page.locator(".strip button").first().focus();
    await p.pass(23_000);
    await p.has("waits while you are here", "#strips");
    await p.page.locator(".strip button", { hasText: "Undo" }).first().click();
    for (const one of [asked[1], asked[4]]) assert.deepEqual(await w.answers(one.thread), []);
  },

  // Who wants to be asked in place of the wait is asked; who wants longer has longer; and what
  // expires soon does not wait at all.
  async "how a decision is sent"(w) {
    const asked = await w.tool("refund", { amount: 1 });
    const ask = await w.person("maria.okafor", { settings: { wait: "ask", next: false } });
    await ask.open("refund");
    await ask.press("a");
    await ask.has("Approve it? It is sent at once.", "#bar");
    await ask.judged("asked first");
    await ask.press("Escape");
    assert.equal(await ask.page.locator("#sure").count(), 0);
    await ask.alive();
    const now = () => ask.page.evaluate(() => performance.now());
    const began = await now();
    await ask.click("no");
    await ask.has("Deny it? It is sent at once.", "#bar");
    await ask.click("sure");
    if (await now() - began < 1000) assert.equal(await ask.page.locator("#sure").count(), 1, "at once it does nothing");
    if (await ask.page.locator("#sure").count()) { // a slow machine was not at once
      await ask.alive();
      await ask.click("sure");
    }
    await w.until("the answer", async () => (await w.answers(asked.thread)).length);
    assert.deepEqual((await w.answers(asked.thread))[0].payload, { approved: false });

    const slow = await w.tool("slow_refund", { amount: 2 }), soon = await w.tool("soon_refund", { amount: 3 }, { expiresAt: new Date(Date.now() + 29_000).toISOString() });
    const p = await w.person("jonas.lind", { settings: { wait: 20, next: false } });
    await p.open("soon_refund");
    await p.press("a");
    await w.until("the answer", async () => (await w.answers(soon.thread)).length);
    await p.open("slow_refund");
    await p.press("a");
    await p.has("Approving slow_refund · sent in 20 s", "#strips");
    await p.pass(18_000);
    assert.deepEqual(await w.answers(slow.thread), []);
    await p.pass(2_500);
    await w.until("the answer", async () => (await w.answers(slow.thread)).length);
  },

  // Two questions of one pause are answered one by one; the agent goes on with the second.
  async "two questions of one pause"(w) {
    const { thread } = await w.ask({
      calls: [{ id: "c1", name: "create_tag", args: '{"tag":"v2.4.0"}' }, { id: "c2", name: "publish_package", args: '{"version":"2.4.0"}' }],
      interrupts: [{ id: "i1", reason: "tool_call", toolCallId: "c1", responseSchema: approval }, { id: "i2", reason: "tool_call", toolCallId: "c2", responseSchema: approval }],
    }, { requester: "maria.okafor" });
    await w.tool("other", { n: 1 });
    const p = await w.person("maria.okafor", { settings: { wait: 5 } });
    await p.sees(3);
    assert.deepEqual((await p.rows()).map((r) => r.text.includes("you asked")), [true, true, false]);
    await p.open("create_tag");
    await p.has("question 1 of 2 in this pause", "#question");
    await p.has("This pause asks two things. The agent goes on when both are answered.", "#question");
    await p.has("1 of 2 in this pause", "#list");
    await p.press("a");
    await p.has("Run publish_package", "#question h2");
    await p.pass(5100);
    await w.until("the first decision", async () => (await w.approvals(`?thread=${thread}`))[0].questions[0].decision);
    assert.deepEqual(await w.answers(thread), []);
    await p.alive();
    await p.press("a");
    await p.pass(5100);
    await w.until("the answers", async () => (await w.answers(thread)).length === 2);
  },

  // What was decided lately on the same tool stands beside the question: what is as always, and
  // what is not.
  async "earlier decisions"(w) {
    const amounts = ["89.00", "24.90", "120.00", "12.00"];
    for (const amount of amounts) {
      const { thread } = await w.tool("refund", `{"order":"SO-${amount}","amount":${amount},"currency":"EUR","to":"original payment method"}`);
      assert.equal((await w.decide(thread, { decision: "approve" })).status, 200);
    }
    const { thread } = await w.tool("refund", '{"order":"SO-9","amount":640.00,"currency":"EUR","to":"original payment method"}');
    await w.decide(thread, { decision: "deny", comment: "no invoice" });
    await w.until("they have ended", async () => (await w.approvals("?state=ended")).length === 5);
    await w.tool("refund", '{"order":"SO-48213","amount":1200,"currency":"EUR","to":"original payment method","reason":"damaged in transit"}', { message: "Customer reports a damaged lamp." });
    const p = await w.person();
    await p.has("unusual amount", "#list");
    await p.open("SO-48213");
    await p.has("4 approved lately in EUR: 12.00 to 120.00", "#question");
    await p.has("10 times the largest of them", "#question");
    await p.has("EUR as lately", "#question");
    await p.has("original payment method as lately", "#question");
    await p.has("Earlier decisions refund by billing-eu", "#question");
    assert.equal(await p.page.locator("#question tbody tr").count(), 5);
    await p.has("“no invoice”", "#question table");
    await p.has("640.00 EUR", "#question table");
    await p.judged("earlier decisions");
    await p.shot("earlier", true);
    // Amounts of another currency are no measure.
    await w.tool("refund", '{"order":"SO-48214","amount":1200,"currency":"JPY"}');
    await w.until("the row", async () => { await p.poll(); return (await p.text("#list")).includes("1 new question"); });
    await p.page.getByRole("button", { name: "1 new question" }).click();
    await p.has("unusual currency", "#list");
    await p.open("SO-48214");
    await p.has("lately not in JPY, but in EUR", "#question");
    await p.has("lately always EUR", "#question");
    assert.ok(!(await p.text()).includes("times the largest"));
    await p.page.goto(`${w.stage.desk}/#/decided`);
    await w.until("what has ended", async () => { await p.poll(); return (await p.rows()).length === 5; });
    const rows = (await p.rows()).map((r) => r.text).join("\n");
    assert.match(rows, /denied by jonas\.lind/);
    assert.match(rows, /approved by jonas\.lind/);
    await p.judged("decided");
    await p.page.locator("a.row", { hasText: "denied" }).click();
    await p.has("jonas.lind denied this", "#question .notice");
    await p.judged("one that was decided");
    await p.shot("decided");
  },

  // Where the agent takes one, a denial can have a reason for it. Nobody is told without being
  // asked to.
  async "a reason for the agent"(w) {
    const told = await w.tool("refund", { amount: 1 }, { schema: withReason }), untold = await w.tool("refund_more", { amount: 2 }, { schema: withReason });
    const p = await w.person();
    await p.open("refund");
    await p.press("d");
    await p.page.keyboard.type("No invoice yet.");
    await p.page.getByLabel("Tell the agent as well").check();
    await p.judged("a denial with a reason");
    await p.page.locator("#comment").focus();
    await p.press("Enter");
    await p.has("Run refund_more", "#question h2");
    await p.alive();
    await p.press("d");
    await p.page.keyboard.type("Between us.");
    await p.press("Enter");
    await p.pass(5100);
    await w.until("both answers", async () => (await w.answers(told.thread)).length && (await w.answers(untold.thread)).length);
    assert.deepEqual((await w.answers(told.thread))[0].payload, { approved: false, reason: "No invoice yet." });
    assert.deepEqual((await w.answers(untold.thread))[0].payload, { approved: false });
  },
};
