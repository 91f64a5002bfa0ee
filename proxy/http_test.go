package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
)

func echo(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, finished)) }

func TestJoinPath(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{
		{"/agent", "/", "/agent"},
		{"/agent", "", "/agent"},
		{"/agent/", "/", "/agent/"},
		{"/agent", "/x", "/agent/x"},
		{"/agent/", "/x/", "/agent/x/"},
		{"", "/", "/"},
		{"/", "/x", "/x"},
		{"", "/x//y", "/x//y"},
		{"/a%2Fb", "/c%2Fd", "/a%2Fb/c%2Fd"},
	} {
		if got := joinPath(tt.base, tt.path); got != tt.want {
			t.Errorf("%q + %q = %q, want %q", tt.base, tt.path, got, tt.want)
		}
	}
}

func TestPathAndQueryReachTheBackendByteForByte(t *testing.T) {
	g := newRig(t, echo)
	g.h.opts.Upstream.RawQuery = "key=a%20b"
	for _, tt := range []struct{ target, want string }{
		{"/", "/agent?key=a%20b"},
		{"/x%2Fy?q=1;2&z=%zz", "/agent/x%2Fy?key=a%20b&q=1;2&z=%zz"},
	} {
		res, err := http.Post(g.front.URL+tt.target, "application/json", strings.NewReader(input("t", "r", "")))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := g.paths[len(g.paths)-1]; got != tt.want {
			t.Errorf("%s reached the backend as %s, want %s", tt.target, got, tt.want)
		}
	}
}

func TestMisleadingPathsAreRefused(t *testing.T) {
	g := newRig(t, echo)
	for _, path := range []string{"/a/../b", "/./b", "/a/%2e%2e/b", "/a/.%2E", "/a%2f..%2fb", "/a/..%5cb", "/agent%0a", "/agent%00", "/%7fagent"} {
		req, _ := http.NewRequest(http.MethodPost, g.front.URL, strings.NewReader(input("t", "r", "")))
		req.URL.Opaque = path
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if g.called() != 0 {
		t.Error("the backend was called")
	}
}

func TestRequestHeaders(t *testing.T) {
	g := newRig(t, echo, func(o *Options) { o.UpstreamHeaders = http.Header{"X-Api-Key": {"ours"}} })
	req, _ := http.NewRequest(http.MethodPost, g.front.URL, strings.NewReader(input("t", "r", "")))
	for k, v := range map[string]string{
		"Accept": "*/*", "Accept-Encoding": "gzip", "Authorization": "Bearer x", "X-Api-Key": "theirs", "Traceparent": "00-1-2-01",
		"X-Forwarded-For": "10.1.1.1", "X-Forwarded-Proto": "https", "Connection": "X-Api-Key, upgrade", "Upgrade": "h2c", "Expect": "100-continue",
	} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	got := g.heads[0]
	for k, want := range map[string]string{
		"Accept": "text/event-stream", "Accept-Encoding": "", "Authorization": "Bearer x", "X-Api-Key": "ours", "Traceparent": "00-1-2-01",
		"X-Forwarded-For": "10.1.1.1, 127.0.0.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": strings.TrimPrefix(g.front.URL, "http://"), "Upgrade": "",
	} {
		if got.Get(k) != want {
			t.Errorf("%s: %q, want %q", k, got.Get(k), want)
		}
	}
	for k, want := range map[string]string{"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Type": "text/event-stream"} {
		if res.Header.Get(k) != want {
			t.Errorf("answer: %s: %q, want %q", k, res.Header.Get(k), want)
		}
	}
}

// TestIdempotencyKeyDoesNotMakeTheTransportRepeatAResume: a POST has an Idempotency-Key, and its
// connection breaks after net/http has written the request. Then net/http sends the request again
// by itself, and the action would run twice. Holdpoint must prevent this.
func TestIdempotencyKeyDoesNotMakeTheTransportRepeatAResume(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var mu sync.Mutex
	requests, keys := 0, 0
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for {
					// The connection stays open after its first response. The server closes it when
					// it has read the next request.
					buf := make([]byte, 64<<10)
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					if !bytes.Contains(buf[:n], []byte("resume")) && !bytes.Contains(buf[:n], []byte("POST")) {
						continue
					}
					mu.Lock()
					requests++
					first := requests == 1
					if bytes.Contains(bytes.ToLower(buf[:n]), []byte("idempotency-key: k")) {
						keys++
					}
					mu.Unlock()
					if !first {
						return
					}
					body := streamOf(started, finished)
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				}
			}()
		}
	}()
	g := newRig(t, echo, func(o *Options) { o.Upstream = &url.URL{Scheme: "http", Host: listener.Addr().String()} })
	for range 2 {
		req, _ := http.NewRequest(http.MethodPost, g.front.URL, strings.NewReader(input("t", "r", "")))
		req.Header.Set("Idempotency-Key", "k")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if requests != 2 || keys != 2 {
		t.Errorf("%d requests and %d keys reached the backend for 2 of the client", requests, keys)
	}
}

