// Package demo shows in a terminal what Holdpoint does. One process runs a scripted backend that
// pauses as LangGraph does, a real Holdpoint in front of that backend, and a client that reads the
// outcome. All three use loopback ports.
//
// The package is a demonstration and a smoke test. It does not replace the tests, because it has
// only one backend and one question. It checks each claim that it makes about Holdpoint, and fails
// if a claim is not true.
package demo

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// Options of a demonstration.
type Options struct {
	// Holdpoint returns the proxy in front of a backend at the address upstream.
	Holdpoint func(upstream string) (http.Handler, error)
	// In is read for the person's answers. If it is nil, the demonstration gives all four answers,
	// one after the other.
	In    io.Reader
	Out   io.Writer
	Width int  // number of columns of Out, 0 for 120
	Color bool // whether Out shows colors
}

// A demo is the state of a running demonstration.
type demo struct {
	*screen
	in          *bufio.Scanner // nil if no person is asked
	backend     *backend
	url         string // URL of Holdpoint
	threads     int
	falseClaims []error // the claims that were not true
}

// question is the message with which the user begins every thread.
const question = "Mail the report to bob@example.org."

// Run runs the demonstration. Its error lists the claims about Holdpoint that were not true.
func Run(ctx context.Context, o Options) error {
	d := &demo{screen: &screen{out: o.Out, width: o.Width, color: o.Color}, backend: newBackend()}
	d.width = cmp.Or(d.width, 120)
	if o.In != nil {
		d.in = bufio.NewScanner(o.In)
	}
	listener, err := loopback()
	if err != nil {
		return err
	}
	backendURL, url, stop, err := o.serve(d.backend, listener)
	if err != nil {
		return err
	}
	defer stop()
	d.url = url

	d.line("%s", d.paint(bold, "Holdpoint sits between an agent that pauses in its own way and a client that knows AG-UI interrupts."))
	d.fact("backend", backendURL+"  (scripted; its frames are those of @ag-ui/langgraph 0.0.43)")
	d.fact("Holdpoint", url+"  (HOLDPOINT_UPSTREAM="+backendURL+", nothing else)")
	d.line("\nBetween the two columns of frames: < taken out   > put in   | rewritten. threadId and rawEvent are not shown.")
	return d.play(ctx)
}

// serve serves the backend on a free port, and a Holdpoint in front of the backend on listener.
// After an error, it closes listener. Otherwise stop does so.
func (o Options) serve(b *backend, listener net.Listener) (backendURL, url string, stop func(), err error) {
	free, err := loopback()
	if err != nil {
		listener.Close()
		return "", "", nil, err
	}
	backendURL, stopBackend := serve(free, b)
	handler, err := o.Holdpoint(backendURL)
	if err != nil {
		listener.Close()
		stopBackend()
		return "", "", nil, err
	}
	url, stopProxy := serve(listener, handler)
	return backendURL, url, func() { stopProxy(); stopBackend() }, nil
}

// loopback opens a listener on a free port of the loopback address.
func loopback() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

func serve(listener net.Listener, h http.Handler) (url string, stop func()) {
	server := &http.Server{Handler: h} //nolint:gosec // only the demonstration's own client connects
	go server.Serve(listener)          //nolint:errcheck // Close ends it
	return "http://" + listener.Addr().String(), func() { server.Close() }
}

// play plays the whole demonstration. Each answer has a thread of its own, on which its request is
// sent twice. At the end, one more thread shows how a new message is refused.
func (d *demo) play(ctx context.Context) error {
	answers := allAnswers()
	if d.in != nil {
		answers = []answer{{}} // the person chooses
	}
	for _, a := range answers {
		if err := d.playThread(ctx, a); err != nil {
			return err
		}
	}
	if err := d.refusal(ctx); err != nil {
		return err
	}
	if d.falseClaims != nil {
		d.title("not as promised")
		for _, err := range d.falseClaims {
			d.line("   %s", d.paint(red, err.Error()))
		}
		return errors.Join(d.falseClaims...)
	}
	d.line("\n%s", d.paint(green, "Everything was as promised."))
	return nil
}

