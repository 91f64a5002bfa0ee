package proxy

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
)

// TestIllegalMoveEndsTheRun: because of a bug, a stream would continue after its end. The client
// must get an error, and its stream must end.
func TestIllegalMoveEndsTheRun(t *testing.T) {
	legal := 0
	for from := reading; from <= outputOver; from++ {
		for to := reading; to <= outputOver; to++ {
			func() {
				p := from
				defer func() {
					if bug := recover(); (bug == nil) != (p == to && (from != to || from >= endSent)) {
						t.Errorf("from %d to %d: %d, %v", from, to, p, bug)
					}
				}()
				p.advance(to)
				legal++
			}()
		}
	}
	if legal != 9 {
		t.Errorf("%d moves", legal)
	}

	g := newRig(t, echo)
	r := loneRun(t.Context(), g.h, "/", &agui.RunInput{})
	r.client.transcript = transcript.New(1<<10, nil, nil)
	var b *body
	g.dialect.event = func(ev agui.Event, emit func(agui.Event)) error {
		// the stream ends while an event is being handled
		b.conclude(settle.End{End: translate.End{Cut: true}})
		b.phase.advance(betweenExchanges)
		return nil
	}
	_, translation, _ := g.dialect.Begin(&translate.Request{})
	r.exchange.Run = translation
	b = bodyOver(r, io.NopCloser(strings.NewReader(streamOf(started, hello, finished))), translate.Unread)
	var got strings.Builder
	for {
		made, row, _, err := b.nextOutput()
		fmt.Fprintf(&got, "%s%s", made, row)
		if err != nil {
			break
		}
	}
	wantTypes(t, got.String(), "RUN_ERROR:UPSTREAM_EOF")
}
