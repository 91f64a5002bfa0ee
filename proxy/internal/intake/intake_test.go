package intake

import (
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A bareDialect is a dialect whose backends accept only a RunAgentInput.
type bareDialect struct{ translate.Dialect }

func (bareDialect) Name() string { return "bare" }

// A takingDialect is a dialect that finds approvals in messages with the role "approval". Its
// backends accept any object with the member "prompt" as a run.
type takingDialect struct{ bareDialect }

func (takingDialect) Takes(object []byte, spoken string) string {
	if strings.Contains(string(object), `"prompt"`) {
		return "a prompt is a run to " + spoken
	}
	return ""
}

func (takingDialect) Replies(in agui.RunInput, _ string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for n, m := range in.Messages {
			if m.Role == "approval" && !yield(translate.Reply{At: n, Decides: true}) {
				return
			}
		}
	}
}

func (takingDialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// A foreignDialect is a dialect whose agent has the path /run.
type foreignDialect struct{ bareDialect }

func (foreignDialect) Route(path string) (string, bool) { return "/agent", path == "/run" }

// A guardedDialect permits GET and HEAD of /open, and refuses runs with the query "stops".
type guardedDialect struct{ foreignDialect }

func (guardedDialect) Refusal(l translate.RequestLine) string {
	if l.Query == "stops" || !l.Run && l.Method+" "+l.Path != "GET /open" {
		return "not on the list"
	}
	return ""
}

func newIntake(d translate.Dialect, change ...func(*Options)) *Intake {
	o := Options{
		Dialect: d, DialectAt: func(string) string { return "bare" }, Agent: func(route string) bool { return route == "/chat" },
		Room: NewBodyRoom(1<<20, 0), MaxRequestBytes: 4 << 10,
	}
	for _, f := range change {
		f(&o)
	}
	return New(o)
}

const (
	aRun     = `{"threadId":"t","runId":"r","messages":[]}`
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// TestRead checks what Holdpoint does with each request: it reads the request as a run, forwards it
// unread, or refuses it with a status.
func TestRead(t *testing.T) {
	const passes, isRun = 0, 1
	for what, c := range map[string]struct {
		dialect translate.Dialect // nil: bareDialect
		method  string            // "": POST
		target  string            // "": /
		header  []string          // names and values
		body    string
		want    int    // passes, isRun, or the status
		reason  string // a part of the reason
		allow   string // the Allow header of a 405
	}{
		"a run":                           {body: aRun, want: isRun},
		"a run of another declared type":  {header: []string{"Content-Type", "text/plain"}, body: aRun, want: isRun},
		"a run without a declared type":   {header: []string{"Content-Type", ""}, body: aRun, want: isRun},
		"a run by a server's own method":  {method: "post", body: aRun, want: isRun},
		"a run by another method":         {method: "PUT", body: aRun, want: 405, reason: "with POST", allow: "POST"},
		"a GET with the body of a run":    {method: "GET", body: aRun, want: 405, reason: "with POST", allow: "POST"},
		"no body":                         {method: "GET"},
		"a POST without a body":           {},
		"an object that is not a run":     {body: `{"a":1}`},
		"a list":                          {body: `[` + aRun + `]`},
		"text":                            {header: []string{"Content-Type", "text/plain"}, body: "hello"},
		"white space before a run":        {body: " \r\n\t" + aRun, want: isRun},
		"no JSON, declared as JSON":       {body: `{"threadId":`, want: 400, reason: "not valid JSON"},
		"no JSON, declared as text":       {header: []string{"Content-Type", "text/plain"}, body: `{"threadId":`},
		"more behind a run":               {header: []string{"Content-Type", "text/plain"}, body: aRun + " x", want: 400, reason: "not valid JSON"},
		"NaN in a run":                    {body: strings.Replace(aRun, "{", `{"n":NaN,`, 1), want: 400, reason: "not valid JSON"},
		"nested too deep":                 {body: `{"a":` + strings.Repeat("[", 2000), want: 400, reason: "nested too deep"},
		"an object that is too large":     {body: `{"a":"` + strings.Repeat("x", 4<<10) + `"}`, want: 413, reason: "HOLDPOINT_MAX_REQUEST_BYTES"},
		"white space without an end":      {body: strings.Repeat(" ", 5<<10), want: 413, reason: "HOLDPOINT_MAX_REQUEST_BYTES"},
		"a large body that is no object":  {header: []string{"Content-Type", "text/plain"}, body: strings.Repeat("x", 64<<10)},
		"answers without a run's id":      {body: `{"threadId":"t","resume":[{"interruptId":"n1","status":"resolved"}]}`, want: 400},
		"the messages are no list":        {body: `{"threadId":"t","runId":"r","messages":7}`, want: 400},
		"a Content-Encoding":              {header: []string{"Content-Encoding", "gzip"}, body: aRun, want: 415, reason: "Content-Encoding"},
		"a Content-Encoding of identity":  {header: []string{"Content-Encoding", "identity"}, body: "x", want: 415, reason: "Content-Encoding"},
		"a Content-Encoding, and no body": {method: "GET", header: []string{"Content-Encoding", "gzip"}},

		"a byte order mark":                      {body: "\xef\xbb\xbf" + aRun, want: 400, reason: "byte order mark"},
		"UTF-16":                                 {body: "\xff\xfe{\x00\"\x00t\x00", want: 400, reason: "UTF-8"},
		"bytes that are not UTF-8":               {body: strings.Replace(aRun, `"t"`, "\"\xff\"", 1), want: 400, reason: "valid UTF-8"},
		"an object to who leaves out bytes":      {header: []string{"Content-Type", "text/plain"}, body: strings.Replace(aRun, "{", "{\xff", 1), want: 400, reason: "valid UTF-8"},
		"an object that is not UTF-8, as text":   {header: []string{"Content-Type", "text/plain"}, body: strings.Replace(aRun, `"t"`, "\"\xff\"", 1), want: 400, reason: "valid UTF-8"},
		"no UTF-8 in what is no object":          {header: []string{"Content-Type", "text/plain"}, body: "\xff\xfe\x01"},
		"the charset UTF-8":                      {header: []string{"Content-Type", "application/json; charset=UTF-8"}, body: aRun, want: isRun},
		"the charset UTF-7":                      {header: []string{"Content-Type", "application/json; charset=utf-7"}, body: aRun, want: 415, reason: "charset"},
		"the charset UTF-7, of text":             {header: []string{"Content-Type", "text/plain; charset=utf-7"}, body: "x", want: 415, reason: "charset"},
		"the charset UTF-16, of JSON":            {header: []string{"Content-Type", "application/json; charset=utf-16"}, body: "x", want: 415, reason: "charset"},
		"the charset UTF-16, of text":            {header: []string{"Content-Type", "text/plain; charset=utf-16"}, body: "x"},
		"an object in the charset UTF-16":        {header: []string{"Content-Type", "text/plain; charset=utf-16"}, body: `{"a":1}`, want: 415, reason: "UTF-8"},
		"ASCII in Latin-1":                       {header: []string{"Content-Type", "application/json; charset=iso-8859-1"}, body: aRun, want: isRun},
		"other letters in Latin-1":               {header: []string{"Content-Type", "application/json; charset=iso-8859-1"}, body: `{"a":"ä"}`, want: 415, reason: "UTF-8"},
		"two charsets":                           {header: []string{"Content-Type", "application/json; charset=utf-8; charset=utf-7"}, body: aRun, want: 415, reason: "one charset"},
		"a charset in another spelling":          {header: []string{"Content-Type", "application/json; charset*=utf-8''utf-7"}, body: aRun, want: 415, reason: "one charset"},
		"two types":                              {header: []string{"Content-Type", jsonType, "Content-Type", formType}, body: aRun, want: 415, reason: "more than one Content-Type"},
		"a form that is a run":                   {header: []string{"Content-Type", formType}, body: "threadId=t&runId=r", want: 415, reason: "a form is not accepted"},
		"a form that is an answer":               {header: []string{"Content-Type", formType}, body: "resume[0][interruptId]=n1", want: 415, reason: "a form is not accepted"},
		"a form of something else":               {header: []string{"Content-Type", formType}, body: "name=a&resume=text"},
		"the parts of a run":                     {header: []string{"Content-Type", "multipart/form-data; boundary=x"}, body: parts("threadId", "runId"), want: 415, reason: "a form is not accepted"},
		"the parts of something else":            {header: []string{"Content-Type", "multipart/form-data; boundary=x"}, body: parts("title", "file")},
		"the parts of a run, begun as an object": {header: []string{"Content-Type", "multipart/form-data; boundary=x"}, body: "{}\r\n" + parts("threadId", "runId"), want: 415, reason: "a form is not accepted"},
		"a form of a run, begun as an object":    {header: []string{"Content-Type", formType}, body: `{"a":1}&threadId=t&runId=r`, want: 415, reason: "a form is not accepted"},
		"a key twice":                            {body: `{"threadId":"t","threadId":"u","runId":"r","messages":[]}`, want: 400, reason: "threadId"},
		"a key twice, in another spelling":       {body: `{"threadId":"t","thread_id":"u","runId":"r","messages":[]}`, want: 400, reason: "thread"},
		"a key twice in what is no run":          {body: `{"a":1,"a":2}`},
		"a key twice beside messages":            {body: `{"messages":[],"messages":[]}`, want: 400, reason: "messages"},
		"a key twice in an answer's text": {
			body: `{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"command":{"resume":"{\"approved\":true,\"approved\":false}"}}}`, want: 400, reason: "command.resume",
		},

		"an approval outside of a run":            {dialect: takingDialect{}, body: `{"messages":[{"role":"approval"}]}`, want: 400, reason: "an approval"},
		"messages without an approval":            {dialect: takingDialect{}, body: `{"messages":[{"role":"user","content":"x"}]}`},
		"less than a run, and a run to a backend": {dialect: takingDialect{}, body: `{"prompt":"x"}`, want: 400, reason: "a run to bare"},
		"the same in another value behind it":     {dialect: takingDialect{}, header: []string{"Content-Type", "text/plain"}, body: `{"prompt":"x"} y`, want: 400, reason: "a run to bare"},
		"the same where no backend takes it":      {body: `{"prompt":"x"}`},

		"a run at a foreign agent":             {dialect: foreignDialect{}, target: "/run", body: aRun, want: isRun},
		"the agent's own request":              {dialect: foreignDialect{}, target: "/run", body: `{"a":1}`, want: 400, reason: "HOLDPOINT_DIALECT=bare"},
		"a POST without a body at an agent":    {dialect: foreignDialect{}, target: "/run", want: 400, reason: "only an AG-UI RunAgentInput"},
		"a reader at a foreign agent":          {dialect: foreignDialect{}, method: "GET", target: "/run"},
		"a DELETE at a foreign agent":          {dialect: foreignDialect{}, method: "DELETE", target: "/run", want: 405, allow: "POST"},
		"a GET with a body at a foreign agent": {dialect: foreignDialect{}, method: "GET", target: "/run", body: "x", want: 405, allow: "POST"},
		"a run where no foreign agent is":      {dialect: foreignDialect{}, target: "/other", body: aRun},

		"what a Guard lets pass":               {dialect: guardedDialect{}, method: "GET", target: "/open"},
		"what a Guard does not let pass":       {dialect: guardedDialect{}, method: "GET", target: "/other", want: 405, reason: "not on the list"},
		"another method than a Guard's":        {dialect: guardedDialect{}, method: "PUT", target: "/open", want: 405, reason: "not on the list", allow: "GET"},
		"a reader at a guarded agent":          {dialect: guardedDialect{}, method: "GET", target: "/run", want: 405, reason: "not on the list", allow: "POST"},
		"a run that a Guard lets pass":         {dialect: guardedDialect{}, target: "/run", body: aRun, want: isRun},
		"a run that a Guard does not let pass": {dialect: guardedDialect{}, target: "/run?stops", body: aRun, want: 400, reason: "not on the list"},
		"a header that names another method": {
			dialect: guardedDialect{}, method: "GET", target: "/open", header: []string{"X-Http-Method-Override", "DELETE"}, want: 405, reason: "names another method", allow: "GET",
		},
		"a WebSocket past a Guard": {
			dialect: guardedDialect{}, method: "GET", target: "/open", header: []string{"Upgrade", "WebSocket"}, want: 405, reason: "a WebSocket", allow: "GET",
		},
		"a reader with a body":     {dialect: guardedDialect{}, method: "GET", target: "/open", body: "x", want: 405, reason: "must not have a body", allow: "GET"},
		"a preflight past a Guard": {dialect: guardedDialect{}, method: "OPTIONS", target: "/other", header: []string{"Access-Control-Request-Method", "POST"}},
	} {
		t.Run(what, func(t *testing.T) {
			d := c.dialect
			if d == nil {
				d = bareDialect{}
			}
			in := newIntake(d)
			req := requestOf(c.method, c.target, c.header, c.body)
			run, refused := in.Read(http.NewResponseController(httptest.NewRecorder()), req)
			got, reason, allow := passes, "", ""
			switch {
			case refused != nil:
				got, reason, allow = refused.Status, refused.Reason, strings.Join(refused.Allow, ", ")
			case run != nil:
				got = isRun
			}
			if got != c.want || !strings.Contains(reason, c.reason) || allow != c.allow {
				t.Errorf("got %d %q, allowing %q; want %d %q, allowing %q", got, reason, allow, c.want, c.reason, c.allow)
			}
			if got == passes && c.body != "" && readAll(t, req) != c.body {
				t.Error("the body that passes is not whole")
			}
			if in.Room.taken != 0 {
				t.Errorf("%d bytes of room are not given back", in.Room.taken)
			}
		})
	}
}

// TestPartsThatPass: Holdpoint forwards a multipart body while it arrives. If the body turns out to
// be a run, Holdpoint must break it off there, however much of it was already forwarded.
func TestPartsThatPass(t *testing.T) {
	file := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n" + strings.Repeat("content-", 2<<10) + "\r\n"
	for what, c := range map[string]struct {
		behind string
		want   error
	}{
		"a run":          {parts("threadId", "runId"), errForm},
		"something else": {parts("title", "text"), nil},
	} {
		t.Run(what, func(t *testing.T) {
			req := requestOf("", "", []string{"Content-Type", "multipart/form-data; boundary=x"}, file+c.behind)
			if run, refused := newIntake(bareDialect{}).Read(http.NewResponseController(httptest.NewRecorder()), req); run != nil || refused != nil {
				t.Fatalf("%v, %v", run, refused)
			}
			got, err := io.ReadAll(req.Body)
			if err != c.want || err == nil && string(got) != file+c.behind || strings.Contains(string(got), "runId") {
				t.Errorf("%d bytes of %d pass, and then %v", len(got), len(file+c.behind), err)
			}
		})
	}
}

// TestReadOfARun checks the route that Holdpoint reads from the path of a run.
func TestReadOfARun(t *testing.T) {
	for what, c := range map[string]struct {
		dialect translate.Dialect
		target  string
		route   string
	}{
		"the route of its records":       {bareDialect{}, "/Chat//;x=1/", "/chat"},
		"the route that a dialect names": {foreignDialect{}, "/run/", "/agent"},
	} {
		t.Run(what, func(t *testing.T) {
			run, refused := newIntake(c.dialect).Read(http.NewResponseController(httptest.NewRecorder()), requestOf("", c.target, nil, aRun))
			if refused != nil {
				t.Fatal(refused)
			}
			if run.Route != c.route || run.Input.ThreadID != "t" || run.Input.RunID != "r" || string(run.Input.Raw) != aRun {
				t.Errorf("got %q, %+v", run.Route, run.Input)
			}
		})
	}
}

// TestLines checks the log lines of refusals.
func TestLines(t *testing.T) {
	for what, c := range map[string]struct {
		dialect translate.Dialect
		req     *http.Request
		level   slog.Level
		want    string // the message and the names of the attributes
	}{
		"a body":                   {bareDialect{}, requestOf("", "", nil, `{`), slog.LevelInfo, "request refused status reason"},
		"a method":                 {bareDialect{}, requestOf("PUT", "", nil, aRun), slog.LevelInfo, "request refused status method"},
		"the agent's own request":  {foreignDialect{}, requestOf("", "/run", nil, "{}"), slog.LevelInfo, "request refused status reason"},
		"what a Guard refuses":     {guardedDialect{}, requestOf("PUT", "/other", nil, ""), slog.LevelInfo, "request refused status reason peer"},
		"a run, of a Guard":        {guardedDialect{}, requestOf("", "/run?stops", nil, aRun), slog.LevelInfo, "request refused status reason peer"},
		"a body that does not end": {bareDialect{}, httptest.NewRequest("POST", "/", brokenBody{}), slog.LevelDebug, "request body not read err"},
	} {
		t.Run(what, func(t *testing.T) {
			_, refused := newIntake(c.dialect).Read(http.NewResponseController(httptest.NewRecorder()), c.req)
			if refused == nil {
				t.Fatal("it is not refused")
			}
			got := refused.Line.Message
			for n := 0; n < len(refused.Line.Args); n += 2 {
				got += " " + refused.Line.Args[n].(string)
			}
			if got != c.want || refused.Line.Level != c.level {
				t.Errorf("%v %s, want %v %s", refused.Line.Level, got, c.level, c.want)
			}
		})
	}
}

// requestOf returns a request. An empty method means POST, and an empty target means "/". If header
// has no Content-Type, the body is declared as JSON.
func requestOf(method, target string, header []string, body string) *http.Request {
	if method == "" {
		method = http.MethodPost
	}
	if target == "" {
		target = "/"
	}
	req := httptest.NewRequest(method, target, nil)
	if body != "" {
		req = httptest.NewRequest(method, target, strings.NewReader(body))
	}
	if !slices.Contains(header, "Content-Type") {
		req.Header.Set("Content-Type", jsonType)
	}
	for n := 0; n < len(header); n += 2 {
		if header[n+1] != "" || header[n] != "Content-Type" {
			req.Header.Add(header[n], header[n+1])
		}
	}
	return req
}

// parts returns a multipart body with parts of these names.
func parts(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\nvalue\r\n")
	}
	return b.String() + "--x--\r\n"
}