// playThread plays one thread: the question, the answer, the end of the run, and the same answer a
// second time.
func (d *demo) playThread(ctx context.Context, a answer) error {
	c := d.newClient()
	defer c.http.CloseIdleConnections()
	heading := "a question and its answer"
	if a.kind != "" {
		heading = string(a.kind)
	}
	d.title(heading)
	if _, err := d.pause(ctx, c); err != nil {
		return err
	}
	if a.kind == "" {
		chosen, err := d.ask()
		if err != nil {
			return err
		}
		a = chosen
	}
	first, err := d.answer(ctx, c, a)
	if err != nil {
		return err
	}
	return d.replay(ctx, c, first, a)
}

func (d *demo) newClient() *client {
	d.threads++
	return newClient(d.url, fmt.Sprintf("thread-%d", d.threads))
}

// pause sends the first message and shows how the run pauses.
func (d *demo) pause(ctx context.Context, c *client) (reply, error) {
	before := len(d.backend.exchangesSince(0))
	r, err := c.sendMessage(ctx, question)
	if err != nil {
		return r, err
	}
	d.line("\nThe client says %q. The run pauses:", question)
	d.frames(framesOf(d.backend.exchangesSince(before)), r.frames, d.threads > 1)
	d.checkClaim(len(c.openInterrupts) == 1, "%s: the pause has %d interrupts in its outcome, want 1", c.threadID, len(c.openInterrupts))
	d.checkClaim(len(d.backend.sentEmails(c.threadID)) == 0, "%s: an email was sent before anybody answered", c.threadID)
	for _, i := range c.openInterrupts {
		d.checkClaim(i.Get("reason").Str == "tool_call" && i.Get("toolCallId").Str == "call_1",
			"%s: the interrupt is not about the call: %s", c.threadID, i.Raw)
		d.line("")
		d.fact("the outcome asks", fmt.Sprintf("%s (%s %s)", i.Get("message").Str, i.Get("reason").Str, i.Get("toolCallId").Str))
		d.fact("about", callIn(r, i.Get("toolCallId").Str))
		d.fact("under the id", i.Get("id").Str)
		d.fact("and wants", i.Get("responseSchema").Raw)
	}
	return r, nil
}

// callIn returns the name and the arguments of the tool call with this id, separated by a space. It
// reads them in the last MESSAGES_SNAPSHOT of the reply.
func callIn(r reply, id string) string {
	text := ""
	r.last("MESSAGES_SNAPSHOT").Get("messages").ForEach(func(_, m gjson.Result) bool {
		m.Get("toolCalls").ForEach(func(_, c gjson.Result) bool {
			if c.Get("id").Str == id {
				text = c.Get("function.name").Str + " " + c.Get("function.arguments").Str
			}
			return true
		})
		return true
	})
	return text
}

// ask reads the person's answer.
func (d *demo) ask() (answer, error) {
	for {
		fmt.Fprint(d.out, "\n"+d.paint(yellow, "   approve / edit / deny / cancel? "))
		if !d.in.Scan() {
			return answer{}, errors.New("demo: no answer was given")
		}
		kind, ok := parseAnswer(d.in.Text())
		if !ok {
			continue
		}
		a := answer{kind: kind, newAddress: otherAddress}
		if kind == edit {
			fmt.Fprint(d.out, d.paint(yellow, "   send it to whom instead? ["+otherAddress+"] "))
			if d.in.Scan() && strings.TrimSpace(d.in.Text()) != "" {
				a.newAddress = strings.TrimSpace(d.in.Text())
			}
		}
		return a, nil
	}
}

// answer sends the resume array and shows how the run ends.
func (d *demo) answer(ctx context.Context, c *client, a answer) (reply, error) {
	before := len(d.backend.exchangesSince(0))
	r, err := c.resume(ctx, a)
	if err != nil {
		return r, err
	}
	calls := d.backend.exchangesSince(before)
	d.line("\nThe answer is %s. The run ends:", d.paint(bold, string(a.kind)))
	d.fact("the client sends", "resume "+gjson.GetBytes(r.request, "resume").Raw)
	for _, e := range calls {
		d.fact("the backend gets", "resume "+gjson.GetBytes(e.body, "resume").Raw)
	}
	d.frames(framesOf(calls), r.frames, d.threads > 1)

	kind, to := a.decision()
	d.checkClaim(r.isSuccess(), "%s: %s did not end the run: %s", c.threadID, a.kind, r.last("RUN_ERROR").Raw)
	d.checkClaim(len(calls) == 1, "%s: %s called the backend %d times, want once", c.threadID, a.kind, len(calls))
	for _, e := range calls {
		d.checkClaim(!strings.Contains(gjson.GetBytes(e.body, "resume.0.interruptId").Str, "~"), "%s: the backend was told an id that it does not know", c.threadID)
		d.checkClaim(decisionIn(e.body) == kind, "%s: %s became the decision %q, want %q", c.threadID, a.kind, decisionIn(e.body), kind)
	}
	d.checkClaim(sentTo(d.backend, c.threadID) == to, "%s: %s sent email to %q, want %q", c.threadID, a.kind, sentTo(d.backend, c.threadID), to)
	d.showEnd(c, a)
	return r, nil
}

