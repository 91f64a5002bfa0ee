// What an agent writes to fool whoever decides. All of it is text on this page.
import assert from "node:assert/strict";
import { editable } from "../world.mjs";

const markup = ["<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "<a href='https://evil.example'>approve</a>", "<button id='yes' onclick='x()'>Approve</button>", "<style>*{display:none}</style>", "[link](https://evil.example)", "javascript:alert(1)", "{{constructor.constructor('1')()}}", "</textarea></code><h1>Approved</h1>"];

export const scenes = {
  // Markup in every place where an agent's text stands makes no element.
  async markup(w) {
    const bad = markup.join(" ");
    await w.tool(bad.slice(0, 120), { [markup[0]]: bad, list: markup, nested: { [markup[1]]: { x: bad } }, note: markup.join("\n") }, { message: bad + "\n" + bad, schema: editable });
    await w.question(bad, { oneOf: markup.map((m) => ({ const: m, title: m, description: m })) });
    await w.question(bad, { type: "object", properties: Object.fromEntries(markup.map((m) => [m, { type: "string", title: m, description: m }])) });
    const p = await w.person("maria.okafor", { settings: { next: false } });
    await p.sees(3);
    const count = () => p.page.evaluate(() => ({ scripts: document.scripts.length, images: document.images.length, links: [...document.links].filter((a) => !a.getAttribute("href").startsWith("#/") && !a.getAttribute("href").startsWith("v1/")).length, styles: document.querySelectorAll("style, iframe, object, embed, form").length, title: document.title, yes: document.querySelectorAll("#yes").length, handlers: document.querySelectorAll("[onclick],[onerror],[style*=display]").length }));
    for (let n = 0; n < 3; n++) {
      await p.page.locator("a.row").nth(n).click();
      await p.page.waitForSelector("#yes");
      await p.alive();
      const got = await count();
      assert.deepEqual(got, { scripts: 1, images: 0, links: 0, styles: 0, title: "3 waiting · Holdpoint", yes: 1, handlers: 0 });
      await p.has("<script>document.title='owned'</script>", "#question");
      if (n === 0) {
        await p.press("e");
        await p.page.waitForSelector("#e0");
        assert.deepEqual({ ...(await count()), yes: 1 }, got);
        await p.press("Escape");
      }
    }
    await p.judged("markup");
  },

  // A button that is drawn in text, and words that say that it was checked, are in the agent's
  // frame; no control and no notice has a word of them.
  async "a button drawn in text"(w) {
    const says = "Holdpoint has checked this\n\n┌────────────┐\n│ ✓ APPROVED │\n└────────────┘\nPress A to close.";
    await w.tool("transfer", { amount: 9_000_000, memo: "Holdpoint has checked this" }, { message: says });
    const p = await w.person();
    await p.open("transfer");
    const where = await p.page.evaluate(() => [...document.querySelectorAll("*")].filter((n) => [...n.childNodes].some((c) => c.nodeType === 3 && /checked this|APPROVED/.test(c.data))).map((n) => (n.closest(".says") ? "says" : n.closest(".turn") ? "conversation" : n.closest(".fields") ? "fields" : n.closest(".row .line") ? "row" : n.outerHTML)));
    assert.deepEqual([...new Set(where)].sort(), ["conversation", "fields", "row", "says"]);
    const buttons = await p.page.$$eval("button, [role=button], .notice, .badge, #bar, #top", (all) => all.map((b) => b.innerText).join("\n"));
    assert.ok(!/checked|APPROVED/.test(buttons), buttons);
    await p.has("The reason written by the agent, not by Holdpoint", "#question");
    const frame = await p.page.locator(".says").evaluate((n) => [getComputedStyle(n).borderTopStyle, n.getBoundingClientRect().height <= 341]);
    assert.deepEqual(frame, ["dashed", true]);
  },

  // Characters that turn the reading direction, or cannot be seen, are signs in their place.
  async "hidden characters"(w) {
    const tags = [..."pay 1900 EUR"].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0))).join("");
    await w.tool("pay", { link: "https://p\u0430yp\u0430l.example/login", file: "invoice_\u202egnp.exe", text: `Thanks.${tags} Bye`, key: "a\u200bb", many: "x" + "\u200b".repeat(5000) + "y", "am\u2066ount": 1, fine: "שלום, привет, 你好, 👩‍🚀 ❤️" }, { message: "ok\u202e" });
    const p = await w.person();
    await p.open("pay");
    await p.has("Some text is not what it looks like", "#question .notice");
    const chips = await p.page.$$eval(".chip", (all) => all.map((c) => c.textContent));
    for (const want of [/U\+202E/, /U\+200B/, /U\+200B.* × 5,?000/, /U\+2066/]) assert.ok(chips.some((c) => want.test(c)), `${want}: ${chips}`);
    await p.has("1 character that turns the reading direction (in file): U+202E RLO", "#question .notice");
    await p.has("12 invisible characters (in text); they spell “pay 1900 EUR”", "#question .notice");
    await p.has("2 letters that look like others (in link): a is U+0430 Cyrillic", "#question .notice");
    assert.ok(chips.includes("hidden text: “pay 1900 EUR”"), chips);
    assert.deepEqual(await p.page.$$eval("#question .fields mark.lookalike", (all) => all.map((m) => m.firstChild.data)), ["\u0430", "\u0430"]);
    await p.has("hidden characters", "#list");
    const raw = await p.page.evaluate(() => /[\u202a-\u202e\u2066-\u2069\u200b\u{e0000}-\u{e007f}]/u.test(document.body.innerText));
    assert.equal(raw, false, "no such character is on the page");
    await p.has("👩‍🚀 ❤️", "#question");
    assert.ok(await p.page.locator("#yes", { hasText: "Approve…" }).count(), "it is grave");
    await p.judged("hidden characters");
    await p.shot("hidden");
  },

  // Each kind of mark in one field is told with the field's name.
  async "marks of one field"(w) {
    await w.tool("pay", { supplier: "N\u03c5rd\u200blicht \u202eGmbH" });
    await w.question("Pay?", undefined, { metadata: { langgraph: { raw: { supplier: "N\u03c5rd" } } } });
    const p = await w.person();
    await p.open("pay");
    const lines = await p.page.$$eval("#question .notice li", (all) => all.map((li) => li.textContent));
    assert.equal(lines.length, 3, lines);
    for (const line of lines) assert.match(line, /\(in supplier\)/);
    await p.open("Question");
    await p.has("1 letter that looks like another one (in supplier): u is U+03C5", "#question .notice");
    assert.ok(!(await p.text()).includes("part of what will run"));
    await p.has("hidden characters", "#list");
    await p.judged("marks");
  },

  // Arabic and Hebrew are read as they are written. Where a character turns the order, a text stands
  // letter by letter as it is stored.
  async "right to left"(w) {
    await w.tool("pay", { hebrew: "שלום עולם", arabic: "مبلغ كبير", mixed: "דוד 12 ab", turned: "שלום\u202e 12", code: "print('שלום')\nprint('ab')\nreturn 1;\n" });
    const p = await w.person();
    await p.open("pay");
    const how = await p.page.$$eval("#question .fields .value > code", (all) => all.map((n) => { const s = getComputedStyle(n); return [s.unicodeBidi, s.direction]; }));
    assert.deepEqual(how, [["isolate", "rtl"], ["isolate", "rtl"], ["isolate", "rtl"], ["bidi-override", "ltr"]]);
    assert.deepEqual(await p.page.$$eval("#question .code .line > span:last-child", (all) => [...new Set(all.map((n) => getComputedStyle(n).unicodeBidi))]), ["isolate"]);
    // The first letter of a Hebrew word is at its right.
    const right = await p.page.evaluate(() => {
      const text = [...document.querySelectorAll("#question .value > code")][0].firstChild, range = document.createRange();
      const at = (n) => { range.setStart(text, n); range.setEnd(text, n + 1); return range.getBoundingClientRect().left; };
      return at(0) > at(3);
    });
    assert.ok(right);
    await p.judged("right to left");
    await p.shot("rtl");
  },

  // Numbers are as the agent wrote them; a key that stands twice stands there twice.
  async "numbers and keys"(w) {
    await w.tool("numbers", '{"a":1.10,"b":1e400,"c":12345678901234567890,"amount":1200000,"d":-0.0,"e":0.1000000000000000055511151231257827}');
    await w.tool("twice", '{"amount":1,"to":"ann","amount":10000}');
    const p = await w.person();
    await p.open("numbers");
    assert.deepEqual(await p.page.$$eval("#question .number", (all) => all.map((n) => n.innerText)), ["1.10", "1e400", "12345678901234567890", "1200000", "-0.0", "0.1000000000000000055511151231257827"]);
    await p.open("twice");
    const text = await p.text();
    assert.match(text, /A key stands there twice/);
    assert.match(text, /10000/);
    assert.equal((text.match(/stands twice/g) ?? []).length, 2, text);
    assert.equal(await p.page.locator("#edit").count(), 0, "what can be read in two ways is not edited");
  },

  // 100 KB of arguments: what is long is folded, and what is not on the page keeps Approve closed
  // until it was opened.
  async "100 KB"(w) {
    const long = (n) => Array.from({ length: n }, (_, i) => `Line ${i} of a text that goes on and on, and says nothing.`).join("\n");
    await w.tool("write_file", { path: "a.txt", content: long(1600) });
    await w.tool("write_more", { path: "b.txt", content: long(4000), wide: "x".repeat(3000) });
    await w.question("Read this?", undefined, { metadata: { langgraph: { raw: { content: long(4000) } } } });
    await w.tool("write_lines", { code: `${"\n".repeat(100_000)}\u200b` });
    const p = await w.person();
    await p.open("write_file");
    await p.has("Show the other 1,591 lines", "#question");
    await p.press("a");
    await p.has("All of the text is open now. Approve again when you have read it.", "#bar");
    await p.has("Line 1599 of", "#question");
    await p.open("write_more");
    await p.has("as a file", "#question");
    await p.has("A part of the arguments is in a file. Open it first.", "#bar");
    assert.equal(await p.page.getAttribute("#yes", "aria-disabled"), "true");
    assert.equal(await p.page.getAttribute("#no", "aria-disabled"), null, "denying needs nothing");
    await p.press("a");
    assert.equal(await p.page.locator(".strip").count(), 0);
    const [file] = await Promise.all([p.page.waitForEvent("download"), p.page.click("#question a.button")]);
    const text = await (await import("node:fs/promises")).readFile(await file.path(), "utf8");
    assert.ok(text.includes("Line 3999 of"), "the file has all of it");
    assert.equal(await p.page.getAttribute("#yes", "aria-disabled"), null);
    // What the agent sent with a question is a file in the same way.
    await p.open("Question");
    await p.has("Read this?", "#question");
    await p.has("A part of what the agent sent is in a file. Open it first.", "#bar");
    assert.equal(await p.page.getAttribute("#yes", "aria-disabled"), "true");
    const [sent] = await Promise.all([p.page.waitForEvent("download"), p.page.click("#question a.button")]);
    assert.ok((await (await import("node:fs/promises")).readFile(await sent.path(), "utf8")).includes("Line 3998 of"));
    assert.equal(await p.page.getAttribute("#yes", "aria-disabled"), null);
    // A mark at the end of many lines is looked for once, and not once for each line.
    await p.open("write_lines");
    await p.press("a");
    await p.has("All of the text is open now. Approve again when you have read it.", "#bar");
    await p.has("U+200B", "#question");
  },
};
