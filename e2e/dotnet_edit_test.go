//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

// TestDotNetEdits: an approval with other arguments, in either form, runs the call as it was edited
// at each host of .NET that runs what an answer says, once. The hosts of request_approval have no
// room for edits, so both forms are refused there, and the question stays open.
func TestDotNetEdits(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	h := ownHoldpoint(t, backends.URL, nil)
	edit := func(call, name, args string) string {
		return fmt.Sprintf(`"status":"resolved","payload":{"approved":true,"toolCall":{"callId":%q,"name":%q,"arguments":%s}}`, call, name, args)
	}
	for _, host := range askingHosts() {
		for _, form := range []string{"toolCall", "editedArgs"} {
			t.Run(fmt.Sprint(host, "/", form), func(t *testing.T) {
				ledger := scripted.NewLedger()
				c := &handChat{t: t, address: h.address + backends.add(host, ledger), thread: fresh("thread"), version: "1.0"}
				if _, told := c.says("delete a.txt", onlyTools); len(c.asked) != 1 || len(c.calls) != 1 {
					t.Fatalf("it asks otherwise: %s", told)
				}
				asked, call := c.asked, c.calls[0]
				answer := edit(call, "delete_file", `{"path":"z.txt"}`)
				if form == "editedArgs" {
					answer = `"status":"resolved","payload":{"approved":true,"editedArgs":{"path":"z.txt"}}`
				}
				for _, wrong := range []string{
					edit(call, "wipe", `{"path":"a.txt"}`), edit("other", "delete_file", `{"path":"a.txt"}`),
					strings.Replace(edit(call, "delete_file", `{"path":"z.txt"}`), `"approved":true`, `"approved":true,"editedArgs":{"path":"y.txt"}`, 1),
				} {
					if _, told := c.post(entries(asked, wrong)); !strings.Contains(told, "INVALID_PAYLOAD") {
						t.Errorf("%s: %s", wrong, told)
					}
				}
				_, told := c.run(entries(asked, answer))
				want := "z.txt"
				if host.wrapping != scripted.Plain {
					if want = "a.txt"; !strings.Contains(told, "INVALID_PAYLOAD") || len(ledger.Total()) != 0 {
						t.Fatalf("the edit: %v %s", ledger.Total(), told)
					}
					_, told = c.run(entries(asked, yesEntry))
				}
				total := ledger.Total()
				if strings.Contains(told, `"RUN_ERROR"`) || len(total) != 1 {
					t.Fatalf("it ran %v: %s", total, told)
				}
				for what, times := range total {
					if !strings.Contains(what, want) || times != 1 {
						t.Errorf("it ran %v", total)
					}
				}
			})
		}
	}
}
