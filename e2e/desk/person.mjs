// Somebody at a browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export class Person {
  constructor(world, name, options) { Object.assign(this, { world, name, options, base: options.base ?? world.stage.desk, odd: [], requests: [], unanswered: new Set(), expect: [] }); }

  async begin() {
    const { width = 1280, height = 800, scheme = "light", clock = true, touch = false, at = "", locale = "en-GB", signIn = true, settings } = this.options;
    this.context = await this.world.browser.newContext({ viewport: { width, height }, colorScheme: scheme, hasTouch: touch, locale, timezoneId: "Europe/Berlin", reducedMotion: this.options.motion ?? "reduce", forcedColors: this.options.forced ?? "none" });
    const page = (this.page = await this.context.newPage());
    page.setDefaultTimeout(30_000);
    page.on("console", (m) => { if (["error", "warning"].includes(m.type())) this.complain(`console: ${m.text()}`); });
    page.on("pageerror", (e) => this.complain(`thrown: ${e.stack ?? e}`));
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, (r) => this.unanswered.delete(r));
    page.on("request", (r) => { this.requests.push(r); this.unanswered.add(r); if (new URL(r.url()).origin !== this.base) this.complain(`a request to ${r.url()}`); });
    if (!signIn) this.expect.push("401");
    if (settings) await page.addInitScript((s) => localStorage.setItem("holdpoint-desk", JSON.stringify(s)), settings);
    if (clock) { await page.clock.install({ time: this.options.time }); }
    await page.goto(`${this.base}/${at}`);
    if (signIn) await this.signIn();
  }

  // complain keeps what is not as it should be, but for what the scene expects.
  complain(text) { if (!this.expect.some((e) => text.includes(e))) this.odd.push(text); }

  async signIn() {
    this.expect.push("401");
    await this.page.fill("#token", this.world.stage.tokens[this.name]);
    await this.page.keyboard.press("Enter");
    await this.page.waitForFunction(() => document.getElementById("live")?.dataset.how === "live");
    this.expect.splice(this.expect.indexOf("401"), 1);
  }

  // pass lets time pass in the page, and what was due happen.
  async pass(ms) { await this.page.clock.runFor(ms); }

  // still has the page's time stand still, so that only pass moves it, on a slow machine too.
  async still() { await this.page.clock.pauseAt(new Date(await this.page.evaluate(() => Date.now()) + 2000)); }

  // step lets so much time pass, and then stands still until what the page asks for is answered: a
  // slow machine would have its time run out before.
  async step(ms) {
    await this.pass(ms);
    await this.world.until("an answer", () => this.unanswered.size === 0);
  }

  // alive is a moment in which a press counts: what is there has been there for long enough.
  async alive() { await this.pass(1050); }

  rows() { return this.page.$$eval("a.row", (all) => all.map((a) => ({ text: a.innerText.replace(/\s+/g, " "), key: a.dataset.key, top: a.getBoundingClientRect().top, gone: a.classList.contains("gone"), current: a.hasAttribute("aria-current") }))); }

  // sees waits until there are n rows that wait.
  async sees(n) {
    await this.world.until(`${n} rows`, async () => { if ((await this.rows()).filter((r) => !r.gone).length === n) return true; await this.poll(); return false; });
  }

  // poll has the page ask again now, and waits until it has.
  async poll() {
    const before = this.requests.length;
    await this.pass(3100);
    await this.world.until("a poll", () => this.requests.length > before);
    await this.page.waitForTimeout(60);
  }

  // open opens the row that has these words.
  async open(words) {
    await this.page.locator("a.row", { hasText: words }).first().click();
    await this.page.waitForSelector("#bar button");
    await this.alive();
  }

  press(key) { return this.page.keyboard.press(key); }
  click(id) { return this.page.click(`#${id}`); }
  async text(selector = "#question") { return this.page.innerText(selector); }
  async has(text, selector = "body") {
    await this.page.waitForFunction(([s, t]) => document.querySelector(s)?.innerText.replace(/\s+/g, " ").includes(t), [selector, text]).catch(async () => {
      throw new Error(`${selector} does not say ${JSON.stringify(text)}: ${(await this.text(selector)).slice(0, 3000)}`);
    });
  }

  // shot is a picture for who looks at the page while writing it, and of the documents if kept is true.
  async shot(name, kept = false) {
    const { shots, keep } = this.world.stage;
    for (const dir of [kept && shots, keep]) {
      if (!dir) continue;
      await this.page.mouse.move(0, 0);
      await this.page.screenshot({ path: `${dir}/${name}.png` });
    }
  }

  // judged ends the scene if axe-core finds anything, if a target is too small, or if the page can
  // be moved sideways.
  async judged(state) {
    // The document keeps it until it goes.
    if (!(await this.page.evaluate(() => Boolean(globalThis.axe)))) await this.page.evaluate(axe);
    const found = await this.page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
      const list = violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 200)}: ${n.failureSummary?.slice(0, 300)}`));
      const touch = innerWidth < 760;
      for (const node of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
        const box = node.getBoundingClientRect();
        if (!box.width || getComputedStyle(node).visibility === "hidden" || node.closest(".unseen")) continue;
        const label = node.closest("label")?.getBoundingClientRect();
        const height = Math.max(box.height, label?.height ?? 0), width = Math.max(box.width, label?.width ?? 0);
        const least = node.matches("#yes, #no") ? 48 : touch && !node.matches(".brand") ? 44 : 32;
        if (height < least - 0.5 || width < Math.min(least, 24) - 0.5) list.push(`too small: ${Math.round(width)} x ${Math.round(height)}, want ${least}: ${node.outerHTML.slice(0, 160)}`);
      }
      if (document.documentElement.scrollWidth > innerWidth) list.push(`sideways: ${document.documentElement.scrollWidth} > ${innerWidth}`);
      for (const box of document.querySelectorAll("#question, .rows")) if (box.scrollWidth > box.clientWidth + 1) list.push(`sideways: ${box.id || box.className}: ${box.scrollWidth} > ${box.clientWidth}`);
      return list;
    });
    assert.deepEqual(found, [], state);
  }
}
