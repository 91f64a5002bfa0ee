package agui

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/test/hostile"
)

func TestReadCall(t *testing.T) {
	const (
		yesNo  = `{"type":"object","properties":{"approved":{"type":"boolean"}},"additionalProperties":false}`
		edits  = `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}}}`
		asked  = `{"path":"a.txt","n":1,"big":12345678901234567890}`
		call   = `"toolCall":{"callId":"c1","name":"rm","arguments":` + asked + `}`
		edited = `"toolCall":{"callId":"c1","name":"rm","arguments":{"path":"z.txt"}}`
	)
	about := []AskedCall{{ID: "c1", Name: "rm", Args: asked}}
	with := func(args string) string {
		return `{"approved":true,"toolCall":{"callId":"c1","name":"rm","arguments":` + args + `}}`
	}
	for name, c := range map[string]struct {
		schema, payload string
		calls           []AskedCall
		// the expected payload, or "!" and a part of the reason for refusing it
		want string
	}{
		"just the call":                         {yesNo, `{"approved":true,` + call + `,"result":null}`, about, `{"approved":true}`},
		"without a schema":                      {"", `{"approved":true,` + call + `}`, about, `{"approved":true}`},
		"a no":                                  {yesNo, `{"approved":false,` + call + `}`, about, `{"approved":false}`},
		"other members stay":                    {yesNo, `{"a":[1.0],` + call + `,"result":"done","approved" : true}`, about, `{"a":[1.0],"result":"done","approved":true}`},
		"a result of null alone stays":          {yesNo, `{"approved":true,"result":null}`, about, `{"approved":true,"result":null}`},
		"numbers in another form":               {yesNo, with(`{"big":12345678901234567890,"n":1.0,"path":"\u0061.txt"}`), about, `{"approved":true}`},
		"another large number":                  {yesNo, with(`{"path":"a.txt","n":1,"big":12345678901234567891}`), about, `!other arguments`},
		"other arguments":                       {yesNo, `{"approved":true,` + edited + `}`, about, `!other arguments`},
		"other arguments without a schema":      {"", `{"approved":true,` + edited + `}`, about, `!other arguments`},
		"other arguments, and a no":             {yesNo, `{"approved":false,` + edited + `}`, about, `{"approved":false}`},
		"other arguments, offered":              {edits, `{"approved":true,` + edited + `}`, about, `{"approved":true,"editedArgs":{"path":"z.txt"}}`},
		"fewer arguments, offered":              {edits, with(`{}`), about, `{"approved":true,"editedArgs":{}}`},
		"the same edit twice":                   {edits, `{"approved":true,` + edited + `,"editedArgs":{"path":"z.txt"}}`, about, `{"approved":true,"editedArgs":{"path":"z.txt"}}`},
		"two edits":                             {edits, `{"approved":true,` + edited + `,"editedArgs":{"path":"y.txt"}}`, about, `!two different edits`},
		"two edited calls":                      {edits, `{"approved":true,` + edited + `,"tool_call":{"callId":"c1","name":"rm","arguments":{"path":"y.txt"}}}`, about, `!two different edits`},
		"the call as asked, and an edit":        {edits, `{"approved":true,` + call + `,"editedArgs":{"path":"y.txt"}}`, about, `{"approved":true,"editedArgs":{"path":"y.txt"}}`},
		"another id":                            {edits, `{"approved":true,"toolCall":{"callId":"c2","name":"rm","arguments":` + asked + `}}`, about, `!not the call`},
		"another tool":                          {edits, `{"approved":true,"toolCall":{"callId":"c1","name":"ls","arguments":` + asked + `}}`, about, `!not the call`},
		"another tool, and a no":                {edits, `{"approved":false,"toolCall":{"callId":"c1","name":"ls","arguments":` + asked + `}}`, about, `!not the call`},
		"another tool in another spelling":      {edits, `{"approved":true,"ToolCall":{"callId":"c1","Name":"ls","arguments":` + asked + `}}`, about, `!not the call`},
		"an id that is no text":                 {edits, `{"approved":true,"toolCall":{"callId":1,"name":"rm","arguments":` + asked + `}}`, about, `!not the call`},
		"without its arguments":                 {edits, `{"approved":true,"toolCall":{"callId":"c1","name":"rm"}}`, about, `!without its arguments`},
		"arguments of null":                     {edits, with(`null`), about, `!not an object`},
		"arguments in a list":                   {edits, with(`["a.txt"]`), about, `!not an object`},
		"arguments that stand twice":            {yesNo, `{"approved":true,"toolCall":{"callId":"c1","name":"rm","arguments":` + asked + `,"Arguments":{"path":"z"}}}`, about, `!other arguments`},
		"no arguments, written otherwise":       {yesNo, with(`null`), []AskedCall{{ID: "c1", Name: "rm", Args: "{}"}}, `{"approved":true}`},
		"no arguments, and none in the stream":  {yesNo, with(`{}`), []AskedCall{{ID: "c1", Name: "rm"}}, `{"approved":true}`},
		"no arguments, left out":                {yesNo, `{"approved":true,"toolCall":{"callId":"c1","name":"rm"}}`, []AskedCall{{ID: "c1", Name: "rm", Args: "{}"}}, `{"approved":true}`},
		"a call that nobody saw":                {yesNo, `{"approved":true,` + edited + `}`, nil, `!it is not known which`},
		"a call that nobody saw, by its name":   {yesNo, `{"approved":true,"toolCall":{"callId":"c1","name":"rm"}}`, nil, `{"approved":true}`},
		"a call that nobody saw, and a no":      {yesNo, `{"approved":false,` + edited + `}`, nil, `{"approved":false}`},
		"a call that nobody saw, edits offered": {edits, `{"approved":true,` + edited + `}`, nil, `{"approved":true,"editedArgs":{"path":"z.txt"}}`},
		"a call that nobody saw, another id":    {yesNo, `{"approved":true,"toolCall":{"callId":"c2","name":"rm","arguments":{}}}`, nil, `!not the call`},
		"a call whose arguments were too large": {yesNo, `{"approved":true,` + edited + `}`, []AskedCall{{ID: "c1", Name: "rm", ArgumentsUnknown: true}}, `!it is not known which`},
		"several calls":                         {yesNo, `{"approved":true,` + call + `}`, append(about, AskedCall{ID: "c2"}), `!several calls`},
		"a call without an id":                  {yesNo, `{"approved":true,` + call + `}`, []AskedCall{{Name: "rm", Args: asked}}, `{"approved":true}`},
		"no object":                             {yesNo, `{"approved":true,"toolCall":"c1"}`, about, `{"approved":true,"toolCall":"c1"}`},
		"null":                                  {yesNo, `{"approved":true,"toolCall":null}`, about, `{"approved":true,"toolCall":null}`},
		"a bare yes":                            {yesNo, `true`, about, `true`},
		"nothing":                               {yesNo, ``, about, ``},
	} {
		t.Run(name, func(t *testing.T) {
			object := `{"toolCallId":"c1"`
			if c.schema != "" {
				object += `,"responseSchema":` + c.schema
			}
			i := &Interrupt{Object: json.RawMessage(object + `}`), Calls: c.calls}
			rest, wrong := i.ReadCall(json.RawMessage(c.payload))
			if part, refused := strings.CutPrefix(c.want, "!"); refused {
				if !strings.Contains(wrong, part) || string(rest) != c.payload {
					t.Errorf("%q, %s", wrong, rest)
				}
			} else if wrong != "" || string(rest) != c.want {
				t.Errorf("%q, got %s, want %s", wrong, rest, c.want)
			}
			if again, _ := i.ReadCall(rest); string(again) != string(rest) {
				t.Errorf("read again it is %s", again)
			}
		})
	}
	free := &Interrupt{Object: json.RawMessage(`{}`)}
	if rest, wrong := free.ReadCall(json.RawMessage(`{"toolCall":{"callId":"c2"}}`)); wrong != "" || string(rest) != `{"toolCall":{"callId":"c2"}}` {
		t.Errorf("a question about no call: %q, %s", wrong, rest)
	}
}

