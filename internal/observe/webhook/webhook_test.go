package webhook_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/observe/webhook"
	"holdpoint/store"
	"holdpoint/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	hostile   = "<!channel> <https://evil|x> \"}],\"a\":\" \\ *b*\n@here \u202egnp.exe\u2028\x00"
)

// A recorder is a receiver of the webhook that records its requests.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	ids    []string
	heads  []http.Header
	status func(n int) int // returns the status for the n-th request, from 1
	got    chan struct{}
}

func record(t *testing.T, status func(n int) int) *recorder {
	r := &recorder{status: status, got: make(chan struct{}, 1000)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.bodies, r.ids, r.heads = append(r.bodies, string(body)), append(r.ids, req.Header.Get("webhook-id")), append(r.heads, req.Header)
	n := len(r.bodies)
	r.mu.Unlock()
	if r.status != nil {
		code := r.status(n)
		if code/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(code)
	}
	r.got <- struct{}{}
}

// wait waits until the recorder has got n more requests.
func (r *recorder) wait(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-r.got:
		case <-time.After(20 * time.Second):
			t.Fatal("the receiver got nothing more")
		}
	}
}

func urlOf(t *testing.T, text string) *url.URL {
	u, err := webhook.ParseURL(text, true)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// run runs a sender until the test ends, or until the returned function is called.
func run(t *testing.T, s store.Store, o webhook.Options) (*webhook.Sender, func()) {
	o.Private, o.PollInterval = true, 20*time.Millisecond
	sender, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { sender.Run(s, stop); close(done) }()
	end := sync.OnceFunc(func() { close(stop); <-done })
	t.Cleanup(end)
	return sender, end
}

func raised(words string) *event.Event {
	return &event.Event{
		Kind: event.Raised, Time: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), Agent: words, Thread: words, Pause: "p", Door: event.Chat,
		Interrupts: []event.Interrupt{{
			ID: words, Reason: words, Tools: []string{words}, Object: agui.MustMarshal(map[string]string{"message": "the agent's words " + words}),
			Calls: json.RawMessage(`[{"name":"refund","arguments":{"amount":100}}]`),
		}},
	}
}

// post opens a pause on the thread with this key. The pause has the notice that m makes of the
// event e.
func post(t *testing.T, s store.Store, key store.Key, m *webhook.NoticeMaker, e *event.Event) store.Notice {
	t.Helper()
	n, ok := m.Notice(e)
	if !ok {
		t.Fatal("it is not to be sent")
	}
	if _, err := s.Do(t.Context(), key, store.Ask{Pause: agui.Pause{ID: "p"}, Notices: []store.Notice{n}}); err != nil {
		t.Fatal(err)
	}
	return n
}

// empty waits until the record of the thread with this key has no notices.
func empty(t *testing.T, s store.Store, key store.Key) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		rec, err := s.Load(t.Context(), key, "")
		if err != nil {
			t.Fatal(err)
		}
		if rec.Outbox == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still there: %+v", rec.Outbox)
		}
	}
}

