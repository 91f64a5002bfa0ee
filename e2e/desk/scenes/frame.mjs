// The page as a whole: what it asks of whom, what it lets nobody do, and how it behaves among many
// questions.
import assert from "node:assert/strict";
import http from "node:http";
import { fill } from "./gallery.mjs";

export const scenes = {
  // Each line of the policy, by trying. In ordinary use nothing is refused.
  async policy(w) {
    await w.tool("refund", { amount: 1 });
    const p = await w.person("maria.okafor", { clock: false });
    await p.page.locator("a.row").first().click();
    await p.page.waitForSelector("#yes");
    assert.deepEqual(p.odd, []);
    const answer = await fetch(w.stage.desk + "/");
    assert.equal(answer.headers.get("content-security-policy"), "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'");
    const other = http.createServer((req, res) => { hits++; res.writeHead(200, { "Access-Control-Allow-Origin": "*", "Content-Type": "text/html" }).end(`<iframe src="${w.stage.desk}/"></iframe>`); });
    let hits = 0;
    await new Promise((done) => other.listen(0, "127.0.0.1", done));
    const foreign = `http://127.0.0.1:${other.address().port}`;
    p.expect.push("Content Security Policy", "Refused", "TrustedHTML", "Trusted", "violates", "trusted-types", "ERR_BLOCKED", foreign);
    const tried = await p.page.evaluate(async (foreign) => {
      const out = {}, violated = [];
      document.addEventListener("securitypolicyviolation", (e) => violated.push(e.effectiveDirective));
      const attempt = async (name, f) => { try { out[name] = (await f()) ?? "done"; } catch (e) { out[name] = e.name; } };
      // A browser tells of what it refuses a moment later.
      const told = async (directive) => { for (let n = 0; n < 500 && !violated.includes(directive); n++) await new Promise((d) => setTimeout(d, 20)); return violated.includes(directive); };
      const box = document.createElement("div");
      document.body.append(box);
      await attempt("innerHTML", () => { box.innerHTML = "<b>x</b>"; });
      await attempt("policy", () => { trustedTypes.createPolicy("mine", { createHTML: (s) => s }); });
      await attempt("eval", async () => { await new Promise((d) => setTimeout(d, 0)); globalThis.eval("1"); });
      await attempt("fetch", async () => { await fetch(foreign); });
      await attempt("inline script", async () => { const s = document.createElement("script"); try { s.textContent = "window.ran = 1"; } catch { return "refused"; } document.body.append(s); await new Promise((d) => setTimeout(d, 50)); return window.ran ? "ran" : "refused"; });
      await attempt("foreign script", async () => { const s = document.createElement("script"); try { s.src = foreign; } catch { return "refused"; } document.body.append(s); return new Promise((d) => { s.onload = () => d("ran"); s.onerror = () => d("refused"); }); });
      await attempt("foreign image", () => new Promise((d) => { const i = new Image(); i.onload = i.onerror = (e) => d(e.type === "load" ? "loaded" : "refused"); i.src = foreign; }));
      await attempt("style attribute", async () => { box.setAttribute("style", "color: rgb(1, 2, 3)"); return getComputedStyle(box).color === "rgb(1, 2, 3)" ? "styled" : "refused"; });
      await attempt("style element", async () => { const s = document.createElement("style"); s.textContent = "body { color: rgb(1, 2, 3) }"; document.head.append(s); return getComputedStyle(document.body).color === "rgb(1, 2, 3)" ? "styled" : "refused"; });
      await attempt("frame", () => new Promise((d) => { const f = document.createElement("iframe"); f.src = location.origin + "/"; document.body.append(f); setTimeout(() => d("shown"), 300); f.onload = () => { let inside = null; try { inside = f.contentDocument?.getElementById("top"); } catch { /* refused */ } d(inside ? "shown" : "refused"); }; }));
      await attempt("base", () => { const b = document.createElement("base"); b.href = foreign; document.head.append(b); const ok = document.baseURI.startsWith(foreign); b.remove(); return ok ? "moved" : "refused"; });
      await attempt("form", async () => { const f = document.createElement("form"); f.action = foreign; f.method = "post"; document.body.append(f); f.submit(); return (await told("form-action")) ? "refused" : "sent"; });
      await attempt("object", async () => { const o = document.createElement("object"); o.setAttribute("type", "image/svg+xml"); try { o.data = "page/icon.svg"; } catch { return "refused"; } document.body.append(o); await new Promise((d) => setTimeout(d, 100)); return violated.includes("object-src") ? "refused" : "shown"; });
      await attempt("textContent", () => { box.textContent = "<b>x</b>"; return box.children.length === 0 ? "text" : "markup"; });
      await attempt("element.style", () => { box.style.color = "rgb(4, 5, 6)"; return getComputedStyle(box).color === "rgb(4, 5, 6)" ? "styled" : "refused"; });
      return { out, violated: [...new Set(violated)] };
    }, foreign);
    assert.deepEqual(tried.out, { "innerHTML": "TypeError", policy: "TypeError", eval: "EvalError", fetch: "TypeError", "inline script": "refused", "foreign script": "refused", "foreign image": "refused", "style attribute": "refused", "style element": "refused", frame: "refused", base: "refused", form: "refused", object: "refused", textContent: "text", "element.style": "styled" });
    for (const line of ["require-trusted-types-for", "trusted-types", "connect-src", "img-src", "style-src-attr", "style-src-elem", "base-uri", "form-action"]) assert.ok(tried.violated.includes(line), `${line}: ${tried.violated}`);
    assert.equal(hits, 0, "another origin was asked");
    // And a frame of another origin around the page.
    const thief = await p.context.newPage();
    await thief.goto(foreign);
    await thief.waitForTimeout(200);
    assert.ok(thief.frames().length < 2 || !(await thief.frames()[1].content().catch(() => "")).includes('id="top"'), "it is shown in a frame");
    other.close();
  },

  // Forced colours take backgrounds away. What they said is said by lines, in either scheme, and
  // axe-core finds nothing.
  async "forced colours"(w) {
    await fill(w);
    for (const scheme of ["light", "dark"]) {
      const p = await w.person("maria.okafor", { scheme, forced: "active", settings: { next: false } });
      await p.sees(9);
      // Each of these has a line around it, or on one side, that can be told from what is behind it.
      const lined = async (...selectors) => {
        for (const selector of selectors) {
          const lines = await p.page.$$eval(selector, (all) => all.map((node) => {
            const s = getComputedStyle(node), canvas = getComputedStyle(document.body).backgroundColor;
            return ["Top", "Right", "Bottom", "Left"].filter((side) => parseFloat(s[`border${side}Width`]) >= 1 && s[`border${side}Style`] !== "none" && s[`border${side}Color`] !== canvas && !/^rgba\(.*, 0\)$/.test(s[`border${side}Color`])).length;
          }));
          assert.ok(lines.length > 0, `${scheme}: no ${selector}`);
          assert.ok(lines.every((n) => n > 0), `${scheme}: ${selector} has no line: ${lines}`);
        }
      };
      await p.open("post_notice");
      await p.shot(`forced-${scheme}-hidden`);
      await lined(".row[aria-current]", ".tab[aria-current]", ".badge", ".dot", ".chip", ".notice", ".says", "#yes", "#no", ".fields");
      // The open row is told from the others.
      assert.notEqual(...(await p.page.evaluate(() => [".row[aria-current]", ".row:not([aria-current])"].map((s) => { const c = getComputedStyle(document.querySelector(s)); return `${c.borderLeftColor} ${c.outlineStyle}`; }))));
      await p.judged(`${scheme}: hidden characters`);
      await p.press("a");
      await p.page.waitForSelector("#typed");
      await lined("#typed", "#yes[aria-disabled]");
      await p.judged(`${scheme}: grave`);
      await p.press("Escape");
      await p.open("apply_patch");
      await lined(".plus", ".minus");
      await p.judged(`${scheme}: a diff`);
      await p.open("Which warehouse");
      await p.press("2");
      await p.judged(`${scheme}: a choice`);
      await p.open("original payment");
      await p.press("e");
      await p.page.fill("#e1", "6oo");
      await p.judged(`${scheme}: edit`);
      assert.equal(await p.page.$eval("#e1", (e) => parseFloat(getComputedStyle(e).borderTopWidth) >= 2), true, "what does not fit has a thicker line");
      await p.page.fill("#e1", "600");
      await p.click("review");
      await lined(".change .plus", ".change .minus");
      await p.alive();
      await p.press("a");
      await p.page.waitForSelector(".strip");
      await lined(".strip");
      await p.shot(`forced-${scheme}-strip`);
      await p.judged(`${scheme}: a strip`);
      await p.press("z");
      await p.context.close();
    }
  },

  // Without motion there is no bar that runs; with it the bar grows shorter, and says nothing that
  // the words do not say.
  async "motion"(w) {
    await w.tool("refund", { amount: 1 });
    for (const [motion, runs] of [["reduce", false], ["no-preference", true]]) {
      const p = await w.person("maria.okafor", { motion, settings: { next: false } });
      await p.open("refund");
      await p.press("a");
      await p.has("Approving refund · sent in 5 s", "#strips");
      const width = () => p.page.$eval(".strip .time", (e) => e.getBoundingClientRect().width);
      const before = await width();
      await p.pass(2000);
      const after = await width();
      assert.ok(runs ? before > after && after > 0 : before === 0 && after === 0, `${motion}: ${before}, then ${after}`);
      const moving = await p.page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => { const s = getComputedStyle(e); return s.animationName !== "none" || s.transitionDuration.split(",").some((d) => parseFloat(d) > 0); }).length);
      assert.equal(moving > 0, runs, `${motion}: ${moving} elements move`);
      await p.press("z");
      assert.equal(await p.page.locator(".strip").count(), 0);
      await p.context.close();
    }
  },

  // Twenty questions come and go: no row has moved.
  async "rows that stay"(w) {
    const asked = [];
    for (let n = 0; n < 8; n++) asked.push(await w.tool(`first_${n}`, { n }));
    const p = await w.person();
    await p.sees(8);
    await p.open("first_3");
    const before = (await p.rows()).map((r) => [r.key, r.top]);
    const bar = await p.page.locator("#yes").boundingBox();
    for (let n = 0; n < 14; n++) await w.tool(`later_${n}`, { n });
    for (const n of [0, 2, 4, 5, 6, 7]) await w.decide(asked[n].thread, { decision: "deny" });
    await w.until("the button", async () => { await p.poll(); return (await p.text("#news")).includes("14 new questions · show"); });
    const rows = await p.rows();
    assert.deepEqual(rows.map((r) => [r.key, r.top]), before);
    assert.equal(rows.filter((r) => r.gone).length, 6);
    assert.deepEqual(await p.page.locator("#yes").boundingBox(), bar);
    await p.page.click("#news button");
    assert.equal((await p.rows()).length, 16);
  },

  // The browser's clock is an hour wrong, either way: ages and expiry are right.
  async "a wrong clock"(w) {
    const expires = new Date(Date.now() + 171_000).toISOString();
    await w.tool("deploy", { to: "production" }, { expiresAt: expires });
    for (const off of [-3_600_000, 3_600_000]) {
      const p = await w.person("maria.okafor", { time: Date.now() + off });
      await p.open("deploy");
      const text = await p.text();
      assert.match(text, /\bjust now|([0-9]|[1-5][0-9]) seconds ago|[01] min ago/);
      assert.match(text, /Expires in 2:\d\d/);
      assert.match(await p.text("#list"), /expires in 2:\d\d/);
      await p.context.close();
    }
  },

  // A thousand questions are listed, filtered and gone through.
  async "a thousand"(w) {
    for (let n = 0; n < 1000; n += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => w.tool(n + k === 700 ? "needle" : "refund", { order: `SO-${n + k}`, amount: n + k })));
    const p = await w.person();
    await p.sees(1000);
    await p.page.fill("#filter", "needle");
    await w.until("one row", async () => (await p.rows()).length === 1);
    await p.open("needle");
    await p.has("SO-700", "#question");
    await p.page.fill("#filter", "");
    assert.equal((await p.rows()).length, 1000);
    // A process that does not take the cursor of another one: the first page is shown, and that
    // there is more.
    p.expect.push("400");
    await p.page.route("**cursor=**", (r) => r.fulfill({ status: 400, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Bad Request", status: 400, code: "INVALID_PARAMETER", detail: "cursor: it is none that this API has given", now: new Date().toISOString() }) }));
    await w.until("one page", async () => { await p.poll(); await p.page.fill("#filter", "SO-"); await p.page.fill("#filter", ""); return (await p.rows()).length === 200; });
    await p.has("There is more than this page shows.", "#list");
    await p.has("Live", "#live");
  },

  // Fifty questions by the keyboard, in three keys at most each.
  async "fifty by keyboard"(w) {
    const asked = [];
    for (let n = 0; n < 50; n++) asked.push(await w.tool(`tool_${String(n).padStart(2, "0")}`, { order: n, note: n % 10 === 3 ? "long\n".repeat(30) : "short" }));
    const p = await w.person();
    await p.sees(50);
    let keys = 0;
    const press = async (...list) => { for (const key of list) { keys++; await p.press(key); } };
    await p.page.locator("#filter").focus();
    await p.press("Escape"); // to the first row
    await p.press("Enter");
    for (let n = 0; n < 50; n++) {
      await p.has(`Run tool_${String(n).padStart(2, "0")}`, "#question h2");
      await p.page.waitForSelector("#yes");
      await p.alive();
      if (n % 10 === 7) await press("d", "Enter");
      else { await press("a"); if (n % 10 === 3) { await p.alive(); await press("a"); } }
    }
    await p.pass(5100);
    await w.until("all answers", async () => Object.values(await w.answers()).flat().length === 50);
    assert.ok(keys <= 60, `${keys} keys`);
    for (let n = 0; n < 50; n++) assert.deepEqual((await w.answers(asked[n].thread)).map((a) => a.payload), [{ approved: n % 10 !== 7 }]);
  },
};
