// Keys and presses that must not decide, and what happens beside a decision.
import assert from "node:assert/strict";
import http from "node:http";

const none = async (p, what) => assert.equal(await p.page.locator(".strip").count(), 0, what);

export const scenes = {
  // A decides only with the focus in the question, pressed once, alone, and not at once.
  async "keys that do not decide"(w) {
    await w.tool("refund", { amount: 1 });
    await w.tool("refund_more", { amount: 2 });
    const p = await w.person();
    const { page } = p;
    await p.sees(2);
    await p.still();
    await page.evaluate(() => document.activeElement.blur());
    await p.press("a");
    await none(p, "A on the body");
    await page.locator("a.row").first().focus();
    await p.press("a");
    await page.waitForSelector("#yes");
    await none(p, "A in the list only opens");
    await p.pass(100);
    await p.press("a");
    await p.press("d");
    await none(p, "at 100 ms");
    assert.equal(await page.locator("#comment").count(), 0);
    await p.click("yes");
    await none(p, "a click at 100 ms");
    await p.pass(800);
    for (const key of ["Control+a", "Alt+a", "Meta+a", "Control+d"]) { await p.press(key); await none(p, key); }
    await page.locator("a.row").nth(1).focus();
    await p.press("d");
    await none(p, "D in the list");
    await page.locator("#filter").focus();
    await p.press("a");
    await none(p, "A in a field");
    await page.fill("#filter", "");
    await page.locator("#title").focus();
    await p.press("c");
    await page.keyboard.type("a d e z");
    await none(p, "letters in a comment");
    await p.press("Escape");
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await p.press("a");
    await none(p, "just after the window got the focus back");
    await p.alive();
    await page.evaluate(() => document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", isComposing: true, bubbles: true })));
    await none(p, "while composing");
    await page.evaluate(() => document.getElementById("title").dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true })));
    await none(p, "a repeat");
    // The switch of WCAG 2.1.4.
    await p.press("?");
    await page.getByLabel("Single keys work").uncheck();
    await p.press("Escape");
    await page.locator("#title").focus();
    await p.alive();
    await p.press("a");
    await none(p, "single keys are off");
    await page.evaluate(() => localStorage.clear());
  },

  // Held for three seconds, A decides one question at most.
  async "a key that is held"(w) {
    const asked = [];
    for (let n = 0; n < 4; n++) asked.push(await w.tool(`tool_${n}`, { n }));
    const p = await w.person();
    await p.open("tool_0");
    const { page } = p;
    await p.still();
    await p.alive();
    await page.keyboard.down("a");
    for (let n = 0; n < 30; n++) { await page.keyboard.down("a"); await p.pass(100); } // repeats
    await page.keyboard.up("a");
    assert.equal(await page.locator(".strip").count(), 1);
    await p.has("tool_0", "#strips");
  },

  // What is folded is shown before it is approved; what is grave is typed.
  async "folded and grave"(w) {
    const folded = await w.tool("send_email", { to: "a@example.com", body: Array.from({ length: 42 }, (_, n) => `Line ${n}`).join("\n") });
    const grave = await w.tool("post_notice", { link: "https://example.com", text: "Please sign in.\u200b\u200b Now" });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.open("send_email");
    await p.has("Show the other 33 lines", "#question");
    await p.press("a");
    await p.has("All of the text is open now. Approve again when you have read it.", "#bar");
    await p.has("Line 41", "#question");
    await p.press("a");
    await none(p, "just after it was unfolded");
    await p.alive();
    await p.press("a");
    await p.has("Approving send_email", "#strips");
    await p.page.click("#strips button:has-text('Send now')");
    await w.until("the answer", async () => (await w.answers(folded.thread)).length);

    await p.open("post_notice");
    await p.has("Some text is not what it looks like", "#question");
    await p.press("a");
    assert.equal(await p.page.evaluate(() => document.activeElement.id), "typed");
    await p.has("Type the tool's name as it stands above", "#bar");
    await p.shot("grave");
    for (const typed of ["", "post", "post_notice ", "POST_NOTICE"]) {
      await p.page.fill("#typed", typed);
      await p.press("Enter");
      await p.page.click("#yes", { force: true });
      await none(p, `typed ${typed}`);
    }
    await p.page.fill("#typed", "post_notice");
    await p.press("Enter");
    await p.has("Approving post_notice", "#strips");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(grave.thread)).length);
  },

  // Two at one question: one decides, the other is told who did, and keeps his words.
  async "two browsers at one question"(w) {
    const { thread } = await w.tool("refund", { amount: 1200 });
    const [maria, jonas] = [await w.person("maria.okafor"), await w.person("jonas.lind")];
    await maria.open("refund");
    await jonas.open("refund");
    await maria.press("c");
    await maria.page.keyboard.type("Looks fine to me");
    await maria.press("Escape");
    await maria.still(); // her page must not learn of his answer before she has given hers
    await jonas.press("d");
    await jonas.page.keyboard.type("No invoice yet.");
    await jonas.press("Enter");
    await jonas.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    maria.expect.push("409");
    await maria.press("a");
    await maria.page.click("#strips button:has-text('Send now')").catch(() => {});
    await maria.has("jonas.lind denied this", "#question .notice");
    await maria.has("No invoice yet.", "#question .notice");
    await maria.has("Your approval was not sent.", "#question .notice");
    await maria.has("Copy my comment", "#bar");
    await maria.shot("conflict");
    assert.equal((await w.answers(thread)).length, 1);
  },

  // Somebody else decides while the decision waits: it is not sent.
  async "a conflict inside the undo time"(w) {
    const { thread } = await w.tool("refund", { amount: 1200 });
    await w.tool("other", { n: 1 });
    const p = await w.person();
    await p.open("refund");
    await p.press("a");
    assert.equal((await w.decide(thread, { decision: "deny" })).status, 200);
    await w.until("it is told", async () => { await p.step(500); return (await p.text("#strips")).includes("Not sent."); });
    await p.pass(20_000);
    assert.deepEqual((await w.answers(thread)).map((a) => a.payload), [{ approved: false }]);
    const sent = p.requests.filter((r) => r.method() === "POST" && r.url().includes("/questions/"));
    assert.equal(sent.length, 0, "nothing was sent");
  },

  // The tab is closed while the decision waits: it is not sent.
  async "a tab that is closed"(w) {
    const { thread } = await w.tool("refund", { amount: 1200 });
    const p = await w.person();
    await p.open("refund");
    await p.press("a");
    await p.has("Approving refund", "#strips");
    await p.page.close({ runBeforeUnload: true });
    await p.context.close();
    await new Promise((done) => setTimeout(done, 400));
    assert.equal(p.requests.filter((r) => r.method() === "POST" && r.url().includes("/questions/")).length, 0);
    assert.deepEqual(await w.answers(thread), []);
    assert.equal((await w.approvals()).length, 1);
  },

  // Signed out while the decision waits: it is not sent, and what was typed is kept.
  async "signed out"(w) {
    const { thread } = await w.tool("refund", { amount: 1200 });
    await w.tool("other", { n: 1 });
    const p = await w.person();
    await p.open("other");
    await p.press("c");
    await p.page.keyboard.type("Half a sentence");
    await p.open("refund");
    await p.press("a");
    p.expect.push("401");
    await p.page.evaluate(() => fetch("v1/session", { method: "DELETE" }));
    await w.until("it is told", async () => { await p.step(400); return (await p.text("#strips")).includes("You were signed out before it was sent."); });
    await p.has("You were signed out", "dialog");
    await p.judged("signed out");
    await p.pass(20_000);
    assert.deepEqual(await w.answers(thread), []);
    await p.signIn();
    await p.has("Run other", "#question h2");
    await p.click("comment-button");
    assert.equal(await p.page.inputValue("#comment"), "Half a sentence");
    // Whoever signs out leaves nothing behind on the page.
    await p.click("help");
    await p.page.getByRole("button", { name: "Sign out" }).click();
    await p.page.waitForSelector("#token");
    assert.ok(!(await p.text("body")).includes("refund"));
  },

  // Somebody else signs in in another tab of the same browser while the decision waits: nothing is
  // sent in that name, and what was typed is not handed on.
  async "somebody else in the same browser"(w) {
    const { thread } = await w.tool("refund", { amount: 1200 });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    const tab = await p.context.newPage();
    const changeTo = async (name) => {
      await tab.goto(w.stage.desk);
      await tab.click("#help");
      await tab.getByRole("button", { name: "Sign out" }).click();
      await tab.fill("#token", w.stage.tokens[name]);
      await tab.press("#token", "Enter");
      await tab.waitForFunction(() => document.getElementById("live")?.dataset.how === "live");
    };
    const sent = () => p.requests.filter((r) => r.method() === "POST" && r.url().includes("/questions/"));
    await p.open("refund");
    await p.press("a");
    await p.has("Approving refund", "#strips");
    // The page does not hear of it before the decision goes.
    let hear = () => {};
    const later = new Promise((done) => { hear = done; });
    await p.page.route("**/v1/approvals**", async (route) => { if (route.request().method() === "GET") await later; await route.continue().catch(() => {}); });
    p.expect.push("412");
    await changeTo("jonas.lind");
    await p.pass(5100);
    await w.until("it is sent", () => sent().length);
    hear();
    await p.page.unroute("**/v1/approvals**");
    await p.has("Somebody else is signed in here now", "dialog");
    await p.has("Somebody else is signed in here now Nothing was sent.", "#question .notice");
    await p.judged("somebody else");
    await p.shot("another");
    assert.deepEqual(sent().map((r) => r.headers()["holdpoint-caller"]), ["maria.okafor"]);
    await p.page.getByRole("button", { name: "Start over as the person who is signed in" }).click();
    await p.has("jonas.lind", "#me");
    assert.equal(await p.page.locator(".strip").count(), 0);

    // The page finds out by itself, too, and keeps the words for whoever has typed them.
    await p.open("refund");
    await p.press("c");
    await p.page.keyboard.type("Half a sentence");
    await p.press("Escape");
    await p.alive();
    await p.press("a");
    await p.has("Approving refund", "#strips");
    await changeTo("maria.okafor");
    await w.until("it is told", async () => { await p.step(400); return (await p.text("#strips")).includes("Somebody else signed in here before it was sent."); });
    await p.pass(20_000);
    const signIn = async (name) => {
      await p.page.fill("#token", w.stage.tokens[name]);
      await p.press("Enter");
      await w.until(name, async () => { await p.pass(100); return (await p.text("#me")).includes(name) && !(await p.page.locator("dialog").count()); });
    };
    await signIn("jonas.lind");
    await p.click("comment-button");
    assert.equal(await p.page.inputValue("#comment"), "Half a sentence");
    p.expect.push("401");
    await p.page.evaluate(() => fetch("v1/session", { method: "DELETE" }));
    await p.pass(3100);
    await p.has("You were signed out", "dialog");
    await signIn("maria.okafor");
    await p.open("refund");
    await p.click("comment-button");
    assert.equal(await p.page.inputValue("#comment"), "");
    assert.equal(sent().length, 1);
    assert.deepEqual(await w.answers(thread), []);
    assert.equal((await w.approvals(`?thread=${thread}`))[0].questions[0].decision, undefined);
  },

  // A proxy in front signs people in. Its redirect to its sign-in means signed out: nothing is
  // sent, and nothing that was typed is lost.
  async "a proxy that signs people in"(w) {
    let signed = true, hits = 0;
    const provider = http.createServer((req, res) => { hits++; res.end("Sign in"); });
    await new Promise((done) => provider.listen(0, "127.0.0.1", done));
    const address = `http://127.0.0.1:${provider.address().port}/sign-in`;
    const proxy = http.createServer((req, res) => {
      if (!signed) { res.writeHead(302, { Location: address }).end(); return; }
      const up = http.request(w.stage.desk + req.url, { method: req.method, headers: { ...req.headers, "x-forwarded-email": "maria.okafor" } }, (r) => { res.writeHead(r.statusCode, r.headers); r.pipe(res); });
      req.pipe(up);
    });
    await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
    const first = await w.tool("refund", { amount: 1 }), second = await w.tool("refund_more", { amount: 2 });
    const p = await w.person("maria.okafor", { base: `http://127.0.0.1:${proxy.address().port}`, signIn: false });
    await p.sees(2);
    await p.has("maria.okafor", "#me");
    await p.open("refund");
    await p.press("a");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(first.thread)).length);
    await p.has("Run refund_more", "#question h2");
    await p.press("c");
    await p.page.keyboard.type("Half a sentence");
    await p.press("Escape");
    await p.alive();
    await p.press("a");
    await p.has("Approving refund_more", "#strips");
    p.expect.push(address); // the browser tells of it, and does not ask it
    signed = false;
    await w.until("it is told", async () => { await p.step(500); return (await p.text("#strips")).includes("You were signed out before it was sent."); });
    await p.has("The proxy in front of this page says who you are.", "dialog");
    await p.judged("signed out at the proxy");
    await p.pass(20_000);
    assert.deepEqual(await w.answers(second.thread), []);
    signed = true;
    await w.until("live again", async () => { await p.pass(1000); return (await p.text("#live")).trim() === "Live"; });
    assert.equal(await p.page.locator("dialog").count(), 0);
    await p.open("refund_more");
    await p.page.click("#comment-button");
    assert.equal(await p.page.inputValue("#comment"), "Half a sentence");
    assert.equal(hits, 0, "the page followed the redirect");
    proxy.close();
    provider.close();
  },

  // What the server does not take is not lost: the page says why, and keeps the changes.
  async "an answer that does not fit"(w) {
    const { thread } = await w.tool("refund", { order: "SO-1", amount: 1 }, { schema: { type: "object", properties: { approved: { type: "boolean" }, editedArgs: { type: "object", properties: { order: { type: "string", pattern: "^SO-" }, amount: { type: "number" } } } }, required: ["approved"] } });
    await w.tool("other", { n: 1 });
    const p = await w.person();
    await p.open("refund");
    await p.press("e");
    await p.page.fill("#e0", "XX-1");
    await p.click("review");
    await p.alive();
    p.expect.push("422");
    await p.click("yes");
    await p.pass(5100);
    await p.has("Not sent. The answer does not fit.", "#strips");
    assert.deepEqual(await w.answers(thread), []);
    await p.page.click("#strips button:has-text('Show')");
    await p.has("The answer does not fit", "#question .notice");
    await p.alive();
    await p.press("e");
    assert.equal(await p.page.inputValue("#e0"), "XX-1");
    await p.judged("does not fit");
    await p.page.fill("#e0", "SO-2");
    await p.click("review");
    await p.alive();
    await p.click("yes");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length);
    assert.deepEqual((await w.answers(thread))[0].payload, { approved: true, editedArgs: { order: "SO-2", amount: 1 } });
  },

  // The decision carries the digest of what was on screen. Another one is refused, and what is
  // different is marked. The page is shown another question at first, in its browser alone.
  async "a question that has changed"(w) {
    const { thread } = await w.tool("refund", { order: "SO-1", amount: 1200 });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    const seen = "**/v1/approvals/*";
    await p.page.route(seen, async (route) => {
      if (route.request().method() !== "GET") { await route.continue(); return; }
      const answer = await route.fetch().catch(() => null); // the route may go meanwhile, and the request with it
      const text = answer && (await answer.text());
      if (text) await route.fulfill({ contentType: "application/json", body: text.replace(/sha256:[0-9a-f]+/g, "sha256:" + "0".repeat(64)).replace('"text":"1200"', '"text":"12"') }).catch(() => {});
    });
    await p.open("refund");
    await p.has("12", "#question .number");
    await p.press("a");
    p.expect.push("412");
    await p.page.unroute(seen);
    await p.page.click("#strips button:has-text('Send now')").catch(() => {});
    await p.has("The question changed after you opened it", "#question .notice");
    await p.has("Nothing was sent. What is different is marked. Read it again.", "#question .notice");
    await p.has("amount changed", "#question .fields");
    assert.deepEqual(await w.answers(thread), []);
    await p.press("a");
    assert.equal(await p.page.locator(".strip").count(), 0, "at once it is not decided");
    await p.judged("changed");
    await p.alive();
    await p.page.mouse.move(0, 0); // away from the strip, which waits for who is at it
    await p.press("a");
    await p.pass(5100);
    await w.until("the answer", async () => (await w.answers(thread)).length === 1);
  },
};