// TestSigned: each event must arrive once. While an old and a new secret are configured, the event
// must have a signature of each, as Standard Webhooks requires. The body must contain no arguments
// and no texts of the agent.
func TestSigned(t *testing.T) {
	r, s := record(t, nil), memory.New(memory.Options{})
	sender, end := run(t, s, webhook.Options{URL: urlOf(t, r.URL), Secrets: []string{newSecret, secret}})
	n := post(t, s, "k", &webhook.NoticeMaker{}, raised("billing"))
	sender.Wake("k")
	r.wait(t, 1)
	empty(t, s, "k")
	end()
	if len(r.bodies) != 1 || r.ids[0] != n.ID || r.bodies[0] != string(n.Body) {
		t.Fatalf("got %q with %q, want %s once", r.bodies, r.ids, n.Body)
	}
	if strings.Contains(r.bodies[0], "amount") || strings.Contains(r.bodies[0], "words") {
		t.Errorf("the body has what was not asked for: %s", r.bodies[0])
	}
	for _, key := range []string{secret, newSecret} {
		w, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Verify([]byte(r.bodies[0]), r.heads[0]); err != nil {
			t.Error(err)
		}
		if w.Verify([]byte(r.bodies[0]+" "), r.heads[0]) == nil {
			t.Error("another body is signed too")
		}
	}
	var b webhook.Body
	if err := json.Unmarshal([]byte(r.bodies[0]), &b); err != nil || b.Type != event.Raised || b.Data.Interrupts[0].Tools[0] != "billing" {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestContent: a notice must contain messages, arguments and answers only if this is configured. If
// the notice would then be too large for a record, it must leave them out.
func TestContent(t *testing.T) {
	m := &webhook.NoticeMaker{Content: true}
	n, _ := m.Notice(raised("x"))
	if !strings.Contains(string(n.Body), `"amount":100`) || !strings.Contains(string(n.Body), "the agent's words") {
		t.Errorf("without its content: %s", n.Body)
	}
	n, _ = m.Notice(raised(strings.Repeat("x", store.MaxNoticeBytes)))
	if len(n.Body) > store.MaxNoticeBytes || !strings.Contains(string(n.Body), `"leftOut":true`) {
		t.Errorf("%d bytes", len(n.Body))
	}
	if _, ok := m.Notice(&event.Event{Kind: event.Refused}); ok {
		t.Error("a refusal is sent")
	}
	long := raised(strings.Repeat("<", 1000))
	i := &long.Interrupts[0]
	i.Tools = slices.Repeat(i.Tools, 100)
	long.Tenant, long.Run, long.Principal, long.Code = i.ID, i.ID, i.ID, i.ID
	long.Interrupts = slices.Repeat(long.Interrupts, 100)
	for _, m := range []*webhook.NoticeMaker{{}, {Content: true}} {
		n, _ = m.Notice(long)
		if err := json.Unmarshal(n.Body, new(webhook.Body)); err != nil || len(n.Body) > store.MaxNoticeBytes {
			t.Errorf("an agent that asks much is not told of: %d bytes, %v", len(n.Body), err)
		}
	}
	many := raised("x")
	for range 100 {
		many.Interrupts = append(many.Interrupts, many.Interrupts[0])
	}
	n, _ = (&webhook.NoticeMaker{}).Notice(many)
	if !strings.Contains(string(n.Body), `"more":85`) {
		t.Errorf("101 questions: %s", n.Body)
	}
}

// TestTriedAgain: the receiver does not accept an event. The sender must send it again under the
// same id, until the receiver accepts it. The events must stay in order. The sender must not follow
// redirects. After a final status, it must not send the event again.
func TestTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		result   string // the result of the last attempt
	}{
		{"500", []int{500, 204}, webhook.ResultSent},
		{"a redirect", []int{302, 307, 200}, webhook.ResultSent},
		{"401", []int{401, 200}, webhook.ResultSent},
		{"429", []int{429, 202}, webhook.ResultSent},
		{"400", []int{400}, webhook.ResultRefused},
		{"410", []int{410}, webhook.ResultRefused},
		{"413", []int{413}, webhook.ResultRefused},
		{"422", []int{422}, webhook.ResultRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := record(t, func(n int) int { return c.statuses[min(n, len(c.statuses))-1] })
			s := memory.New(memory.Options{})
			var mu sync.Mutex
			var results []string
			sender, end := run(t, s, webhook.Options{URL: urlOf(t, r.URL), OnTry: func(result string, _ time.Duration) {
				mu.Lock()
				results = append(results, result)
				mu.Unlock()
			}})
			n := post(t, s, "k", &webhook.NoticeMaker{}, raised("x"))
			sender.Wake("k")
			r.wait(t, len(c.statuses))
			empty(t, s, "k")
			end()
			if len(r.ids) != len(c.statuses) || slices.ContainsFunc(r.ids, func(id string) bool { return id != n.ID }) {
				t.Errorf("got %q, want %s %d times", r.ids, n.ID, len(c.statuses))
			}
			if results[len(results)-1] != c.result || len(results) != len(c.statuses) {
				t.Errorf("got %q, want %s at the end", results, c.result)
			}
		})
	}
}

// TestClocksThatDiffer: the store's clock decides which notices of other processes are due, even if
// the clock of this process is wrong.
func TestClocksThatDiffer(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		r := record(t, nil)
		s := memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
		post(t, s, "k", &webhook.NoticeMaker{}, raised("billing"))
		run(t, s, webhook.Options{URL: urlOf(t, r.URL), PollInterval: 20 * time.Millisecond})
		r.wait(t, 1)
		empty(t, s, "k")
	}
}

