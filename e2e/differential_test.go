//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// These tests compare how Holdpoint and a real adapter read a request. If a request is a run for
// the adapter, it must be a run for Holdpoint too, and of the same thread. Otherwise a request
// could get around the contract. Each request below is sent to Holdpoint by a client that must not
// succeed. If Holdpoint forwards it, the test shows it to the real adapter, and the adapter must
// not start a run.
//
// In the situation "paused", the thread waits for answers, and no request below has all of them. So
// nothing may run on the thread. In the situation "unknown", Holdpoint has no record of the thread.
// So Holdpoint must not forward an answer on it.

// A request is written to the connection exactly as given here.
type request struct {
	method, target string
	header         []string // lines, without Content-Length
	body           []byte
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %q\n%q", r.method, r.target, r.header, r.body)
}

// send sends r and reads the response. The status is 0 if there is no response.
func (r request) send(address string) (status int, body []byte) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, nil
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n", r.method, r.target, address, len(r.body))
	for _, line := range r.header {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		return 0, nil
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodPost})
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	body, _ = io.ReadAll(res.Body)
	return res.StatusCode, body
}

// A verdict is how a real adapter reads a request: whether it runs, on which thread, and whether it
// contains an answer.
type verdict struct {
	ran             bool
	thread          string
	resume, command bool
}

func judge(address string, r request) verdict {
	_, body := r.send(address)
	for _, frame := range strings.Split(string(body), "\n\n") {
		var e struct {
			Name  string
			Value struct {
				Ran             *bool // set by readers that report it for every request
				Thread          string
				Resume, Command bool
			}
		}
		data, ok := strings.CutPrefix(frame, "data: ")
		if ok && json.Unmarshal([]byte(data), &e) == nil && e.Name == "verdict" {
			if e.Value.Ran != nil && !*e.Value.Ran {
				return verdict{}
			}
			thread, _ := hex.DecodeString(e.Value.Thread)
			return verdict{true, string(thread), e.Value.Resume, e.Value.Command}
		}
	}
	return verdict{}
}

// A catcher takes the place of the backend, and records each request. A certain text in the request
// makes it respond as a backend that pauses. Otherwise it responds with a run that ends normally.
type catcher struct {
	*httptest.Server
	mu     sync.Mutex
	caught []request
}

