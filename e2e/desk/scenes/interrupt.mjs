// What an agent sends with a question: it is laid out as the agent's words, and an answer is seen
// before it is sent.
import assert from "node:assert/strict";
import { approval } from "../world.mjs";

const payment = { action: "pay", args: { supplier: "Nordlicht GmbH", iban: "DE02120300000000202051", amount: 1250.5, currency: "EUR" } };
const inboxSchema = { type: "object", properties: { approved: { type: "boolean" }, editedArgs: { type: "object" }, message: { type: "string" } }, required: ["approved"] };

// frame is the text of the frame around the agent's words.
const frame = (p) => p.text("#question .says.open");

export const scenes = {
  // The value of interrupt() stands in the frame, field by field. A typed yes is a text; JSON is JSON.
  async "what interrupt() asks"(w) {
    const plain = await w.question(undefined, undefined, { metadata: { langgraph: { raw: payment } } });
    const words = await w.question("Pay the supplier?", undefined, { metadata: { langgraph: { raw: { message: "Pay the supplier?", ...payment } } } });
    await w.question();
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.open("1250.5 EUR · pay · Nordlicht GmbH");
    await p.has("What the agent says with it written by the agent, not by Holdpoint", "#question");
    for (const text of ["action", "pay", "supplier", "Nordlicht GmbH", "DE02120300000000202051", "1250.5 EUR"]) assert.ok((await frame(p)).includes(text), `${text}: ${await frame(p)}`);
    assert.equal(await p.page.locator("#question .says.open").evaluate((n) => getComputedStyle(n).borderTopStyle), "dashed");
    assert.ok(!/wrote nothing|does not know what runs/.test(await p.text()));
    await p.has("What the agent gets stands here before it is sent.", "#question .sends");
    await p.judged("a value of interrupt()");
    await p.shot("interrupt", true);

    // As JSON: what is wrong is said, and nothing is sent.
    await p.page.getByLabel("As JSON").check();
    await p.page.fill("#answer", "yes");
    await p.press("Control+Enter");
    await p.has('This is not JSON (line 1, character 1). A text stands in double quotes: "yes"', "#question");
    await p.page.fill("#answer", '{"approved": true,\n "note": 01}');
    await p.press("Control+Enter");
    await p.has("This is not JSON (line 2, character 11).", "#question");
    await p.page.fill("#answer", '{"approved":true,"approved":false}');
    await p.press("Control+Enter");
    await p.has("The key “approved” stands there twice", "#question");
    await p.page.fill("#answer", '{"approved": [true');
    await p.press("Control+Enter");
    await p.has("This is not JSON (it ends too early).", "#question");
    assert.equal(await p.page.locator(".strip").count(), 0);
    await p.has("What the agent gets stands here before it is sent.", "#question .sends");
    await p.page.fill("#answer", '{"approved":true,"amount":1250.50}');
    await p.has('The agent gets this object, exactly: {"approved":true,"amount":1250.50}', "#question .sends");
    await p.judged("an answer as JSON");
    await p.press("Control+Enter");
    await p.has("Answering question", "#strips");

    // As text: it is shown that a yes is the text yes.
    await p.open("Pay the supplier?");
    await p.has("Pay the supplier?", "#question .says:not(.open)");
    assert.ok(!(await frame(p)).includes("Pay the supplier?"), "the message is not said twice");
    assert.ok(await p.page.getByLabel("As text").isChecked());
    await p.page.fill("#answer", "true");
    await p.has("It is sent as a text, with quotes around it.", "#question .sends");
    await p.page.fill("#answer", "yes");
    await p.has('The agent gets this text, exactly: "yes"', "#question .sends");
    assert.ok(!(await p.text("#question .sends")).includes("quotes around it"));
    await p.press("Control+Enter");
    await p.pass(5100);
    await w.until("both answers", async () => (await w.answers(plain.thread)).length && (await w.answers(words.thread)).length);
    assert.ok((await (await fetch(`${w.stage.fake}/answers`)).text()).includes('"payload":{"approved":true,"amount":1250.50}'));
    assert.equal((await w.answers(words.thread))[0].payload, "yes");

    // Where the agent has sent nothing, that is said.
    await p.page.evaluate(() => { location.hash = "#/"; });
    await p.page.locator("a.row:not(.gone)").last().click();
    await p.has("The agent wrote nothing with it.", "#question");
  },

  // Agent Inbox names a call: it is shown as the agent's word, can be edited, and what was sent stands
  // there afterwards.
  async "a call that the agent names"(w) {
    const { thread } = await w.question("Pay this?", inboxSchema, { metadata: { langgraph: { name: "pay", args: { amount: 12500000, currency: "JPY", to: "Kansai" }, index: 0 } } });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.open("12500000 JPY");
    await p.has("Approve or deny what the agent says", "#question h2");
    await p.has("It names pay, with:", "#question .says.open");
    await p.has("Holdpoint has not seen a call.", "#question");
    assert.ok(!(await p.text()).includes("Holdpoint does not know what runs if you approve"));
    const pairs = await p.page.$$eval("#question .says dl > div", (all) => all.map((n) => [...n.children].map((c) => `${c.tagName} ${c.textContent}`)));
    assert.deepEqual(pairs, [["DT amount", "DD 12500000 JPY"], ["DT currency", "DD JPY"], ["DT to", "DD Kansai"]]);
    await p.judged("Agent Inbox");
    await p.press("e");
    await p.page.fill("#e0", "125000");
    await p.click("review");
    await p.alive();
    await p.click("yes");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    assert.deepEqual((await w.answers(thread))[0].payload, { approved: true, editedArgs: { amount: 125000, currency: "JPY", to: "Kansai" } });
    await p.press("g");
    await p.press("d");
    await w.until("the row", async () => { await p.poll(); return (await p.rows()).length === 1; });
    const [row] = await p.rows();
    assert.match(row.text, /125000 JPY/);
    assert.ok(!row.text.includes("12500000"), row.text);
    assert.match(row.text, /approved with changes by you/);
    await p.page.locator("a.row").click();
    await p.has("You approved it with 1 change at", "#question .notice");
    assert.deepEqual(await p.page.$$eval("#question .change .line", (all) => all.map((line) => line.textContent)), ["the agent wrote: 12500000", "you send: 125000"]);
    await p.judged("decided with changes");
  },

  // What other frameworks send has its frame as well. A schema that cannot be laid out is shown as it
  // came, and a pause of very many questions says how many it has.
  async "what other frameworks send"(w) {
    await w.question("Delete a.txt?", undefined, { metadata: { mastra: { type: "mastra_suspend", runId: "r1", toolName: "delete_file", args: { path: "a.txt" }, suspendPayload: { question: "Delete a.txt?", size: 31 } } } });
    await w.question("Looks good?", { enum: ["approved", "rejected"] }, { metadata: { crewai: { flowId: "f", methodName: "ask", emit: ["approved", "rejected"], output: "The draft of the agent." } } });
    await w.question(undefined, approval, { metadata: { langgraph: { raw: payment } } });
    let deep = { type: "string" };
    for (let n = 0; n < 60; n++) deep = { type: "object", properties: { a: deep } };
    const raw = await w.question("How deep?", deep);
    await w.ask({ interrupts: Array.from({ length: 60 }, (_, n) => ({ id: `many-${n}`, reason: "input_required", message: `Part ${n}?` })) });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.open("1250.5 EUR");
    await p.has("Holdpoint has not seen a call.", "#question");
    assert.ok((await frame(p)).includes("1250.5 EUR"), "a question with a schema has the frame, too");
    assert.ok(await p.page.locator("#yes", { hasText: "Approve" }).count());
    await p.open("Delete a.txt?");
    await p.has("It names delete_file, with: path a.txt mastra.suspendPayload size 31", "#question .says.open");
    await p.open("Looks good?");
    await p.has("output The draft of the agent.", "#question .says.open");
    await p.press("1");
    await p.has('The agent gets this text, exactly: "approved"', "#question .sends");
    await p.judged("what CrewAI sends");
    await p.open("How deep?");
    await p.has("The agent says what the answer has to be, and this page cannot lay that out", "#question");
    await p.has('"properties":{"a"', "#question .says.open");
    await p.judged("a schema as it came");
    await p.page.fill("#answer", '{"a":{}}');
    await p.has('The agent gets this object, exactly: {"a":{}}', "#question .sends");
    await p.press("Control+Enter");
    await p.has("All of the text is open now. Send again when you have read it.", "#bar");
    await p.alive();
    await p.press("Control+Enter");
    await p.page.click("#strips button:has-text('Send now')");
    await w.until("the answer", async () => (await w.answers(raw.thread)).length);
    await p.has("one of 60 in this pause", "#list");
    await p.open("Part 3?");
    await p.has("question 4 of 60 in this pause", "#question");
    const phone = await w.person("jonas.lind", { width: 360, height: 740, scheme: "dark", touch: true });
    await phone.open("Delete a.txt?");
    await phone.page.fill("#answer", "no");
    await phone.has('The agent gets this text, exactly: "no"', "#question .sends");
    await phone.judged("what Mastra sends, on a phone");
    await phone.shot("interrupt-phone");
    await p.page.getByLabel("Filter by agent, tool, person, and the text of a row").fill("a.txt");
    await w.until("the filter", async () => (await p.rows()).length === 1);
  },

  // Within a second after a question has appeared at the place of another, no press counts.
  async "a second click"(w) {
    await w.tool("refund", { n: 1 });
    await w.tool("refund", { n: 2 });
    const p = await w.person("maria.okafor", { settings: { wait: 5, next: true } });
    await p.sees(2);
    await p.page.locator("a.row").first().click();
    await p.page.waitForSelector("#yes");
    await p.still();
    await p.click("yes");
    await p.has("Approving refund", "#strips");
    await p.page.waitForFunction(() => document.querySelector("#question .value")?.textContent === "2");
    await p.pass(800);
    await p.click("yes");
    assert.equal(await p.page.locator(".strip").count(), 1, "it was not read yet");
    await p.pass(300);
    await p.click("yes");
    assert.equal(await p.page.locator(".strip").count(), 2);
  },
};
