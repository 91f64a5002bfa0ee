package standard

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A chain sends several answers to a backend that reads only one answer of a request. It sends each
// answer in an exchange of its own, and never sends an answer twice. If an exchange fails, the
// chain ends, and the client is asked again the questions whose answers were not sent.
type chain struct {
	r       *translate.Request
	body    []byte    // the body of every exchange, without resume and the run's id
	current chainLink // the answer of the current exchange
	unsent  []chainLink
	sent    int              // the number of exchanges before this one
	asked   []agui.Interrupt // the questions that those exchanges asked and that are open
}

// A chainLink is an entry of the resume array and the question that it answers.
type chainLink struct {
	entry     string
	interrupt agui.Interrupt
}

// firstOfChain returns the chain with its first exchange as the current one. It returns nil if all
// answers can be sent in one request. body is that request, with all answers.
func firstOfChain(r *translate.Request, body []byte) *chain {
	one := func(i agui.Interrupt) bool { return profileOfInterrupt(&i).oneByOne }
	if len(r.Answers) < 2 || !slices.ContainsFunc(r.Pause.Interrupts, one) {
		return nil
	}
	entries := gjson.GetBytes(body, "resume").Array()
	c := &chain{r: r, body: agui.DeleteKey(body, "resume")}
	for _, i := range r.Pause.Interrupts {
		// If two questions have the same id, there are two entries with that id, in the same order.
		at := slices.IndexFunc(entries, func(e gjson.Result) bool { return e.Get("interruptId").Str == i.Native })
		if at < 0 {
			return nil
		}
		c.unsent = append(c.unsent, chainLink{entries[at].Raw, i})
		entries = slices.Delete(entries, at, at+1)
	}
	return c.next()
}

// next returns the chain with the next answer as the current one.
func (c *chain) next() *chain {
	n := *c
	n.current, n.unsent = c.unsent[0], c.unsent[1:]
	return &n
}

// request returns the request of the current exchange.
func (c *chain) request() translate.Out {
	out := translate.Out{Body: kit.OwnRunID(c.r, putEntry(c.body, gjson.Parse(c.current.entry), &c.current.interrupt)), Resumes: true}
	if _, byCommand := suspendedOf(&c.current.interrupt); byCommand {
		out.Silence = silence
	}
	return out
}

// afterExchange returns the result of the current exchange as a part of the chain. res is the
// result that the exchange would have without a chain. left is the request with the messages that
// are still unsent.
func (c *chain) afterExchange(d *Dialect, res translate.Result, e translate.End, left *translate.Request) translate.Result {
	asked := slices.DeleteFunc(slices.Clone(c.asked), func(i agui.Interrupt) bool {
		return i.Native == c.current.interrupt.Native || slices.ContainsFunc(res.Asked.Interrupts, func(n agui.Interrupt) bool { return n.Native == i.Native })
	})
	earlier := len(asked) > 0
	asked = append(asked, res.Asked.Interrupts...)
	switch {
	case e.Event.Type != agui.RunFinished:
		return c.brokenEnd(res, e, asked)
	case len(c.sendable(asked)) > 0:
		c.unsent = c.sendable(asked)
		next := c.next()
		next.sent, next.asked = c.sent+1, asked
		out, goesOn := next.request(), newRun()
		goesOn.d, goesOn.resume, goesOn.chain = d, left, next
		goesOn.suspends, goesOn.calls = resumedCall(c.r.Pause, out.Body), d.watchCalls(c.r)
		return translate.Result{HeldEvents: res.HeldEvents, Backend: res.Backend, Next: &translate.Exchange{Out: out, Run: goesOn}}
	case earlier: // no single event announces these questions together
		return translate.Result{
			HeldEvents: res.HeldEvents, Backend: mastra,
			Finish: kit.WithoutOutcome(e.Event), Asked: translate.AskedPause{Interrupts: asked},
		}
	}
	return res
}

// sendable returns the unsent answers that may still be sent. An earlier exchange may have asked a
// question with the same id but other content. Nobody has answered that new question, so the answer
// is not sent, and the client gets the new question at the end.
func (c *chain) sendable(asked []agui.Interrupt) []chainLink {
	asks := func(i agui.Interrupt) []byte {
		return agui.Canonical(agui.DeleteKey(agui.DeleteKey(i.Object, "id"), "expiresAt"))
	}
	return slices.DeleteFunc(slices.Clone(c.unsent), func(l chainLink) bool {
		return slices.ContainsFunc(asked, func(i agui.Interrupt) bool {
			return i.Native == l.interrupt.Native && !bytes.Equal(asks(i), asks(l.interrupt))
		})
	})
}

// brokenEnd returns the result of a chain that cannot continue. asked are the questions that its
// exchanges asked.
func (c *chain) brokenEnd(res translate.Result, e translate.End, asked []agui.Interrupt) translate.Result {
	open := c.unsent
	if e.Refused || res.Fate == translate.Untouched {
		open = append([]chainLink{c.current}, open...)
	}
	switch {
	case c.sent == 0 && len(open) > len(c.unsent):
		return res // nothing has happened yet, so the pause is unchanged
	case c.sent == 0 && res.Fate == translate.Lost:
		return res // all questions belong to the lost run
	}
	again := map[string]bool{} // ids in asked; a question in both lists would be asked twice
	for _, i := range asked {
		again[i.Native] = true
	}
	for _, l := range open {
		if again[l.interrupt.Native] {
			continue
		}
		l.interrupt.ID = ""
		asked = append(asked, l.interrupt)
	}
	if len(asked) > 0 {
		res.Asked, res.Failed = translate.AskedPause{Interrupts: asked}, true
		res.Finish, res.Backend = agui.FinishedEvent(c.r.Input.ThreadID, c.r.Input.RunID), mastra
	}
	return res
}