func (c *catcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	got := request{method: r.Method, target: r.RequestURI, body: body}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Accept"} {
		for _, value := range r.Header[name] {
			got.header = append(got.header, name+": "+value)
		}
	}
	c.mu.Lock()
	c.caught = append(c.caught, got)
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	var in struct{ ThreadID, RunID string }
	json.Unmarshal(body, &in)
	event := func(e map[string]any) {
		b, _ := json.Marshal(e)
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	event(map[string]any{"type": "RUN_STARTED", "threadId": in.ThreadID, "runId": in.RunID})
	if bytes.Contains(body, []byte("please pause")) {
		value := map[string]any{"message": "?", "responseSchema": map[string]any{"type": "object", "properties": map[string]any{
			"never": map[string]any{"const": "sent by no case"}}, "required": []string{"never"}}}
		event(map[string]any{"type": "STATE_SNAPSHOT", "snapshot": map[string]any{}})
		event(map[string]any{"type": "MESSAGES_SNAPSHOT", "messages": []any{map[string]any{"id": "u1", "role": "user", "content": "please pause"}}})
		event(map[string]any{"type": "CUSTOM", "rawEvent": map[string]any{"value": value, "id": strings.Repeat("ab", 16)}, "name": "on_interrupt", "value": text(value)})
	}
	end := map[string]any{"type": "RUN_FINISHED", "threadId": in.ThreadID, "runId": in.RunID}
	if bytes.Contains(body, []byte("please approve")) { // the events of 1.0.0rc7; it asks about two calls, because no request below answers both
		end["interrupt"] = []any{map[string]any{"id": "c1", "value": map[string]any{}}, map[string]any{"id": "c2", "value": map[string]any{}}}
		for _, call := range []string{"c1", "c2"} {
			event(map[string]any{"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "rm"})
			event(map[string]any{"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": "{}"})
			event(map[string]any{"type": "TOOL_CALL_END", "toolCallId": call})
			event(map[string]any{"type": "CUSTOM", "name": "function_approval_request", "value": map[string]any{"id": call,
				"function_call": map[string]any{"call_id": call, "name": "rm", "arguments": map[string]any{}}}})
		}
	}
	if bytes.Contains(body, []byte("please call")) { // makes two calls without a result
		for _, call := range []string{"c1", "c2"} {
			event(map[string]any{"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "rm"})
			event(map[string]any{"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": "{}"})
			event(map[string]any{"type": "TOOL_CALL_END", "toolCallId": call})
		}
	}
	event(end)
}

// take returns the requests since the previous call of take.
func (c *catcher) take() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.caught
	c.caught = nil
	return got
}

// The types and functions below make bodies.

// A field is a member of an object. The key and the value are JSON texts.
type field struct{ key, value string }

type object []field

func (o object) String() string {
	var members []string
	for _, f := range o {
		members = append(members, f.key+":"+f.value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (o object) index(name string) int {
	return slices.IndexFunc(o, func(f field) bool { return f.key == strconv.Quote(name) })
}

func (o object) set(name, value string) object {
	if i := o.index(name); i >= 0 {
		o = slices.Clone(o)
		o[i].value = value
		return o
	}
	return append(slices.Clone(o), field{strconv.Quote(name), value})
}

// An attempt is a request that the mutators below change step by step.
type attempt struct {
	request
	body   object
	thread string
	encode func(text string) []byte // nil: UTF-8
	notes  []string
}

func (a *attempt) finish() request {
	r := a.request
	if a.encode != nil {
		r.body = a.encode(a.body.String())
	} else {
		r.body = []byte(a.body.String())
	}
	return r
}

func newAttempt(thread string) *attempt {
	return &attempt{
		request: request{method: "POST", target: "/agent", header: []string{"Content-Type: application/json", "Accept: text/event-stream"}},
		thread:  thread,
		body: object{
			{`"threadId"`, text(thread)}, {`"runId"`, `"r2"`}, {`"state"`, `{}`},
			{`"messages"`, `[{"id":"u1","role":"user","content":"please pause"},{"id":"u2","role":"user","content":"more"}]`},
			{`"tools"`, `[]`}, {`"context"`, `[]`}, {`"forwardedProps"`, `{}`},
		},
	}
}

// spellings returns other spellings of a camelCase name that some parser might accept for it.
func spellings(name string) []string {
	snake := ""
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			snake += "_" + strings.ToLower(string(r))
		} else {
			snake += string(r)
		}
	}
	escaped := fmt.Sprintf(`\u%04x`, name[0]) + name[1:]
	last := name[:len(name)-1] + fmt.Sprintf(`\u%04X`, name[len(name)-1])
	return []string{
		snake, strings.ToUpper(snake), strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:],
		strings.ReplaceAll(snake, "_", "-"), strings.ReplaceAll(snake, "_", "__"), "_" + name, name + "_", " " + name, name + " ",
		escaped, last, name + `\u0000`, name + `\u200b`, strings.Replace(name, "s", "ſ", 1), strings.Replace(name, "s", `\u017f`, 1),
		strings.Replace(name, "e", "е", 1), strings.Replace(snake, "_i", "_I", 1), strings.Replace(name, "Id", "ID", 1), name + `\ud800`,
		strings.ReplaceAll(snake, "_", `\u005f`), `\/` + name,
	}
}

var rootKeys = []string{"threadId", "runId", "messages", "forwardedProps", "resume", "protocolVersion", "state", "tools", "context", "parentRunId"}

var threadValues = []string{`null`, `1`, `1.0`, `true`, `[]`, `{}`, `""`, `["T"]`, `{"threadId":"T"}`}

var oddValues = []string{
	`null`, `{}`, `[]`, `""`, `0`, `NaN`, `Infinity`, `-Infinity`, `1e999`, `-0`, `01`, `1.`, `.5`, `0x1`, `"\ud800"`, `"\udc00\ud800"`,
	`"\u0000"`, `"a` + "\x01" + `b"`, `"a` + "\n" + `b"`, `'x'`, `undefined`, `123456789012345678901234567890`, "\"\xff\xfe\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
	`{"a":1,"a":2}`, `{"a":1,}`, `[1,]`, `[1 2]`, `"\x41"`, `"\q"`, `/* c */ 1`, `1 // c`, `{"":{}}`, `{"__proto__":{}}`,
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

var contentTypes = []string{
	"", "Content-Type:", "Content-Type: text/plain", "Content-Type: application/x+json", "Content-Type: APPLICATION/JSON",
	"Content-Type: application/json; charset=utf-16", "Content-Type: application/json;charset=latin-1", "Content-Type: application/problem+json; a=b",
	"Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data; boundary=x", "Content-Type: json",
	"Content-Type: application/json, text/plain", "Content-Type: application/json\r\nContent-Type: text/plain", "Content-Type: text/plain\r\nContent-Type: application/json",
	"Content-Type:application/json", "Content-Type:\tapplication/json", "Content-Type: application/ json", "Content-Type: application/json+",
}

var headers = []string{
	"Content-Encoding: gzip", "Content-Encoding: identity", "Content-Encoding:", "X-HTTP-Method-Override: GET", "Expect: 100-continue",
	"Transfer-Encoding: identity", "Upgrade: h2c", "Connection: Content-Type", "Connection: Content-Length", "Content-Type : application/json",
}

var targets = []string{
	"/agent", "/%61gent", "/a%67ent", "/agen%74", "/agent/", "//agent", "///agent", "/./agent", "/x/../agent", "/%2e/agent", "/x/%2e%2e/agent", "/agent/.", "/agent/..",
	"/agent?", "/agent?thread_id=other", "/agent?threadId=other", "/agent#", "/agent%23", "/agent%3F", "/agent;v=1", "/agent%20", "/agent%00", "/AGENT", "/agent%2F", "/%2Fagent", "/agent%0a",
	"http://other/agent", "http://other/%61gent", "/agent%", "/agent%zz", "/%41gent", "/agent\\", "/\\agent", "/agent%5c", "agent", "/%u0061gent", "/%EF%BD%81gent", "*",
}

var methods = []string{"post", "Post", "PUT", "PATCH", "GET", "DELETE", "QUERY", "OPTIONS", "REPORT", "SEARCH", "LOCK", "HEAD", "TRACE", "CONNECT"}

func utf16Bytes(text string, big, mark bool) []byte {
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	var out []byte
	for _, u := range units {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func utf32Bytes(text string, big, mark bool) []byte {
	runes := []rune(text)
	if mark {
		runes = append([]rune{0xfeff}, runes...)
	}
	var out []byte
	for _, r := range runes {
		b := []byte{byte(r >> 24), byte(r >> 16), byte(r >> 8), byte(r)}
		if !big {
			slices.Reverse(b)
		}
		out = append(out, b...)
	}
	return out
}

var encodings = map[string]func(string) []byte{
	"mark":         func(s string) []byte { return []byte("\xef\xbb\xbf" + s) },
	"two marks":    func(s string) []byte { return []byte("\xef\xbb\xbf\xef\xbb\xbf" + s) },
	"mark, space":  func(s string) []byte { return []byte("\xef\xbb\xbf \n" + s) },
	"space, mark":  func(s string) []byte { return []byte(" \xef\xbb\xbf" + s) },
	"utf-16le":     func(s string) []byte { return utf16Bytes(s, false, false) },
	"utf-16be":     func(s string) []byte { return utf16Bytes(s, true, false) },
	"utf-16le bom": func(s string) []byte { return utf16Bytes(s, false, true) },
	"utf-16be bom": func(s string) []byte { return utf16Bytes(s, true, true) },
	"utf-16le sp":  func(s string) []byte { return utf16Bytes(" \n"+s, false, false) },
	"utf-32le":     func(s string) []byte { return utf32Bytes(s, false, false) },
	"utf-32be":     func(s string) []byte { return utf32Bytes(s, true, false) },
	"utf-32le bom": func(s string) []byte { return utf32Bytes(s, false, true) },
	"utf-32be bom": func(s string) []byte { return utf32Bytes(s, true, true) },
	"utf-32be sp":  func(s string) []byte { return utf32Bytes("\t"+s, true, false) },
	"space":        func(s string) []byte { return []byte(" \t\r\n" + s) },
	"much space":   func(s string) []byte { return []byte(strings.Repeat(" ", 70_000) + s) },
	"nbsp":         func(s string) []byte { return []byte("\u00a0" + s) },
	"form feed":    func(s string) []byte { return []byte("\f" + s) },
	"vtab":         func(s string) []byte { return []byte("\v" + s) },
	"nul before":   func(s string) []byte { return []byte("\x00" + s) },
	"nul after":    func(s string) []byte { return []byte(s + "\x00") },
	"garbage":      func(s string) []byte { return []byte(s + " x") },
	"twice":        func(s string) []byte { return []byte(s + "\n" + s) },
	"space after":  func(s string) []byte { return []byte(s + " \r\n\t") },
	"comment":      func(s string) []byte { return []byte("/**/" + s) },
	"in a list":    func(s string) []byte { return []byte("[" + s + "]") },
	"in a string":  func(s string) []byte { b, _ := json.Marshal(s); return b },
	"in input":     func(s string) []byte { return []byte(`{"input":` + s + `}`) },
	"in inputData": func(s string) []byte { return []byte(`{"input_data":` + s + `}`) },
	"cut":          func(s string) []byte { return []byte(s[:len(s)-1]) },
	"xssi":         func(s string) []byte { return []byte(")]}'\n" + s) },
	"half a rune":  func(s string) []byte { return []byte(strings.Replace(s, "more", "mo\xe2\x82", 1)) },
}

var encodingNames = func() []string {
	var names []string
	for name := range encodings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// An answerForm is one format of an answer that could reach a graph. Each part of it can be spelled
// differently.
type answerForm struct {
	resume, interruptID, status, payload string // the keys of the resume array and of its entries
	forwarded, command, inner            string // keys on the way to command.resume
	resolved, value                      string // values as JSON text
	array, props                         bool   // whether it has the resume array and the command
}

func canonical() answerForm {
	return answerForm{"resume", "interruptId", "status", "payload", "forwardedProps", "command", "resume", `"resolved"`, `true`, true, true}
}

// on puts the answer into the body of a.
func (f answerForm) on(a *attempt) {
	key := func(name string) string { return `"` + name + `"` }
	if f.array {
		entry := object{{key(f.interruptID), `"` + strings.Repeat("ab", 16) + `"`}, {key(f.status), f.resolved}, {key(f.payload), f.value}}
		a.body = append(slices.Clone(a.body), field{key(f.resume), "[" + entry.String() + "]"})
	}
	if f.props {
		props := object{{key(f.command), object{{key(f.inner), f.value}}.String()}}.String()
		if f.forwarded == "forwardedProps" {
			a.body = a.body.set("forwardedProps", props)
		} else {
			a.body = append(slices.Clone(a.body), field{key(f.forwarded), props})
		}
	}
}

// answerForms returns the usual forms of an answer. For each of them it also returns variants that
// spell one part differently.
func answerForms() []answerForm {
	var all []answerForm
	for _, which := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		add := func(change func(*answerForm)) {
			f := canonical()
			f.array, f.props = which[0], which[1]
			change(&f)
			all = append(all, f)
		}
		for _, value := range []string{`true`, `{"approved":true}`, `"yes"`, `0`, `[]`, `{"` + strings.Repeat("ab", 16) + `":true}`, `{}`, `false`, `""`, `null`, `NaN`} {
			add(func(f *answerForm) { f.value = value })
		}
		for part, name := range map[string]func(*answerForm) *string{
			"resume": func(f *answerForm) *string { return &f.resume }, "interruptId": func(f *answerForm) *string { return &f.interruptID },
			"status": func(f *answerForm) *string { return &f.status }, "payload": func(f *answerForm) *string { return &f.payload },
			"forwardedProps": func(f *answerForm) *string { return &f.forwarded }, "command": func(f *answerForm) *string { return &f.command },
		} {
			for _, spelling := range spellings(part) {
				add(func(f *answerForm) { *name(f) = spelling })
			}
		}
		for _, spelling := range spellings("resume") {
			add(func(f *answerForm) { f.inner = spelling })
		}
		for _, status := range []string{`"cancelled"`, `"RESOLVED"`, `"res\u006flved"`, `null`} {
			add(func(f *answerForm) { f.resolved = status })
		}
	}
	slices.SortFunc(all, func(a, b answerForm) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// mutators are changes of an attempt. Each changes one thing.
var mutators = []struct {
	name string
	do   func(r *rand.Rand, a *attempt)
}{
	{"respell", func(r *rand.Rand, a *attempt) {
		name := pick(r, rootKeys)
		if i := a.body.index(name); i >= 0 {
			a.body = slices.Clone(a.body)
			a.body[i].key = `"` + pick(r, spellings(name)) + `"`
		}
	}},
	{"twice", func(r *rand.Rand, a *attempt) {
		name := pick(r, rootKeys[:5])
		key := `"` + pick(r, append(spellings(name), name, name, name)) + `"`
		value := pick(r, []string{`"elsewhere"`, `null`, `{}`, `[]`})
		if i := a.body.index(name); i >= 0 && r.IntN(2) == 0 {
			value = a.body[i].value
			if name == "threadId" && r.IntN(2) == 0 {
				a.body = a.body.set(name, `"elsewhere"`)
			}
		}
		at := r.IntN(len(a.body) + 1)
		a.body = slices.Insert(slices.Clone(a.body), at, field{key, value})
	}},
	{"drop", func(r *rand.Rand, a *attempt) {
		name := pick(r, []string{"runId", "state", "tools", "context", "forwardedProps", "messages", "threadId"})
		if i := a.body.index(name); i >= 0 {
			a.body = slices.Delete(slices.Clone(a.body), i, i+1)
		}
	}},
	{"thread", func(r *rand.Rand, a *attempt) {
		quoted := text(a.thread)
		inner := quoted[1 : len(quoted)-1]
		a.body = a.body.set("threadId", pick(r, append(slices.Clone(threadValues),
			`"`+fmt.Sprintf(`\u%04x`, inner[0])+inner[1:]+`"`, `" `+inner+`"`, `"`+inner+` "`, `"`+inner+`\ud800"`, `"`+inner+`\u0000"`, "\""+inner+"\xff\"", "\""+inner+"\x00\"", `"`+strings.ToUpper(inner)+`"`)))
	}},
	{"value", func(r *rand.Rand, a *attempt) {
		a.body = a.body.set(pick(r, []string{"runId", "state", "tools", "context", "forwardedProps", "messages", "resume", "protocolVersion", "extra"}), pick(r, oddValues))
	}},
	{"deep", func(r *rand.Rand, a *attempt) {
		a.body = a.body.set(pick(r, []string{"state", "extra", "forwardedProps"}), pick(r, []string{deep(100), deep(900), deep(5_000), `{"a":` + deep(200) + `}`, `{"command":` + deep(150) + `}`}))
	}},
	{"encoding", func(r *rand.Rand, a *attempt) { a.encode = encodings[pick(r, encodingNames)] }},
	{"content type", func(r *rand.Rand, a *attempt) {
		a.header = slices.Clone(a.header)
		a.header[0] = pick(r, contentTypes)
		a.header = slices.DeleteFunc(a.header, func(line string) bool { return line == "" })
	}},
	{"header", func(r *rand.Rand, a *attempt) { a.header = append(slices.Clone(a.header), pick(r, headers)) }},
	{"target", func(r *rand.Rand, a *attempt) { a.target = pick(r, targets) }},
	{"method", func(r *rand.Rand, a *attempt) { a.method = pick(r, methods) }},
	{"answer", func(r *rand.Rand, a *attempt) {
		f := canonical()
		f.array, f.props = r.IntN(2) == 0, r.IntN(2) == 0
		for _, part := range []struct {
			at   *string
			name string
		}{{&f.resume, "resume"}, {&f.interruptID, "interruptId"}, {&f.forwarded, "forwardedProps"}, {&f.command, "command"}} {
			if r.IntN(6) == 0 {
				*part.at = pick(r, spellings(part.name))
			}
		}
		f.on(a)
	}},
	{"command twice", func(r *rand.Rand, a *attempt) {
		list := object{{`"command"`, pick(r, []string{`{}`, `null`, `{"resume":null}`})}, {`"` + pick(r, []string{"command", "Command", `comm\u0061nd`}) + `"`, `{"resume":true}`}}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		a.body = a.body.set("forwardedProps", list.String())
	}},
	{"no new message", func(r *rand.Rand, a *attempt) {
		a.body = a.body.set("messages", pick(r, []string{`[]`, `[{"id":"u1","role":"user","content":"please pause"}]`, `[{"id":"u1","role":"user","content":"edited"}]`, `[{"id":"u9","role":"user","content":"please pause"}]`}))
	}},
}

// The attempts, and the tests that send them.

// attempts returns attempts with a single change each, and after them as many attempts as random
// says, each with a random combination of changes.
func attempts(r *rand.Rand, random int) []*attempt {
	var list []*attempt
	add := func(do ...func(*attempt)) {
		a := newAttempt(fmt.Sprintf("thread-%d", len(list)))
		for _, d := range do {
			d(a)
		}
		list = append(list, a)
	}
	answered := func(a *attempt) { canonical().on(a) }
	for _, one := range rootKeys {
		for _, spelling := range spellings(one) {
			add(func(a *attempt) {
				if i := a.body.index(one); i >= 0 {
					a.body[i].key = `"` + spelling + `"`
				}
			})
		}
	}
	for _, form := range answerForms() {
		add(func(a *attempt) { form.on(a); a.notes = append(a.notes, "answer") })
	}
	for _, target := range targets {
		add(func(a *attempt) { a.target = target })
	}
	for _, method := range methods {
		add(func(a *attempt) { a.method = method })
		add(answered, func(a *attempt) { a.method = method })
	}
	for _, line := range headers {
		add(func(a *attempt) { a.header = append(a.header, line) })
	}
	for _, line := range contentTypes {
		add(func(a *attempt) {
			a.header[0] = line
			a.header = slices.DeleteFunc(a.header, func(l string) bool { return l == "" })
		})
	}
	for _, name := range encodingNames {
		add(func(a *attempt) { a.encode = encodings[name] })
		add(func(a *attempt) { a.encode = encodings[name]; a.header = a.header[1:] })
	}
	for _, value := range oddValues {
		add(func(a *attempt) { a.body = a.body.set("state", value) })
		add(func(a *attempt) { a.body = a.body.set("extra", value) })
	}
	for _, twice := range keysAgain() {
		add(twice)
	}
	for n, f := range formats {
		for _, contentType := range f.types {
			add(func(a *attempt) { withFormat(a, n, contentType) })
			add(answered, func(a *attempt) { withFormat(a, n, contentType) })
		}
	}
	for _, keep := range lesses {
		add(func(a *attempt) { less(a, keep...) })
		add(answered, func(a *attempt) { less(a, keep...) })
		add(answered, func(a *attempt) { less(a, keep...); withFormat(a, 0, formType) })
		add(func(a *attempt) { a.body = a.body.set("messages", decided(r, "c1")); less(a, keep...) })
	}
	for range random {
		n := 1 + r.IntN(3)
		add(func(a *attempt) {
			for range n {
				m := pick(r, mutators)
				m.do(r, a)
				a.notes = append(a.notes, m.name)
			}
		})
	}
	return list
}

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if s := os.Getenv("E2E_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return rand.New(rand.NewPCG(seed, 0))
}

// onAnother returns the attempt's request for a thread that Holdpoint does not know.
func (a *attempt) onAnother() request {
	other := strings.ReplaceAll(a.thread, "thread-", "thr3ad-")
	b := *a
	b.body = slices.Clone(a.body)
	for i := range b.body {
		b.body[i].value = strings.ReplaceAll(b.body[i].value, a.thread, other)
	}
	return b.finish()
}

// A course is a setup of a Holdpoint, together with the real parsers (readers) that are shown every
// request that Holdpoint forwards.
type course struct {
	readers []runtime
	env     map[string]string
	asks    string // the message at which the catcher pauses
	bare    bool   // whether a run without a thread counts as a run
	word    string // the key of a decision in a message; "": accepted
	every   int    // of the attempts that contain a whole answer, the readers get one in so many, because they treat all of these alike
}

func TestNothingIsSteeredAroundTheContract(t *testing.T) {
	t.Parallel()
	t.Run("whoever reads RunAgentInput or any JSON", func(t *testing.T) {
		t.Parallel()
		course{readers: readers(t), asks: "please pause", every: 1}.run(t)
	})
	// These parsers require only the member messages, and read decisions in it.
	t.Run("agent-framework", func(t *testing.T) {
		t.Parallel()
		course{readers: agentReaders(t), env: map[string]string{"HOLDPOINT_DIALECT": "agent-framework"}, asks: "please approve", bare: true, every: 4}.run(t)
	})
	// These parsers read decisions in tool messages. Some of them do so in any JSON.
	t.Run("calls", func(t *testing.T) {
		t.Parallel()
		env := map[string]string{"HOLDPOINT_DIALECT": "tool-call", "HOLDPOINT_TOOLS": "rm=approval;confirm_changes=approval"}
		course{readers: callReaders(t), env: env, asks: "please call", word: "approved", every: 4}.run(t)
	})
	// These backends do not report how they read a request. Their actions show which answers they
	// accepted.
	for name, d := range deciders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDecisions(t, d)
		})
	}
}

func (c course) run(t *testing.T) {
	up := &catcher{}
	up.Server = httptest.NewServer(up)
	t.Cleanup(up.Close)
	h := ownHoldpoint(t, up.URL, c.env)
	proxy := strings.TrimPrefix(h.address, "http://")
	list := attempts(seeded(t), 1200)
	for _, a := range list {
		for n := range a.body {
			if c.word != "" { // the first letter may be written as an escape
				a.body[n].value = strings.NewReplacer("accepted", c.word, `\\u0061ccepted`, `\\u0061`+c.word[1:]).Replace(a.body[n].value)
			}
		}
	}

	direct, asked, arrived, steered := map[string]int{}, map[string]int{}, 0, 0
	judged := func(got request, bad func(v verdict) bool, why string, n int, a *attempt, status int, sent request) {
		for _, one := range c.readers {
			if v := judge(one.address, got); bad(v) {
				steered++
				t.Errorf("case %d %v: %s (%s; Holdpoint said %d)\n%.2000s\narrived as\n%.2000s", n, a.notes, why, one.name, status, sent, got)
			}
		}
	}
	for n, a := range list {
		if steered >= 20 {
			t.Fatal("and so on")
		}
		if slices.Equal(a.notes, []string{"answer"}) && n%c.every != 0 {
			continue
		}
		probe := a.finish()
		sample := c.readers[n%len(c.readers)]
		asked[sample.name]++
		if judge(sample.address, probe).ran {
			direct[sample.name]++
		}

		// The situation "paused".
		first := newAttempt(a.thread)
		first.body = first.body.set("messages", `[{"id":"u1","role":"user","content":"`+c.asks+`"}]`)
		first.body = first.body.set("runId", `"r1"`)
		if status, body := first.finish().send(proxy); status != 200 || !bytes.Contains(body, []byte(`"interrupts"`)) {
			t.Fatalf("no pause to begin with: %d %s", status, body)
		}
		up.take()
		status, _ := probe.send(proxy)
		for _, got := range up.take() {
			arrived++
			judged(got, func(v verdict) bool {
				return v.ran && (v.thread == a.thread || c.bare && v.thread == "") || v.resume || v.command
			}, "a run, or an answer, reached a thread that waits", n, a, status, probe)
		}

		// The situation "unknown".
		if c.word != "" && slices.Contains(a.notes, "declares") {
			continue // then the call is the client's own
		}
		other := a.onAnother()
		status, _ = other.send(proxy)
		for _, got := range up.take() {
			judged(got, func(v verdict) bool {
				return v.resume || v.command || c.bare && v.ran && v.thread == ""
			}, "an answer reached a thread that nobody knows", n, a, status, other)
		}
	}
	t.Logf("%d requests, %d went on through Holdpoint; of those that each reader was shown it runs %v of %v", len(list), arrived, direct, asked)
	for name, n := range asked {
		if direct[name] < n/8 {
			t.Errorf("only %d of %d requests begin a run at %s: the cases no longer say much", direct[name], n, name)
		}
	}
}

// TestHonestBodiesPass: Holdpoint must accept every body that an honest client may send. It may
// refuse only spellings that no client uses.
func TestHonestBodiesPass(t *testing.T) {
	t.Parallel()
	up := &catcher{}
	up.Server = httptest.NewServer(up)
	t.Cleanup(up.Close)
	h := ownHoldpoint(t, up.URL, nil)
	proxy := strings.TrimPrefix(h.address, "http://")
	for name, change := range map[string]func(a *attempt){
		"plain":             func(a *attempt) {},
		"white space":       func(a *attempt) { a.encode = encodings["space"] },
		"without state":     func(a *attempt) { a.body = slices.Delete(a.body, 2, 3) },
		"with a version":    func(a *attempt) { a.body = a.body.set("protocolVersion", `"1.0"`) },
		"with a parent":     func(a *attempt) { a.body = a.body.set("parentRunId", `"r1"`) },
		"text/plain":        func(a *attempt) { a.header[0] = "Content-Type: text/plain" },
		"charset":           func(a *attempt) { a.header[0] = "Content-Type: application/json; charset=utf-8" },
		"escaped value":     func(a *attempt) { a.body = a.body.set("runId", `"\u0041-\u00e9-\ud83d\ude00"`) },
		"deep state":        func(a *attempt) { a.body = a.body.set("state", deep(100)) },
		"keys in the state": func(a *attempt) { a.body = a.body.set("state", `{"thread_id":1,"resume":2,"Messages":3,"command":4}`) },
		"other forwarded":   func(a *attempt) { a.body = a.body.set("forwardedProps", `{"config":{"thread_id":"x"},"nodeName":"n"}`) },
		"a query":           func(a *attempt) { a.target = "/agent?a=b&c" },
		"an escaped path":   func(a *attempt) { a.target = "/agents/a%20b" },
		"a big number":      func(a *attempt) { a.body = a.body.set("state", `{"n":12345678901234567890.5}`) },
		"an empty resume":   func(a *attempt) { a.body = a.body.set("resume", `[]`) },
		"long message": func(a *attempt) {
			a.body = a.body.set("messages", `[{"id":"u1","role":"user","content":"`+strings.Repeat("é", 500_000)+`"}]`)
		},
		"no accept": func(a *attempt) { a.header = a.header[:1] },
		"messages with extra": func(a *attempt) {
			a.body = a.body.set("messages", `[{"id":"u1","role":"user","content":"x","thread_id":"y","resume":[]}]`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt("honest " + name)
			change(a)
			status, body := a.finish().send(proxy)
			if status != 200 || len(up.take()) != 1 {
				t.Errorf("did not pass: %d %s", status, body)
			}
		})
	}
	// A body that is neither a run nor an answer must reach the backend unchanged, with every
	// method that can have a body.
	upload := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"resume.pdf\"\r\nContent-Type: application/pdf\r\n\r\n" + strings.Repeat("%PDF-\x00\xff\r\n", 50_000) +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"threadId\"\r\n\r\nt\r\n--x--\r\n"
	for name, c := range map[string]struct{ contentType, body string }{
		"an upload":                   {partType, upload},
		"a large file":                {"Content-Type: application/octet-stream", strings.Repeat("\x7b\x00binary", 100_000)[1:]},
		"a picture":                   {"Content-Type: image/png", "\x89PNG\r\n\x1a\n{\"threadId\":"},
		"a JSON API":                  {jsonType, `{"name":"A","threadId":"t","tags":["resume"],"nested":{"runId":"r","messages":[]}}`},
		"a JSON list":                 {jsonType, `[{"threadId":"t","runId":"r","messages":[]}]`},
		"a merge patch":               {"Content-Type: application/merge-patch+json", `{"title":null,"messages":3}`},
		"a JSON patch":                {"Content-Type: application/json-patch+json", `[{"op":"add","path":"/resume","value":1}]`},
		"GraphQL":                     {jsonType, `{"query":"mutation($input: RunInput!) { run(input: $input) { threadId messages { id } } }","variables":{"input":{"threadId":"t","runId":"r","messages":[]}}}`},
		"OpenAI's chat completions":   {jsonType, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"stream":true}`},
		"OpenAI's, with a tool":       {jsonType, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"{\"ok\":true}"}]}`},
		"OpenAI's responses":          {jsonType, `{"model":"m","input":[{"role":"user","content":"hi"}],"previous_response_id":"r"}`},
		"Anthropic's messages":        {jsonType, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`},
		"the AI SDK's chat":           {jsonType, `{"id":"c1","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}],"trigger":"submit-message"}`},
		"MCP":                         {jsonType, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`},
		"a life":                      {jsonType, `{"resume":{"basics":{"name":"A"},"work":[{"name":"W"}]}}`},
		"a form":                      {formType, "threadId=t&comment=messages%5B0%5D%3D1&name=text"},
		"a form of a legacy page":     {formType + "; charset=windows-1252", "name=%E9t%E9"},
		"lines of JSON":               {"Content-Type: application/x-ndjson", "{\"index\":{}}\n{\"threadId\":\"t\",\"text\":\"x\"}\n"},
		"text":                        {"Content-Type: text/plain; charset=iso-8859-2", "\xb1 threadId runId messages"},
		"UTF-16":                      {"Content-Type: text/csv; charset=utf-16", "\xff\xfea\x00,\x00b\x00"},
		"a template":                  {"Content-Type: text/plain", "{% block threadId %}"},
		"XML":                         {"Content-Type: application/xml; charset=utf-8", "<?xml version=\"1.0\"?><threadId runId='r'/>"},
		"a telemetry batch":           {jsonType + "; charset=UTF-8", `{"resourceSpans":[{"resource":{"attributes":[]}}]}`},
		"nothing declared":            {"Accept: */*", "threadId=t&runId=r"},
		"LangGraph's own resume":      {jsonType, `{"assistant_id":"a","command":{"resume":true},"input":null}`},
		"white space and an object":   {jsonType, " \r\n\t{ \"a\" : 1.0 }\n"},
		"an object with an odd spelt": {jsonType, `{"THREAD_ID":"t","other":[1,2,{"run_id":1}]}`},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "QUERY"} {
			t.Run(name+" by "+method, func(t *testing.T) {
				status, body := request{method: method, target: "/v1/things", header: []string{c.contentType}, body: []byte(c.body)}.send(proxy)
				got := up.take()
				if status != 200 || len(got) != 1 || got[0].method != method || string(got[0].body) != c.body {
					t.Errorf("did not pass as it was: %d %.300s\n%.300q", status, body, got)
				}
			})
		}
	}
}
