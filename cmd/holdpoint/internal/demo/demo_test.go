package demo

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// holdpoint returns the handler of a real Holdpoint in front of upstream.
func holdpoint(upstream string) (http.Handler, error) {
	dialect, err := dialects.All().New("auto", nil)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	return proxy.New(proxy.Options{Upstream: u, Dialect: dialect, Store: memory.New(memory.Options{})})
}

func TestAHumanAnswers(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"approve\n", "approve: send_email was executed once, to bob@example.org"},
		{"what?\n\na\n", "approve: send_email was executed once, to bob@example.org"},
		{"edit\n\n", "edit: send_email was executed once, to alice@example.org"},
		{"e\ncarol@example.org\n", "edit: send_email was executed once, to carol@example.org"},
		{"Deny\n", "deny: send_email was not executed"},
		{"c\n", "cancel: send_email was not executed"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			var out strings.Builder
			if err := Run(t.Context(), Options{Holdpoint: holdpoint, In: strings.NewReader(tt.in), Out: &out}); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("no %q in\n%s", tt.want, out.String())
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	var out strings.Builder
	if err := Run(t.Context(), Options{Holdpoint: holdpoint, In: strings.NewReader(""), Out: &out}); err == nil {
		t.Error("an input that ends without an answer is taken for one")
	}
}

// TestWithoutHoldpoint: the demonstration must check what it claims. So it must fail with a proxy
// that translates nothing.
func TestWithoutHoldpoint(t *testing.T) {
	var out strings.Builder
	err := Run(t.Context(), Options{Out: &out, Holdpoint: func(upstream string) (http.Handler, error) {
		u, err := url.Parse(upstream)
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			proxy.ServeHTTP(w, r)
		}), err
	}})
	if err == nil {
		t.Fatal("a proxy that translates nothing passes")
	}
	for _, want := range []string{"interrupts in its outcome", "became the decision", "PENDING_INTERRUPTS", "the replay reached the backend"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no complaint about %q in\n%v", want, err)
		}
	}
}

// TestAPersonOpensTheAddress: a person who opens the demonstration's address in a browser gets a
// page that explains it.
func TestAPersonOpensTheAddress(t *testing.T) {
	agent := httptest.NewServer(newBackend())
	defer agent.Close()
	h, err := holdpoint(agent.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	h.ServeHTTP(w, req)
	if w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Body.String(), "<h1>Holdpoint</h1>") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
}

// TestTheBackendAloneIsAsLangGraphIs: without Holdpoint, the scripted backend of the demonstration
// must behave like LangGraph in the recordings.
func TestTheBackendAloneIsAsLangGraphIs(t *testing.T) {
	b := newBackend()
	server := httptest.NewServer(b)
	defer server.Close()
	c := newClient(server.URL, "t")
	defer c.http.CloseIdleConnections()
	post := func(props string) reply {
		t.Helper()
		r, err := c.post(t.Context(), []byte(`{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"hi"}],"forwardedProps":`+props+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	types := func(r reply) string {
		var list []string
		for _, f := range r.frames {
			if kind := gjson.Get(f, "type").Str; kind != "RAW" && !slices.Contains(list[max(0, len(list)-1):], kind) {
				list = append(list, kind)
			}
		}
		return strings.Join(list, " ")
	}
	first := post(`{}`)
	if want := "RUN_STARTED STEP_STARTED STATE_SNAPSHOT TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END STEP_FINISHED STEP_STARTED " +
		"STEP_FINISHED STATE_SNAPSHOT MESSAGES_SNAPSHOT CUSTOM RUN_FINISHED"; types(first) != want {
		t.Errorf("pause: %s\nwant   %s", types(first), want)
	}
	custom := first.last("CUSTOM")
	id := custom.Get("rawEvent.id").Str
	if !nativeID.MatchString(id) || custom.Get("value").Str != custom.Get("rawEvent.value").Raw || first.last("RUN_FINISHED").Get("outcome").Exists() {
		t.Errorf("the pause is announced by %s", custom.Raw)
	}
	const again = "RUN_STARTED CUSTOM RUN_FINISHED"
	for _, props := range []string{`{}`, `{"command":{"resume":{"decisions":[{"type":"approve"}]}}}`, `{"command":{"resume":{"00000000000000000000000000000000":1}}}`} {
		if got := types(post(props)); got != again {
			t.Errorf("%s while open: %s, want %s", props, got, again)
		}
	}
	if got := types(post(`{"command":{"resume":{"` + id + `":{"decisions":[]}}}}`)); !strings.Contains(got, "RUN_ERROR") {
		t.Errorf("too few decisions: %s", got)
	}
	if len(b.sentEmails("t")) != 0 {
		t.Error("something was sent before it was approved")
	}
	if got := types(post(`{"command":{"resume":{"` + id + `":{"decisions":[{"type":"approve"}]}}}}`)); !strings.HasSuffix(got, "MESSAGES_SNAPSHOT RUN_FINISHED") {
		t.Errorf("approve: %s", got)
	}
	if got := types(post(`{"command":{"resume":{"` + id + `":{"decisions":[{"type":"approve"}]}}}}`)); got != "RUN_STARTED RUN_FINISHED" {
		t.Errorf("approve once more: %s, want a run without effect", got)
	}
	if len(b.sentEmails("t")) != 1 {
		t.Errorf("%d emails were sent, want 1", len(b.sentEmails("t")))
	}
}

func TestFramesStandBesideEachOther(t *testing.T) {
	for _, tt := range []struct{ name, left, right, want string }{
		{"untouched", "a b c", "a b c", "a= b= c="},
		{"taken out", "a x b", "a b", "a= x< b="},
		{"put in", "a b", "a y b", "a= y> b="},
		{"the end rewritten", "a x e", "a f", "a= x< e|f"},
		{"more ends than the backend's", "a e", "a f g", "a= f> e|g"},
		{"nothing sent", "", "s f", "s> f>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range align(strings.Fields(tt.left), strings.Fields(tt.right)) {
				switch r.sign {
				case " ":
					got = append(got, r.left+"=")
				case "|":
					got = append(got, r.left+"|"+r.right)
				default:
					got = append(got, r.left+r.right+r.sign)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

func TestLinesFitTheScreen(t *testing.T) {
	for _, width := range []int{60, 99, 100, 180} {
		var out strings.Builder
		s := &screen{out: &out, width: width}
		long := `{"type":"CUSTOM","name":"on_interrupt","value":"` + strings.Repeat("ä", 300) + `","rawEvent":{"id":"x"}}`
		s.frames([]string{long, `{"type":"RUN_FINISHED"}`}, []string{long, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt"}}`}, false)
		if strings.Contains(out.String(), "rawEvent") {
			t.Errorf("width %d: rawEvent is shown: %s", width, out.String())
		}
		s.fact("name", long)
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("width %d: a line has %d: %s", width, n, line)
			}
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("width %d: colours were not asked for: %q", width, out.String())
		}
		if one := strings.Contains(out.String(), "the backend sends\n"); one == (width >= twoColumns) {
			t.Errorf("width %d: one column: %v\n%s", width, one, out.String())
		}
	}
}