func (d *demo) showEnd(c *client, a answer) {
	n := len(d.backend.sentEmails(c.threadID))
	outcome := map[int]string{0: "not executed", 1: "executed once, to " + sentTo(d.backend, c.threadID)}[n]
	if n > 1 {
		outcome = fmt.Sprintf("executed %d times", n)
	}
	d.line("\n   %s: %s was %s", a.kind, tool, d.paint(bold, outcome))
}

// replay sends the client's first resume request again, as a double click or an impatient proxy
// does. It must end as before, without a call of the backend.
func (d *demo) replay(ctx context.Context, c *client, first reply, a answer) error {
	before, sent := len(d.backend.exchangesSince(0)), len(d.backend.sentEmails(c.threadID))
	r, err := c.post(ctx, first.request)
	if err != nil {
		return err
	}
	calls := d.backend.exchangesSince(before)
	d.line("\nThe same request comes again. The same end, from Holdpoint's record:")
	d.frames(framesOf(calls), r.frames, true)
	d.checkClaim(r.isSuccess(), "%s: the replay did not end as the first: %s", c.threadID, strings.Join(r.frames, " "))
	d.checkClaim(len(calls) == 0, "%s: the replay reached the backend", c.threadID)
	d.checkClaim(len(d.backend.sentEmails(c.threadID)) == sent, "%s: the replay sent an email", c.threadID)
	d.line("\n   replay of %s: the backend was %s", a.kind, d.paint(bold, count(len(calls))))
	return nil
}

// refusal sends a new message while the question is open, and shows that Holdpoint refuses it.
func (d *demo) refusal(ctx context.Context) error {
	c := d.newClient()
	defer c.http.CloseIdleConnections()
	d.title("a new message while the question is open")
	if _, err := d.pause(ctx, c); err != nil {
		return err
	}
	before := len(d.backend.exchangesSince(0))
	r, err := c.sendMessage(ctx, "Never mind. What is the weather?")
	if err != nil {
		return err
	}
	calls := d.backend.exchangesSince(before)
	d.line("\nThe client says something else instead of an answer. It is refused, and asked again:")
	d.frames(framesOf(calls), r.frames, true)
	d.checkClaim(r.errorCode() == "PENDING_INTERRUPTS", "%s: the new message got the code %q, want PENDING_INTERRUPTS", c.threadID, r.errorCode())
	d.checkClaim(len(calls) == 0, "%s: the new message reached the backend", c.threadID)
	d.checkClaim(len(c.openInterrupts) == 1, "%s: the refusal asks %d questions again, want 1", c.threadID, len(c.openInterrupts))
	d.line("\n   refused with %s: the backend was %s", d.paint(bold, r.errorCode()), d.paint(bold, count(len(calls))))
	return nil
}

// checkClaim notes the formatted error if holds is false: a claim about Holdpoint is then not true.
func (d *demo) checkClaim(holds bool, format string, args ...any) {
	if !holds {
		d.falseClaims = append(d.falseClaims, fmt.Errorf(format, args...))
	}
}

func framesOf(list []*exchange) []string {
	var frames []string
	for _, e := range list {
		frames = append(frames, e.frames...)
	}
	return frames
}

// decisionIn returns the type of the only decision in a request to the backend.
func decisionIn(body []byte) string {
	return gjson.GetBytes(body, "resume.0.payload.*.decisions.0.type").Str
}

// sentTo returns the addresses to which the emails of a thread were sent.
func sentTo(b *backend, threadID string) string {
	var to []string
	for _, args := range b.sentEmails(threadID) {
		to = append(to, gjson.GetBytes(args, "to").Str)
	}
	return strings.Join(to, ", ")
}

func count(n int) string {
	if n == 0 {
		return "not called"
	}
	return fmt.Sprintf("called %d times", n)
}