// TestReadCallCost: an answer has very many calls and edits, or very many answers are about a call
// with long arguments. Each must be read in one pass.
func TestReadCallCost(t *testing.T) {
	const n = 20_000
	long := `{"path":"` + strings.Repeat("a", 1<<20) + `"}`
	edits := `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}}}`
	i := &Interrupt{Object: json.RawMessage(`{"toolCallId":"c1","responseSchema":` + edits + `}`), Calls: []AskedCall{{ID: "c1", Name: "rm", Args: long}}}
	before := hostile.ProcessorTime(t)
	if _, wrong := i.ReadCall(json.RawMessage(`{"approved":true,` + hostile.Many(n, hostile.Same(`"toolCall":{"arguments":{"path":"b"}},"editedArgs":{"path":"b"}`)) + `}`)); wrong != "" {
		t.Error(wrong)
	}
	whole := json.RawMessage(`{"approved":true,"toolCall":{"arguments":` + long + `},` + hostile.Many(n, hostile.Same(`"toolCall":{"arguments":{"path":"b"}},"editedArgs":{"path":"b"}`)) + `}`)
	if _, wrong := i.ReadCall(whole); wrong != "" {
		t.Error(wrong)
	}
	for range n {
		if _, wrong := i.ReadCall(json.RawMessage(`{"approved":true,"toolCall":{"arguments":{"path":"b"}}}`)); wrong != "" {
			t.Fatal(wrong)
		}
	}
	if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
		t.Errorf("it took %v", took)
	}
}
