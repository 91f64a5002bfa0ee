package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// TestStrayOnARepeatedID: two calls have the same id. The first was denied, and a yes to the second
// is on no record. Words follow, so the yes is removed, together with its call. The first call and
// its denial must stay, because the model would ask for the same call again.
func TestStrayOnARepeatedID(t *testing.T) {
	const call = `{"id":%q,"role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"delete_file","arguments":"{}"}}]}`
	for name, first := range map[string]string{"denied": `{"approved":false}`, "a result": "deleted"} {
		t.Run(name, func(t *testing.T) {
			f := callFamilies()["tool-call"]
			g := newFamilyRig(t, f, true, func(int) []string { return []string{started, finished} })
			result := fmt.Sprintf(`{"id":"m0","role":"tool","toolCallId":"c1","content":%q}`, first)
			told := g.do(talk("t", "", fmt.Sprintf(call, "a1"), result, `{"id":"u2","role":"user","content":"again"}`, fmt.Sprintf(call, "a2"), decided(f.says[0]), noWords))
			body := g.last()
			if g.called() != 1 || strings.Contains(told, "RUN_ERROR") || !gotMessage(body, "a1") || !gotMessage(body, "m0") || gotMessage(body, "a2") || gotMessage(body, "m1") {
				t.Errorf("the backend got\n%s\nThe client was told\n%s", body, told)
			}
		})
	}
}
