package kit

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// TestOrderOfMessages checks that reasoning and activity messages are removed, that results are
// moved to directly follow their calls, and that nothing else changes.
func TestOrderOfMessages(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"in order":                     {`u a:1 t:1 u`, `u a:1 t:1 u`},
		"reasoning and an activity":    {`u r v a:1 t:1`, `u a:1 t:1`},
		"words between":                {`u a:1 u t:1 a`, `u a:1 t:1 u a`},
		"reasoning and words between":  {`u a:1 r u t:1 a`, `u a:1 t:1 u a`},
		"neighbours are one turn":      {`u a:1 a:2 t:1 u t:2`, `u a:1 a:2 t:1 t:2 u`},
		"an id that stands twice":      {`a:1 t:1 u a:1 u t:1`, `a:1 t:1 u a:1 t:1 u`},
		"a result without its call":    {`u t:9 u`, `u t:9 u`},
		"a result in front of its own": {`u t:1 a:1 u`, `u t:1 a:1 u`},
	} {
		t.Run(name, func(t *testing.T) {
			var list []agui.Message
			names := map[string]string{}
			for n, word := range strings.Fields(c.list) {
				kind, id, _ := strings.Cut(word, ":")
				m := agui.ParseMessage([]byte(`{"role":"` + map[string]string{"u": "user", "a": "assistant", "t": "tool", "r": "reasoning", "v": "activity"}[kind] + `"` + map[string]string{
					"a": `,"toolCalls":[{"id":"` + id + `","function":{"name":"f","arguments":"{}"}}]`, "t": `,"toolCallId":"` + id + `"`,
				}[kind] + `,"id":"` + string(rune('a'+n)) + `"}`))
				if word == "a" {
					m = agui.ParseMessage([]byte(`{"role":"assistant","content":"x","id":"` + string(rune('a'+n)) + `"}`))
				}
				list, names[m.ID] = append(list, m), word
			}
			var got []string
			read := ResultsAfterCalls(WithoutRoles(list, "reasoning", "activity"))
			for _, m := range read {
				got = append(got, names[m.ID])
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %s", got)
			}
			if same := &read[0] == &list[0] && len(read) == len(list); same != (c.list == c.want) {
				t.Errorf("the list itself: %v", same)
			}
		})
	}
}
