package proxy

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestClaimThatIsAlwaysRefused: the store refuses a claim again and again. The client must get an
// error, and the log must have one. The backend must get nothing, and the question must stay open.
func TestClaimThatIsAlwaysRefused(t *testing.T) {
	for name, refused := range map[string]error{"stale": store.ErrStale, "conflict": store.ErrConflict, "replay": store.ErrReplay, "not found": store.ErrNotFound} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, logs := &scriptedStore{}, &lockedBuffer{}
				b := newBubble(t, asksFirst(func(_ context.Context, _ int, w io.Writer) error {
					_, err := io.WriteString(w, streamOf(started, finished))
					return err
				}), func(o *Options) {
					s.Store, o.Store = o.Store, s
					o.Logger = slog.New(slog.NewTextHandler(logs, nil))
				})
				b.post(input("t", "r1", ""))
				s.claim = func(err error) error {
					if err == nil {
						if rec, _ := s.Load(t.Context(), recordKey("/", "t"), ""); rec.Token != "" {
							_, _ = s.Store.Do(t.Context(), recordKey("/", "t"), store.Release{Token: rec.Token})
						}
					}
					return refused
				}
				began := time.Now()
				got := b.post(input("t", "r2", resumeWith(yes("n1~x"))))
				wantTypes(t, got, "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:STORE_UNAVAILABLE")
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("told after %v", took)
				}
				rec, err := b.store.Load(t.Context(), recordKey("/", "t"), "")
				if err != nil || rec.State != store.Open || b.n != 1 {
					t.Errorf("%q after %d calls (%v)", rec.State, b.n, err)
				}
				if !strings.Contains(logs.String(), "level=ERROR msg=\"the pause cannot be claimed\"") || !strings.Contains(logs.String(), refused.Error()) {
					t.Errorf("the log has\n%s", logs.String())
				}
				s.claim = nil
				wantTypes(t, b.post(input("t", "r3", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED")
			})
		})
	}
}

// TestIDsOfBackendsThatCannotBePrinted: the backend's id of a question has control characters or
// invalid UTF-8. The published id must have neither. An answer with the published id must be
// accepted, in the chat and at the desk.
func TestIDsOfBackendsThatCannotBePrinted(t *testing.T) {
	for name, c := range map[string]struct{ json, want string }{
		"a line feed":             {`a\nb`, "a\uFFFDb"},
		"a line feed and a space": {`a\nb c`, "a\uFFFDb c"},
		"others":                  {`\u0000\u001b[31m\u007f\u0085\u2028`, "\uFFFD\uFFFD[31m\uFFFD\uFFFD\uFFFD"},
		"broken UTF-8":            {"a\xffb", "a\uFFFDb"},
		"what is fine":            {`ä \u200d😀`, "ä \u200d😀"},
	} {
		for _, client := range []Client{ClientOutcome, ClientBoth, ClientNative} {
			t.Run(name+"/"+string(client), func(t *testing.T) {
				asking := strings.Replace(asksXY, `"id":"x"`, `"id":"`+c.json+`"`, 1)
				n := 0
				d := &deskRig{key: recordKey("/", "t")}
				d.rig = newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
					if n++; n%2 == 1 {
						sendStream(w, streamOf(started, asking))
						return
					}
					sendStream(w, streamOf(started, finished))
				}, func(o *Options) { o.OtherDoors, o.Client = &OtherDoors{KeepsInput: true}, client })
				d.do(input("t", "r1", ""))
				p := d.record().Pause
				id := p.Interrupts[0].ID
				if !utf8.ValidString(id) || !strings.HasPrefix(id, c.want) || (id != p.Interrupts[0].Native && !strings.Contains(id, "~")) {
					t.Fatalf("published as %q", id)
				}
				d.do(input("t", "r2", resumeWith(
					`{"interruptId":`+jsonText(id)+`,"status":"resolved","payload":`+saysYes+`}`,
					`{"interruptId":`+jsonText(p.Interrupts[1].ID)+`,"status":"cancelled"}`)))
				if rec := d.record(); rec.State != store.None || d.called() != 2 {
					t.Fatalf("answered in the chat: %q after %d calls", rec.State, d.called())
				}
				if client == ClientNative {
					return
				}
				d.do(input("t", "r3", ""))
				p = d.record().Pause
				if err := d.decides(d.says(p.Interrupts[0].Native, saysYes), d.says("y", "")); err != nil {
					t.Fatal(err)
				}
				d.carry()
				if rec := d.record(); rec.State != store.None || d.called() != 4 {
					t.Errorf("decided at another door: %q after %d calls", rec.State, d.called())
				}
			})
		}
	}
}

func jsonText(text string) string { return string(agui.AppendString(nil, text)) }
