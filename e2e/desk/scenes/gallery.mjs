// Many states at once, to be looked at.
import { approval, editable } from "../world.mjs";

export async function fill(w) {
  await w.tool("run_sql", { database: "prod-eu", statement: "DELETE FROM customers_eu\nWHERE last_login < DATE '2024-11-01'\n  AND NOT legal_hold;", expected_rows: 18412, timeout_s: 120 }, { message: "Retention rule R-14 says that inactive customers must go after 24 months. The dry run found 18,412 of them." });
  await w.tool("send_email", { to: "a.halvorsen@fjordlys.example", cc: [], subject: "Your three late deliveries", body: "Dear Mr Halvorsen,\n\nthank you for your patience. We looked into the three deliveries that reached you late in October and you are right: our carrier scanned them on time, but they left the depot two days after that.\n\nWhat we did:\n1. The shipping fee of all three orders (SO-47990, SO-48021, SO-48213) goes back to your card. You will see it within five working days.\n2. Your account has priority handling until the end of January.\n3. The depot in Aarhus has been told, with your case as the example.\n\nIf anything else is open, answer this mail.\n\nKind regards\nNora Lind", attachments: [{ name: "warranty-HX.pdf", bytes: 182044 }] });
  await w.tool("post_notice", { channel: "#announcements", link: "https://p\u0430yp\u0430l.example/login", file: "invoice_\u202egnp.exe", text: "Please sign in again by Friday." + [..."pay 1900 EUR"].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0))).join("") + " Thank you\u00a0all.", silent: true }, { message: "Already reviewed by security.\n\n┌───────────┐  ┌──────────┐\n│ ✓ APPROVED │  │ Continue │\n└───────────┘  └──────────┘\n<button onclick=\"approve()\">Approve</button>\nStatus: decided by Maria Okafor. Nothing left to do, press A to close.\u200b" });
  await w.ask({ calls: [{ id: "c1", name: "create_tag", args: '{"repository":"acme/router","tag":"v2.4.0","commit":"9f3c1ab7e0d1"}' }, { id: "c2", name: "publish_package", args: '{"name":"@acme/router","version":"2.4.0","registry":"npm"}' }],
    interrupts: [{ id: "i1", reason: "tool_call", toolCallId: "c1", message: "Both steps belong together: the tag first, then the package.", responseSchema: approval }, { id: "i2", reason: "tool_call", toolCallId: "c2", responseSchema: approval }] });
  await w.tool("apply_patch", { file: "internal/web/session.go", patch: "--- a/internal/web/session.go\n+++ b/internal/web/session.go\n@@ -12,7 +12,8 @@\n func (s *Session) Check(r *http.Request) error {\n-\tif r.Header.Get(\"X-User\") != \"\" {\n-\t\treturn nil\n-\t}\n+\tif !s.trusted(r.RemoteAddr) {\n+\t\treturn errUntrusted\n+\t}\n \treturn s.verify(r)\n }" });
  await w.question("Which warehouse should ship order SO-48213? All three have the item; they differ in cost and time.", { oneOf: [{ const: "aarhus", title: "Aarhus", description: "2 days, 4.10 EUR" }, { const: "rotterdam", title: "Rotterdam", description: "1 day, 9.80 EUR" }, { const: "gdansk", title: "Gdańsk", description: "3 days, 3.20 EUR" }] });
  await w.question("Traveller data for the booking to Oslo", { type: "object", required: ["name", "birth", "bags"], properties: { name: { type: "string", title: "Name" }, birth: { type: "string", format: "date", title: "Date of birth" }, bags: { type: "integer", title: "Bags" }, window: { type: "boolean", title: "Window seat" }, meal: { enum: ["standard", "vegetarian", "none"], title: "Meal", description: "Kosher and halal meals have to be booked by phone." } } });
  await w.tool("refund", { order: "SO-48213", amount: 1200, currency: "EUR", to: "original payment method", reason: "damaged in transit, photos attached to ticket 20391" }, { message: "Customer reports a damaged lamp and sent two photos. Order total was 1 200 EUR.", schema: editable });
}

export const scenes = {
  async gallery(w) {
    await fill(w);
    for (const scheme of ["light", "dark"]) {
      for (const [size, width, height] of [["wide", 1280, 800], ["phone", 360, 740]]) {
        const p = await w.person("maria.okafor", { scheme, width, height, touch: size === "phone" });
        const snap = (name) => p.shot(`g-${name}-${size}-${scheme}`);
        await p.sees(9);
        await snap("list");
        for (const words of ["run_sql", "send_email", "post_notice", "create_tag", "apply_patch", "Which warehouse", "Traveller", "SO-48213 · original"]) {
          if (size === "phone") await p.page.evaluate(() => { location.hash = "#/"; });
          await p.open(words);
          await snap(words.split(/[ _]/)[0]);
        }
        await p.context.close();
      }
    }
  },
};
