package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// TestDeepStateDoesNotPanicAtAPause: encoding/json refuses values that are nested deeper than
// 10,000, and gjson accepts them. Such a value must not cause a panic at a pause, because on a
// claimed run a panic would end the process.
func TestDeepStateDoesNotPanicAtAPause(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, asks)) })
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for name, more := range map[string]string{
		"state":   input("t1", "r", `,"state":{"x":`+deep+`}`),
		"message": `{"threadId":"t2","runId":"r","messages":[{"id":"u","role":"user","content":` + deep + `}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if status, got := post(t, g.front.URL, "application/json", more); status == 200 && !strings.HasSuffix(types(got), "RUN_FINISHED+interrupt") {
				t.Errorf("%d %s", status, types(got))
			}
		})
	}
}

// TestWhatWasHeldBackIsInTheTranscript: a dialect held the events of a call back until the end of
// the run. Holdpoint must close the call and add it to the snapshot. Otherwise the client would
// delete the call.
func TestWhatWasHeldBackIsInTheTranscript(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, asks)) })
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		res, err := (&fakeRun{d: &fakeDialect{}, n: n}).End(e)
		res.HeldEvents = []agui.Event{agui.NewEvent([]byte(`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm"}`))}
		return res, err
	}
	got := g.do(input("t", "r1", ""))
	wantTypes(t, got, "RUN_STARTED TOOL_CALL_START TOOL_CALL_END MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	if !strings.Contains(got, `"toolCalls":[{"id":"c1"`) {
		t.Errorf("the snapshot lacks the call: %s", got)
	}
}

// TestNextRunOfAStreamWithdrawsThePause: after a question, the backend continues with another run
// in the same stream, without an answer. So the first question is no longer open, and an answer to
// it must be refused.
func TestNextRunOfAStreamWithdrawsThePause(t *testing.T) {
	next := `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, asks, next, hello, strings.ReplaceAll(asks, "n1", "n2")))
	})
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt RUN_STARTED TEXT_MESSAGE_CHUNK MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	if rec.State != store.Open || rec.Pause.Interrupts[0].Native != "n2" || len(rec.Results) != 1 || rec.Results[0].EndKind != store.Withdrawn {
		t.Errorf("record %+v", rec)
	}
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	if g.called() != 1 {
		t.Errorf("%d calls", g.called())
	}
}

// TestLargeFrameIsNotKept: a stream that lasts for an hour must not keep the memory of its largest
// frame.
func TestLargeFrameIsNotKept(t *testing.T) {
	g := newRig(t, echo)
	r := loneRun(t.Context(), g.h, "/", &agui.RunInput{})
	r.client.transcript = transcript.New(1<<10, nil, nil)
	_, translation, _ := g.dialect.Begin(&translate.Request{})
	r.exchange.Run = translation
	var frames strings.Builder
	frames.WriteString(streamOf(fmt.Sprintf(`{"type":"RAW","event":"%s"}`, strings.Repeat("x", 4<<20))))
	for range 5000 {
		frames.WriteString(streamOf(hello))
	}
	kept := -1
	var b *body
	waits := readerFunc(func([]byte) (int, error) {
		made, _ := b.out.Take()
		kept = cap(made) + cap(b.lf) + cap(b.from.frames.Buffered())
		return 0, io.EOF
	})
	b = bodyOver(r, io.NopCloser(io.MultiReader(strings.NewReader(frames.String()), waits)), translate.Unread)
	b.started = true
	for err := error(nil); err == nil; {
		_, err = readFrom(b)
	}
	if kept < 0 || kept > 4*readAhead {
		t.Errorf("%d bytes are kept", kept)
	}
}

// TestResultUnderTheIDOfItsCall: if a call names no parent message, the client makes a message for
// the call and gives it the id of the call. If the result of the call has the same messageId,
// Holdpoint must give the result another one. Otherwise a snapshot would have two messages with one
// id, and the client would keep only the last.
func TestResultUnderTheIDOfItsCall(t *testing.T) {
	call := func(parent string) string {
		return `{"type":"TOOL_CALL_START"` + parent + `,"toolCallId":"c1","toolCallName":"rm"}`
	}
	const end, result = `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"TOOL_CALL_RESULT","messageId":"c1","toolCallId":"c1","content":"ok"}`
	mended := strings.Replace(result, `"c1"`, `"result-c1"`, 1)
	for name, c := range map[string]struct {
		client Client
		sent   []string
		want   string // the event of the result
	}{
		"no parent":           {ClientOutcome, []string{call(""), end, result}, mended},
		"an empty parent":     {ClientOutcome, []string{call(`,"parentMessageId":""`), end, result}, mended},
		"a parent":            {ClientOutcome, []string{call(`,"parentMessageId":"a1"`), end, result}, result},
		"the same call again": {ClientOutcome, []string{call(""), end, result, call(""), end, result}, strings.Replace(result, `"c1"`, `"result-result-c1"`, 1)},
		"another id":          {ClientOutcome, []string{call(""), end, strings.Replace(result, `"c1"`, `"x"`, 1)}, strings.Replace(result, `"c1"`, `"x"`, 1)},
		"an unknown call":     {ClientOutcome, []string{result}, result},
		"the id of another result": {
			ClientOutcome,
			[]string{strings.Replace(result, `"c1"`, `"x"`, 1), strings.Replace(strings.ReplaceAll(result, "c1", "c2"), `"c2"`, `"x"`, 1)},
			strings.Replace(strings.ReplaceAll(result, "c1", "c2"), `"c2"`, `"result-c2"`, 1),
		},
		"its own id once more": {
			ClientOutcome,
			[]string{strings.Replace(result, `"c1"`, `"x"`, 1), strings.Replace(strings.Replace(result, `"c1"`, `"x"`, 1), "ok", "more", 1)},
			strings.Replace(strings.Replace(result, `"c1"`, `"result-c1"`, 1), "ok", "more", 1),
		},
		"a client that is shown the backend's own": {ClientNative, []string{call(""), end, result}, result},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				sendStream(w, streamOf(append(append([]string{started}, c.sent...), asks)...))
			}, func(o *Options) { o.Client = c.client })
			got := g.do(input("t", "r", ""))
			if !strings.Contains(got, "data: "+c.want+"\n") {
				t.Errorf("want %s in\n%s", c.want, got)
			}
			if c.client != ClientNative && !strings.Contains(got, "MESSAGES_SNAPSHOT") {
				t.Errorf("no snapshot in\n%s", got)
			}
		})
	}
}

// TestNoSnapshotWithAnIDTwice: if two messages of the conversation have the same id, the client
// must not get a snapshot, because it would lose one of them.
func TestNoSnapshotWithAnIDTwice(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, asks)) })
	twice := `{"threadId":"t","runId":"r","messages":[` + oldUser + `,{"id":"c1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"rm","arguments":"{}"}}]},{"id":"c1","role":"tool","toolCallId":"c1","content":"ok"}]}`
	for range 2 { // the question is sent, and then sent again
		wantTypes(t, g.do(twice), "RUN_STARTED RUN_FINISHED+interrupt")
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