// TestFastPostStreamsAreNotCut is the regression test for golang/go#40747: a plain ReverseProxy
// cuts up to 4 in 100 streams if the backend responds at once.
func TestFastPostStreamsAreNotCut(t *testing.T) {
	long := streamOf(started) + strings.Repeat(streamOf(hello), 200) + streamOf(finished)
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; i < len(long); i += 4096 {
			io.WriteString(w, long[i:min(i+4096, len(long))])
			http.NewResponseController(w).Flush()
		}
	}, func(o *Options) { o.Logger = nil })
	body := input("t", "r", `,"state":"`+strings.Repeat("x", 4096)+`"`)
	var wg sync.WaitGroup
	var mu sync.Mutex
	cut := 0
	for range 8 {
		wg.Go(func() {
			for range 125 {
				res, err := http.Post(g.front.URL, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || string(got) != long {
					mu.Lock()
					cut++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if cut > 0 {
		t.Errorf("%d of 1000 streams were cut", cut)
	}
}

func TestWhatIsNoRunPassesUntouched(t *testing.T) {
	var gotBody []byte
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		gotBody, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Etag", `"1"`)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"interrupts":true}`)
	})
	upload := strings.Repeat("\x00\x01binary", 100)
	for _, tt := range []struct{ method, contentType, body string }{
		{"GET", "", ""},
		{"PUT", "application/json", `{"threadId":"t","title":"a document"}`},
		{"PATCH", "application/merge-patch+json", `{"title":null}`},
		{"DELETE", "application/json", `{"ids":[1,2]}`},
		{"QUERY", "application/json", `{"select":"*"}`},
		{"GET", "application/json", `{"query":{"match_all":{}}}`},
		{"PUT", "text/plain; charset=windows-1251", "\xcf\xf0\xe8"},
		{"PUT", "text/plain; charset=utf-16", "\xff\xfeh\x00i\x00"},
		{"POST", "application/x-www-form-urlencoded", "threadId=t&title=a+form&messages_per_page=7"},
		{"POST", "application/x-www-form-urlencoded; charset=UTF-8", "resume=my+life%21&name=A"},
		{"POST", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"resume\"; filename=\"messages.pdf\"\r\n\r\n%PDF\r\n--x--\r\n"},
		{"POST", "application/json", `{"resume":{"name":"A","jobs":["cook"]}}`},
		{"POST", "application/json", `{"operationName":"Q","query":"query Q { thread { messages { id } } }","variables":{"threadId":"t","runId":"r"}}`},
		{"POST", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"stream":true}`},
		{"POST", "application/json", `{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":"{\"ok\":true}"}]}`},
		{"POST", "application/x-ndjson", "{\"index\":{}}\n{\"threadId\":\"t\"}\n"},
		{"DELETE", "", ""},
		{"OPTIONS", "", ""},
		{"POST", "", ""},
		{"POST", "application/octet-stream", upload},
		{"POST", "multipart/form-data; boundary=x", "--x\r\n\r\n{}\r\n--x--"},
		{"POST", "application/json", `[1,2]`},
		{"POST", "application/json", `{"query":"{ threadId runId }"}`},
		{"POST", "application/json", `{"messages":[],"model":"m"}`},
		{"POST", "text/plain", `{% not json %}`},
	} {
		req, _ := http.NewRequest(tt.method, g.front.URL+"/capabilities", strings.NewReader(tt.body))
		req.Header.Set("Content-Type", tt.contentType)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusCreated || string(got) != `{"interrupts":true}` || res.Header.Get("Etag") != `"1"` || string(gotBody) != tt.body {
			t.Errorf("%s %s: %d %s, the backend got %q", tt.method, tt.contentType, res.StatusCode, got, gotBody)
		}
	}
}

func TestRunsThatMustNotBeGuessedAtAreRefused(t *testing.T) {
	g := newRig(t, echo, func(o *Options) { o.MaxRequestBytes = 4096 })
	utf16 := func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			b.WriteByte(c)
			b.WriteByte(0)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, body string
		status     int
	}{
		{"thread_id", `{"thread_id":"t","runId":"r","messages":[]}`, 400},
		{"threadID", `{"threadID":"t","runId":"r","messages":[]}`, 400},
		{"an escaped key", `{"thread\u0049d":"t","runId":"r","messages":[]}`, 400},
		{"threadId twice", `{"threadId":"t","threadId":"u","runId":"r","messages":[]}`, 400},
		{"two spellings", `{"threadId":"t","thread_id":"u","runId":"r","messages":[]}`, 400},
		{"resume twice", `{"threadId":"t","runId":"r","resume":[],"resume":[{}]}`, 400},
		{"Resume", `{"threadId":"t","runId":"r","Resume":[]}`, 400},
		{"forwarded_props", `{"threadId":"t","runId":"r","forwarded_props":{}}`, 400},
		{"messages with resume and no thread", `{"messages":[],"resume":[]}`, 400},
		{"a thread that is no string", `{"threadId":7,"runId":"r"}`, 400},
		{"a thread that is too long", `{"threadId":"` + strings.Repeat("x", 513) + `","runId":"r"}`, 400},
		{"a thread with half a surrogate pair", `{"threadId":"\ud800","runId":"r"}`, 400},
		{"invalid UTF-8", "{\"threadId\":\"t\xff\",\"runId\":\"r\"}", 400},
		{"resume that is a text", `{"threadId":"t","runId":"r","resume":"x"}`, 400},
		{"interrupt_id in a resume object", `{"threadId":"t","runId":"r","resume":{"interrupt_id":"x"}}`, 400},
		{"an entry that is no object", `{"threadId":"t","runId":"r","resume":["x"]}`, 400},
		{"an entry without interruptId", `{"threadId":"t","runId":"r","resume":[{"status":"resolved"}]}`, 400},
		{"interrupt_id", `{"threadId":"t","runId":"r","resume":[{"interrupt_id":"x","status":"resolved"}]}`, 400},
		{"an unknown status", `{"threadId":"t","runId":"r","resume":[{"interruptId":"x","status":"approved"}]}`, 400},
		{"payload twice", `{"threadId":"t","runId":"r","resume":[{"interruptId":"x","status":"resolved","payload":1,"payload":2}]}`, 400},
		{"the same id twice", `{"threadId":"t","runId":"r","resume":[` + yes("x") + `,` + no("x") + `]}`, 400},
		{"Command", `{"threadId":"t","runId":"r","forwardedProps":{"Command":{"resume":true}}}`, 400},
		{"command.resume twice", `{"threadId":"t","runId":"r","forwardedProps":{"command":{"resume":1,"resume":2}}}`, 400},
		{"messages that are no array", `{"threadId":"t","runId":"r","messages":{}}`, 400},
		{"no JSON", `{"threadId":"t",`, 400},
		{"NaN, which Python takes", `{"threadId":"t","runId":"r","messages":[],"state":{"x":NaN}}`, 400},
		{"a byte order mark", "\xef\xbb\xbf" + input("t", "r", ""), 400},
		{"UTF-16", utf16(input("t", "r", "")), 400},
		{"UTF-16 with a mark", "\xff\xfe" + utf16(input("t", "r", "")), 400},
		{"UTF-16 behind much white space", utf16(strings.Repeat(" ", 700) + input("t", "r", "")), 400},
		{"white space before a run", strings.Repeat(" \n", 600) + input("t", "r", ""), 200},
		{"too large", input("t", "r", `,"state":"`+strings.Repeat("x", 4096)+`"`), 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := g.called()
			res, got := g.answer(tt.body)
			if res.StatusCode != tt.status {
				t.Errorf("%d %s", res.StatusCode, got)
			}
			if tt.status != 200 && (g.called() != calls || !strings.Contains(got, `"error":`)) {
				t.Errorf("the backend was called, or no clear error: %s", got)
			}
		})
	}
	for name, body := range map[string]string{
		"a byte order mark": "\xef\xbb\xbf" + input("t", "r", ""), "UTF-16": utf16(input("t", "r", "")), "UTF-16 behind much white space": utf16(strings.Repeat(" ", 700) + input("t", "r", "")),
	} {
		// Holdpoint must not rely on the media type that the request declares.
		for _, contentType := range []string{"text/plain", "application/octet-stream"} {
			t.Run(name+" as "+contentType, func(t *testing.T) {
				calls := g.called()
				res, err := http.Post(g.front.URL, contentType, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != 400 || g.called() != calls {
					t.Errorf("%d, and it reached the backend %d times", res.StatusCode, g.called()-calls)
				}
			})
		}
	}
	t.Run("white space without an end", func(t *testing.T) {
		calls := g.called()
		if res, _ := g.answer(strings.Repeat(" ", 8<<10)); res.StatusCode != 413 || g.called() != calls {
			t.Error(res.StatusCode)
		}
	})
	t.Run("NaN as text", func(t *testing.T) {
		res, err := http.Post(g.front.URL, "text/plain", strings.NewReader(`{"threadId":"t","runId":"r","messages":[],"state":{"x":NaN}}`))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 400 {
			t.Error(res.StatusCode)
		}
	})
	t.Run("a Content-Encoding", func(t *testing.T) {
		req, _ := http.NewRequest(http.MethodPost, g.front.URL, strings.NewReader(input("t", "r", "")))
		req.Header.Set("Content-Encoding", "gzip")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnsupportedMediaType {
			t.Error(res.StatusCode)
		}
	})
}

func TestOneThreadHasOneRecordUnderEverySpellingOfItsPath(t *testing.T) {
	g := newRig(t, asksOnce)
	post := func(path, body string) string {
		res, err := http.Post(g.front.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, _ := io.ReadAll(res.Body)
		return string(got)
	}
	post("/chat", input("t", "r1", ""))
	for _, path := range []string{"/chat/", "//chat", "/Chat", "/%63hat", "/chat?x=1"} {
		wantTypes(t, post(path, input("t", "r2", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	}
	if g.called() != 1 {
		t.Errorf("%d calls", g.called())
	}
	post("/other", input("t", "r3", ""))
	if g.called() != 2 {
		t.Error("another path shares the record")
	}
}

func TestLocationThatNamesTheUpstream(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Location", "http://"+r.Host+"/agent/runs/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Post(g.front.URL+"/runs", "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("Location"); got != g.front.URL+"/runs/" {
		t.Errorf("Location %s", got)
	}
}

func TestNotFoundIsExplainedInTheLog(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { w.WriteHeader(404) })
	res, err := http.Post(g.front.URL+"/agent", "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	logs := g.logs.String()
	if !strings.Contains(logs, "/agent/agent") || !strings.Contains(logs, "twice") {
		t.Errorf("no hint: %s", logs)
	}
}

// A hinting is a fakeDialect that returns a hint for some paths.
type hinting struct{ *fakeDialect }

func (hinting) Hint(path string) string {
	if strings.Contains(path, "/runs/") {
		return "a protocol of its own"
	}
	return ""
}

// TestHintsAreLoggedOnce: Holdpoint must forward requests that it does not translate. It must log
// only once why it does not translate them.
func TestHintsAreLoggedOnce(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { io.WriteString(w, "theirs") },
		func(o *Options) { o.Dialect = hinting{&fakeDialect{}} })
	for range 3 {
		for _, path := range []string{"/threads/t1/runs/stream", "/api/threads/t1/runs/wait", "/info"} {
			res, err := http.Post(g.front.URL+path, "application/json", strings.NewReader(`{"assistant_id":"a","input":{"messages":[]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(res.Body); string(got) != "theirs" {
				t.Errorf("%s: %s", path, got)
			}
			res.Body.Close()
		}
	}
	if n := strings.Count(g.logs.String(), "a protocol of its own"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

func TestLogsHoldNoPayload(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t\nforged", "r1", `,"state":{"secret":"hunter2"}`))
	g.do(input("t\nforged", "r2", resumeWith(`{"interruptId":"n1~id1","status":"resolved","payload":"hunter2"}`)))
	g.do(input("t\nforged", "r2", resumeWith(`{"interruptId":"n1~id1","status":"resolved","payload":"hunter3"}`)))
	logs := g.logs.ended(t, 3)
	if strings.Contains(logs, "hunter") {
		t.Error("a payload is in the log")
	}
	if strings.Contains(logs, "t\nforged") {
		t.Error("a client's newline is in the log")
	}
}

// TestAnswersThatNobodyCanJudgeAreLogged: a question has no schema, and the payload of its answer
// is neither a clear yes nor a clear no. Holdpoint must send the answer to the backend and log a
// warning.
func TestAnswersThatNobodyCanJudgeAreLogged(t *testing.T) {
	for payload, want := range map[string]int{
		`,"payload":"hunter2"`: 1, `,"payload":{"answer":"hunter2"}`: 1, ``: 1,
		`,"payload":true`: 0, `,"payload":"no"`: 0, `,"payload":{"approved":false,"reason":"hunter2"}`: 0,
	} {
		g := newRig(t, asksOnce)
		g.do(input("t", "r1", ""))
		g.do(input("t", "r2", resumeWith(`{"interruptId":"n1~id1","status":"resolved"`+payload+`}`)))
		logs := g.logs.String()
		if g.called() != 2 || strings.Count(logs, "level=WARN msg=\"an answer to a question without a schema") != want || strings.Contains(logs, "hunter") {
			t.Errorf("payload %q: called %d times, logged\n%s", payload, g.called(), logs)
		}
	}
}

// TestPassedFrameCostsNoAllocation checks performance goal P4: forwarding a frame unchanged costs
// no allocation.
func TestPassedFrameCostsNoAllocation(t *testing.T) {
	frame := []byte(streamOf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat("x", 120) + `"}`))
	g := newRig(t, echo)
	r := loneRun(t.Context(), g.h, "/", &agui.RunInput{})
	r.client.transcript = transcript.New(64<<20, nil, nil)
	_, translation, _ := g.dialect.Begin(&translate.Request{})
	r.exchange.Run = translation
	b := bodyOver(r, io.NopCloser(&forever{frame: frame}), translate.Unread)
	b.started = true
	read := 0
	for range 100 {
		read, _ = readFrom(b) // warm up
	}
	n := testing.AllocsPerRun(200, func() { readFrom(b) })
	if perFrame := n / float64(read/len(frame)); perFrame > 0.01 {
		t.Errorf("%.3f allocations per frame", perFrame)
	}
}

// A forever is a reader that returns the same frame again and again.
type forever struct {
	frame []byte
	at    int
}

func (f *forever) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], f.frame[f.at:])
		n += c
		f.at = (f.at + c) % len(f.frame)
	}
	return n, nil
}
