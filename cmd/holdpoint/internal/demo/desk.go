package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// pollInterval is the time between two requests of the chat that find out if the run has continued.
const pollInterval = 500 * time.Millisecond

// Desk shows a pause that is answered at a desk (a web page of approvers). The client sends a
// message that makes the agent ask, and then opens the chat again and again until the run has
// continued. Desk calls page when the question is open; page must tell the person where to answer
// it.
func Desk(ctx context.Context, o Options, page func()) error {
	d := &demo{screen: &screen{out: o.Out, width: o.Width, color: o.Color}, backend: newBackend()}
	d.width = cmp.Or(d.width, 120)
	d.backend.onSend = func(args json.RawMessage) { d.line("   the agent runs %s %s", d.paint(bold, tool), args) }
	listener, err := loopback()
	if err != nil {
		return err
	}
	_, url, stop, err := o.serve(d.backend, listener)
	if err != nil {
		return err
	}
	defer stop()
	d.url = url
	d.title("a question that is answered at the desk")
	c := d.newClient()
	defer c.http.CloseIdleConnections()
	r, err := c.sendMessage(ctx, question)
	if err != nil {
		return err
	}
	if len(c.openInterrupts) != 1 {
		return fmt.Errorf("demo: the run asks %d questions, want 1", len(c.openInterrupts))
	}
	d.line("\nThe client says %q. The run pauses, and the chat is left:", question)
	d.fact("the agent asks", fmt.Sprintf("%s (%s)", c.openInterrupts[0].Get("message").Str, callIn(r, c.openInterrupts[0].Get("toolCallId").Str)))
	page()
	for !r.isSuccess() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
		if r, err = c.post(ctx, c.input(nil)); err != nil {
			return err
		}
		if code := r.errorCode(); code != "" {
			return fmt.Errorf("demo: the chat that comes back gets %s", code)
		}
	}
	d.line("\nIt was decided, and Holdpoint has carried it. The chat that comes back gets the end:")
	for _, frame := range r.frames {
		if !strings.Contains(frame, `"STATE_SNAPSHOT"`) {
			d.line("   %s", head(frame, d.width-6))
		}
	}
	sent := len(d.backend.sentEmails(c.threadID))
	d.line("\n   %s was %s", tool, d.paint(bold, map[int]string{0: "not executed", 1: "executed once"}[sent]))
	if sent > 1 {
		return fmt.Errorf("demo: %s was executed %d times", tool, sent)
	}
	d.line("\nThe page shows what was decided. Ctrl-C ends the demo.")
	<-ctx.Done()
	return ctx.Err()
}

func head(text string, most int) string {
	if r := []rune(text); len(r) > most && most > 1 {
		return string(r[:most-1]) + "…"
	}
	return text
}
