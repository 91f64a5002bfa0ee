package agentframework

import "testing"

func TestTakes(t *testing.T) {
	decision := `{"messages":[{"role":"tool","tool_call_id":"c","content":"{\"accepted\":false}"}]}`
	for _, c := range []struct {
		object, spoken string
		taken          bool
	}{
		{`{"messages":[]}`, Name, true},
		{`{"Messages":[]}`, Name, true},
		{`{"mess\u0061ges":[]}`, Name, true},
		{`{"state":{"messages":[]}}`, Name, false},
		{`{}`, Name, false},
		{decision, Name, true},
		{decision, "", true},
		{`{"messages":[{"role":"user","content":"{\"accepted\":true}"}]}`, "", false},
		{`{"messages":[{"role":"TOOL","result":{"accepted":true}}]}`, "", true},
		{`{"messages":[{"role":"tool","content":"[{\"accepted\":true}]"},7]}`, "", false},
		{`{"messages":{"role":"tool","content":"{\"accepted\":true}"}}`, "", true},
		{`{"messages":[{"role":"user","content":"accepted"}]}`, "", false},
	} {
		if why := newDialect(t).Takes([]byte(c.object), c.spoken); (why != "") != c.taken {
			t.Errorf("%s on a route of %q: %q", c.object, c.spoken, why)
		}
	}
}
