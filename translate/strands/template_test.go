package strands

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestBody(t *testing.T) {
	in := input(t, `,"state":{"n":1.0},"forwardedProps":{"a":"$prompt"},"context":[]`)
	for body, want := range map[string]string{
		`{"prompt":"$prompt"}`:                                                 `{"prompt":"hi"}`,
		`{"input": {"prompt": "$prompt"}, "n":1.50}`:                           `{"input":{"prompt":"hi"},"n":1.50}`,
		`{"p":["$prompt"],"s":"$session","t":"$thread","r":"$run"}`:            `{"p":["hi"],"s":"S","t":"t","r":"r"}`,
		`{"p":"$prompt","x":"$state","y":"$forwardedProps","z":"$tools"}`:      `{"p":"hi","x":{"n":1.0},"y":{"a":"$prompt"},"z":null}`,
		`{"p":"$prompt","$prompt":"a $prompt","m":"$messages","c":"$context"}`: `{"p":"hi","$prompt":"a $prompt","m":[{"id":"u1","role":"user","content":"Clean up."}],"c":[]}`,
	} {
		var b Body
		if err := b.read([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if got := string(b.with(in, []byte(`"hi"`), "S")); got != want {
			t.Errorf("%s\n%s, want\n%s", body, got, want)
		}
	}
	for body, want := range map[string]string{
		``: "want a JSON object", `{`: "want a JSON object", `["$prompt"]`: "want a JSON object", `{}`: "want a JSON object", `{"prompt":"prompt"}`: "want a JSON object",
		`{"a":"$prompt","b":"$prompt"}`: "want a JSON object", `{"a":"$prompt","b":"$user"}`: `"$user" is not a placeholder`, `{"$prompt":1}`: "want a JSON object",
	} {
		var b Body
		if err := b.read([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	var h Headers
	if err := h.read([]byte(`{"x-amzn-bedrock-agentcore-runtime-session-id":"$session","X-Team":" blue $session! "}`)); err != nil {
		t.Fatal(err)
	}
	got := h.with("S")
	if len(got) != 2 || got["X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"][0] != "S" || got["X-Team"][0] != "blue S!" {
		t.Errorf("%v", got)
	}
	if err := h.read([]byte(`{}`)); err != nil || h == nil || len(h.with("S")) != 0 {
		t.Errorf("none: %v %v", h, err)
	}
	if out, _, err := newDialect(t, Server{Headers: h}).Begin(&translate.Request{Input: input(t, "")}); err != nil || len(out.Header) != 0 {
		t.Errorf("none: %v %v", out.Header, err)
	}
	for text, want := range map[string]string{
		`7`: "want an object", `["X-A"]`: "want an object", `{"X-A":1}`: "want an object", `{"X-A":""}`: "X-A is empty", `{"":"x"}`: "is not the name", `{"a b":"x"}`: "is not the name",
		`{"X-A":"$thread"}`: "is not a placeholder", `{"X-A":"$"}`: "is not a placeholder", `{"X-A":"é"}`: "cannot have", `{"X-A":"\u0001"}`: "cannot have", `{"X-A":"a\r\nX-B: c"}`: "cannot have",
		`{"Content-Length":"1"}`: "cannot be set here", `{"host":"x"}`: "cannot be set here", `{"Transfer-Encoding":"chunked"}`: "cannot be set here", `{"X-A":"b","x-a":"c"}`: "X-A is in the file twice",
	} {
		if err := h.read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if out, _, err := newDialect(t, Server{}).Begin(&translate.Request{Input: input(t, "")}); err != nil || len(out.Header["X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"]) != 1 {
		t.Errorf("the default: %v %v", out.Header, err)
	}
}

func TestSession(t *testing.T) {
	a, b := sessionOf("thread-1"), sessionOf("thread-2")
	if a == b || a != sessionOf("thread-1") || len(a) < 33 || strings.Contains(a, "thread") {
		t.Errorf("%s %s", a, b)
	}
}

func TestRoute(t *testing.T) {
	d := newDialect(t, Server{})
	for path, want := range map[string]string{"/": "/", "/invocations": "/invocations", "/invocations/": "/invocations", "/invocations;v=1": "/invocations", "/a/b/": "/a/b"} {
		if got, ok := d.Route(path); got != want || !ok {
			t.Errorf("%s: %s %v", path, got, ok)
		}
	}
	var p Paths
	if err := p.read([]byte(`["/Invocations/", "/agents/*"]`)); err != nil {
		t.Fatal(err)
	}
	d = newDialect(t, Server{Paths: p})
	for path, want := range map[string]bool{"/invocations": true, "/invocations/": true, "/agents/a": true, "/agents/a/b": false, "/ping": false, "/": true} {
		if _, ok := d.Route(path); ok != want {
			t.Errorf("%s: %v", path, ok)
		}
	}
	for _, text := range []string{`["invocations"]`, `["/["]`, `["http://x"]`, `[""]`, `[null]`, `[]`, `null`, `"/a"`, `{}`} {
		if err := p.read([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestPrompt: the agent stores the conversation, so only the new text must be sent.
func TestPrompt(t *testing.T) {
	user := func(id, content string) string { return `{"id":"` + id + `","role":"user","content":` + content + `}` }
	const said = `{"id":"a1","role":"assistant","content":"Hi."}`
	for name, c := range map[string]struct {
		messages []string
		want     string // the prompt, or "!" and the beginning of an error
	}{
		"the first one":                {[]string{user("u1", `"one"`)}, "one"},
		"the last one":                 {[]string{user("u1", `"one"`), said, user("u2", `"two"`)}, "two"},
		"after one that was not heard": {[]string{user("u1", `"one"`), user("u2", `"two"`)}, "two"},
		"a system message behind it":   {[]string{user("u1", `"one"`), `{"id":"s","role":"system","content":"x"}`}, "one"},
		"parts":                        {[]string{user("u1", `[{"type":"text","text":"a"},{"type":"text","text":"b\u00e9"}]`)}, "a\nbé"},
		"a picture":                    {[]string{user("u1", `[{"type":"text","text":"a"},{"type":"image","source":{}}]`)}, "!the message has other parts"},
		"a binary part":                {[]string{user("u1", `[{"type":"binary","data":"x"}]`)}, "!the message has other parts"},
		"nothing in it":                {[]string{user("u1", `" "`)}, "!the message is empty"},
		"no content":                   {[]string{user("u1", `null`)}, "!the message has other parts"},
		"the agent's words last":       {[]string{user("u1", `"one"`), said}, "!the last message is not a user's"},
		"a tool's result last":         {[]string{user("u1", `"one"`), said, `{"id":"t","role":"tool","toolCallId":"c","content":"x"}`}, "!the last message is the result of a tool"},
		"no messages":                  {nil, "!the last message is not"},
	} {
		t.Run(name, func(t *testing.T) {
			in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + strings.Join(c.messages, ",") + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := newDialect(t, Server{}).Begin(&translate.Request{Input: in})
			want, refused := strings.CutPrefix(c.want, "!")
			switch {
			case refused && (err == nil || !strings.Contains(err.Error(), string(agui.MessagesNotTaken)+": "+want)):
				t.Errorf("%v, want %s", err, want)
			case !refused && (err != nil || string(out.Body) != `{"prompt":`+dialecttest.Quoted(want)+`}` || out.Resumes || out.TakesNew || !out.ReadOn):
				t.Errorf("%s %v, want %s", out.Body, err, want)
			}
		})
	}
}