// TestTwoSenders: two processes share a store. Each event must be sent by only one of them, and
// once.
func TestTwoSenders(t *testing.T) {
	r, s := record(t, nil), memory.New(memory.Options{})
	_, end1 := run(t, s, webhook.Options{URL: urlOf(t, r.URL)})
	_, end2 := run(t, s, webhook.Options{URL: urlOf(t, r.URL)})
	for _, key := range []store.Key{"a", "b", "c", "d", "e"} {
		post(t, s, key, &webhook.NoticeMaker{}, raised("x"))
	}
	r.wait(t, 5)
	for _, key := range []store.Key{"a", "b", "c", "d", "e"} {
		empty(t, s, key)
	}
	end1()
	end2()
	if ids := slices.Compact(slices.Sorted(slices.Values(r.ids))); len(ids) != 5 || len(r.ids) != 5 {
		t.Errorf("%d events in %d requests, want 5 in 5", len(ids), len(r.ids))
	}
}

// TestSlowReceiver: the sender must be able to stop while the receiver has not responded. Then the
// event must be due for another process.
func TestSlowReceiver(t *testing.T) {
	release, came := make(chan struct{}), make(chan struct{}, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(release)
	s := memory.New(memory.Options{})
	sender, end := run(t, s, webhook.Options{URL: urlOf(t, slow.URL)})
	n := post(t, s, "k", &webhook.NoticeMaker{}, raised("x"))
	sender.Wake("k")
	<-came
	end() // if this took longer, the test would time out
	taken, err := s.Do(context.Background(), "k", store.Take{Hold: time.Minute})
	if err != nil || len(taken.Notices) != 1 || taken.Notices[0].ID != n.ID || taken.Tries != 0 {
		t.Errorf("took %+v, %v", taken, err)
	}
}

// TestRecipes tests the templates in deploy/webhook with texts of an agent. Whatever a text
// contains, the body must be valid JSON, and the receiver must read it as plain text.
func TestRecipes(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/webhook/*.tmpl")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tmpl, err := webhook.ParseTemplate(string(text))
			if err != nil {
				t.Fatal(err)
			}
			keys := map[string]bool{}
			for _, words := range []string{"plain", hostile} {
				r, s := record(t, nil), memory.New(memory.Options{})
				sender, end := run(t, s, webhook.Options{URL: urlOf(t, r.URL), Template: tmpl})
				n := post(t, s, "k", &webhook.NoticeMaker{Content: true}, raised(words))
				sender.Wake("k")
				r.wait(t, 1)
				end()
				if r.bodies[0] == string(n.Body) {
					t.Fatal("the default body was sent")
				}
				var body any
				if err := json.Unmarshal([]byte(r.bodies[0]), &body); err != nil {
					t.Fatalf("%v: %s", err, r.bodies[0])
				}
				had := map[string]bool{}
				texts := collect(body, had)
				if words == "plain" {
					keys = had
				} else if !maps.Equal(keys, had) {
					t.Errorf("the agent's words made other keys: %v", had)
				}
				if !strings.Contains(texts, strings.SplitN(words, " ", 2)[0]) && !strings.Contains(texts, "&lt;!channel&gt;") {
					t.Errorf("the words are gone: %s", texts)
				}
				if strings.ContainsAny(texts, "\u202e\u2028\x00") {
					t.Errorf("what is not seen got through: %q", texts)
				}
				if top, ok := body.(map[string]any)["text"].(string); ok && strings.Contains(top, "<!") {
					t.Errorf("Slack would take it for a mention: %s", top)
				}
			}
		})
	}
}

// TestRecipesStayShort: if a message is too long, its receiver refuses it, and nobody sees the
// question. So each message must stay short, however long the agent's question is. The limits are
// 3,000 characters in a text of Slack, 28 KB in a message of Teams, and 4,096 bytes in a message of
// ntfy.
func TestRecipesStayShort(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/webhook/*.tmpl")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := webhook.ParseTemplate(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{"<", "a", "€"} {
			e := raised(strings.Repeat(c, 600))
			i := &e.Interrupts[0]
			i.Calls = nil
			for range 20 {
				i.Tools = append(i.Tools, i.Tools[0])
			}
			for range 20 {
				e.Interrupts = append(e.Interrupts, *i)
			}
			r, s := record(t, nil), memory.New(memory.Options{})
			sender, end := run(t, s, webhook.Options{URL: urlOf(t, r.URL), Template: tmpl})
			n := post(t, s, "k", &webhook.NoticeMaker{}, e)
			sender.Wake("k")
			r.wait(t, 1)
			end()
			var body map[string]any
			if err := json.Unmarshal([]byte(r.bodies[0]), &body); err != nil || r.bodies[0] == string(n.Body) {
				t.Fatalf("%s: %v, %.300s", file, err, r.bodies[0])
			}
			if message, _ := body["message"].(string); len(r.bodies[0]) > 28_000 || len(message) > 4096 {
				t.Errorf("%s: %d bytes, and a message of %d", file, len(r.bodies[0]), len(message))
			}
			for _, text := range texts(body) {
				if utf8.RuneCountInString(text) > 3000 {
					t.Errorf("%s: a text of %d bytes", file, len(text))
				}
			}
		}
	}
}

// texts returns all strings within a JSON value.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	case map[string]any:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	}
	return all
}

// collect returns all strings within a JSON value, one in each line, and adds the keys of its
// objects to keys.
func collect(v any, keys map[string]bool) string {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		var all string
		for _, one := range v {
			all += collect(one, keys)
		}
		return all
	case map[string]any:
		var all string
		for key, one := range v {
			keys[key] = true
			all += collect(one, keys)
		}
		return all
	}
	return ""
}

// TestTemplatesThatAreRefused: if a template prints a value without escaping it, or its output is
// not JSON, ParseTemplate must refuse it.
func TestTemplatesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"a":"{{.Thread}}"}`, `{"a":"{{printf "%s" .Thread}}"}`, `{"a":"{{html .Thread}}"}`, `{"a":"{{js .Thread}}"}`,
		`{"a":"{{urlquery .Thread}}"}`, `{"a":"{{print .Thread}}"}`, `{"a":"{{index .Thread 0}}"}`, `{"a":"{{range .Thread}}{{.}}{{end}}"}`,
		`{"a":{{printf "%q" .Thread}}}`, `{"a":"{{.Thread.text}}"}`, `{"a":"{{.Interrupts}}"}`, `{"a":"{{.}}"}`,
		`{"a":"{{(index .Interrupts 0).Message}}"}`, `{"a":"{{slice (printf "%v" .Thread) 0 99}}"}`,
		`{"a":`, `{{json .Thread}`, `{{json .Nothing}}`, `{"a":{{in .Thread}}}`, `"{{.Thread | slack}}" "`,
	} {
		if _, err := webhook.ParseTemplate(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	for _, text := range []string{`{"a":{{json .Thread}}}`, `{"a":"{{in .Thread}}"}`, `{"a":{{if is .Agent "billing"}}1{{else}}2{{end}}}`} {
		if _, err := webhook.ParseTemplate(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestThreadThatNamesTheWordOfABrokenTemplate: to find unescaped values, the check of templates
// uses a special word. A text of the event is this same word. The template must still be used.
func TestThreadThatNamesTheWordOfABrokenTemplate(t *testing.T) {
	tmpl, err := webhook.ParseTemplate(`{"a":{{json .Thread}},"text":"{{in .Agent}}"}`)
	if err != nil {
		t.Fatal(err)
	}
	r, s := record(t, nil), memory.New(memory.Options{})
	sender, end := run(t, s, webhook.Options{URL: urlOf(t, r.URL), Template: tmpl})
	const word = "HOLDPOINTVALUEWITHOUTJSONORSLACK"
	post(t, s, "k", &webhook.NoticeMaker{}, raised(word))
	sender.Wake("k")
	r.wait(t, 1)
	end()
	if !strings.Contains(r.bodies[0], `"text":"`+word+`"`) {
		t.Errorf("got %s", r.bodies[0])
	}
}

// TestDefaultInPlaceOfABrokenBody: if the output of the template is not JSON for some text of an
// agent, the default body must be sent.
func TestDefaultInPlaceOfABrokenBody(t *testing.T) {
	tmpl, err := webhook.ParseTemplate(`{"a":{{if is .Agent "breaks"}}{{else}}1{{end}}}`)
	if err != nil {
		t.Fatal(err)
	}
	r, s := record(t, nil), memory.New(memory.Options{})
	sender, end := run(t, s, webhook.Options{URL: urlOf(t, r.URL), Template: tmpl})
	n := post(t, s, "k", &webhook.NoticeMaker{}, raised("breaks"))
	sender.Wake("k")
	r.wait(t, 1)
	end()
	if r.bodies[0] != string(n.Body) {
		t.Errorf("got %s", r.bodies[0])
	}
}

// TestAddresses: a private address must be refused unless private addresses are allowed. This
// includes a name that resolves to a private address.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		address     string
		public, own bool // whether it is accepted without and with HOLDPOINT_WEBHOOK_PRIVATE
	}{
		{"https://hooks.example.com/x?y=z", true, true},
		{"https://93.184.216.34/", true, true},
		{"http://hooks.example.com/", false, true},
		{"https://10.0.0.1/", false, true},
		{"https://127.0.0.1/", false, true},
		{"https://[::1]/", false, true},
		{"https://[::ffff:10.0.0.1]/", false, true},
		{"https://[fd00::1]/", false, true},
		{"https://100.64.0.1/", false, true},
		{"https://169.254.169.254/latest", false, false},
		{"https://[fe80::1]/", false, false},
		{"https://0.0.0.0/", false, false},
		{"https://[fd00:ec2::254]/latest", false, false},
		{"https://[fd00:ec2::23]/", false, false},
		{"https://[fd00:ec3::254]/", false, true},
		{"https://[fd20:ce::254]/", false, false},
		{"https://168.63.129.16/", false, false},
		{"https://168.63.129.17/", true, true},
		{"https://[::ffff:168.63.129.16]/", false, false},
		{"https://192.0.0.192/", false, false},
		{"https://[fd00:c1::a9fe:a9fe]/", false, false},
		{"https://100.100.100.200/", false, false},
		{"https://100.100.100.201/", false, true},
		{"https://[fd00:100::100:200]/", false, false},
		{"https://[fd00:42::42]/", false, false},
		{"https://[fd00:a9fe:a9fe::1]/", false, false},
		{"https://192.80.8.124/", false, false},
		{"https://[64:ff9b::a9fe:a9fe]/", false, false},
		{"https://[64:ff9b::a00:1]/", false, true},
		{"https://[64:ff9b:1::a9fe:a9fe]/", false, false},       // IPv4 address after a prefix of 96 bits
		{"https://[64:ff9b:1:0:a9:fea9:fe00:0]/", false, false}, // after a prefix of 64 bits
		{"https://[64:ff9b:1:a9:fe:a9fe::]/", false, false},     // after a prefix of 56 bits
		{"https://[64:ff9b:1:a9fe:a9:fe00::]/", false, false},   // after a prefix of 48 bits
		{"https://[64:ff9b:1:a83f:81:1000::]/", false, false},   // Azure's metadata service
		// In the next addresses, an IPv4 address follows a prefix of 64 bits with a subnet.
		{"https://[64:ff9b:1:abcd:a9:fea9:fe00:0]/", false, false},
		{"https://[64:ff9b:1:a00:0:100::]/", false, true}, // contains 10.0.0.1
		{"https://[64:ff9b:1::5db8:d822]/", false, true},
		{"https://[2002:a9fe:a9fe::1]/", false, false},
		{"https://[2002:a83f:8110::1]/", false, false},
		{"ftp://hooks.example.com/", false, false},
		{"https://u:p@hooks.example.com/", false, false},
		{"hooks.example.com", false, false},
	} {
		_, err := webhook.ParseURL(c.address, false)
		if (err == nil) != c.public {
			t.Errorf("%s: %v", c.address, err)
		}
		if _, err = webhook.ParseURL(c.address, true); (err == nil) != c.own {
			t.Errorf("%s with private ones: %v", c.address, err)
		}
	}
	r, s := record(t, nil), memory.New(memory.Options{})
	u := urlOf(t, r.URL)
	u.Host = strings.Replace(u.Host, "127.0.0.1", "localhost", 1)
	failed := make(chan string, 100)
	sender, err := webhook.New(webhook.Options{URL: u, OnTry: func(result string, _ time.Duration) { failed <- result }})
	if err != nil {
		t.Fatal(err)
	}
	post(t, s, "k", &webhook.NoticeMaker{}, raised("x"))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { sender.Run(s, stop); close(done) }()
	sender.Wake("k")
	if result := <-failed; result != webhook.ResultFailed || len(r.bodies) != 0 {
		t.Errorf("a name that leads inside: %s, and the receiver got %q", result, r.bodies)
	}
	close(stop)
	<-done
}

func TestSecretsThatAreRefused(t *testing.T) {
	for _, secret := range []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_short", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"} {
		if _, err := webhook.New(webhook.Options{Secrets: []string{secret}}); err == nil {
			t.Errorf("%s is taken", secret)
		}
	}
}
