package proxy

import (
	"cmp"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Some backends ask by a call that no dialect holds as a question. The client answers it by a tool
// message, and a backend of another kind would take that message for an approval of its own
// (translate.Disarmer). So while nobody knows what a route speaks, the message passes only for a
// call that this process saw go by on that thread.

// noteCall notes a call of a stream that nobody knows, and its result. One that the request
// declares is the client's own.
func (r *run) noteCall(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		name := ev.Get("toolCallName").Str
		if name == "" || r.in.Declares(name) || r.spoken() != "" {
			return
		}
		if len(r.passedCalls) == maxOpenCalls {
			r.passedCalls = slices.Delete(r.passedCalls, 0, 1)
		}
		r.passedCalls = append(r.passedCalls, passedCallOf(r.ledger.key, ev.Get("toolCallId").Str))
	case agui.CallResult:
		if len(r.passedCalls) > 0 {
			had := passedCallOf(r.ledger.key, ev.Get("toolCallId").Str)
			r.passedCalls = slices.DeleteFunc(r.passedCalls, func(c passedCall) bool { return c == had })
		}
	}
}

// keepPassed remembers the calls that a run left without a result. finish is how it ended, and
// nobody claimed its stream.
func (r *run) keepPassed(finish agui.Event) {
	if len(r.passedCalls) > 0 && finish.Type == agui.RunFinished && r.spoken() == "" {
		for _, c := range r.passedCalls {
			r.h.passed.Add(c, struct{}{})
		}
	}
	r.passedCalls = nil
}

// unasked is a call that a message of the request decides on, although this process did not see the
// call pass. It counts only while nobody knows what the route speaks or what the thread waits for.
// It is "" if there is no such call.
func (r *run) unasked() string {
	disarmer, ok := r.h.opts.Dialect.(translate.Disarmer)
	if !ok || r.record.Pause != nil || r.spoken() != "" {
		return ""
	}
	for _, call := range disarmer.Undeclared(r.in) {
		if !r.passed(call) {
			return cmp.Or(call, "without an id")
		}
	}
	return ""
}

// passed says whether this process saw the call pass on the run's thread, left to the client to
// answer.
func (r *run) passed(call string) bool { return r.h.passed.Contains(passedCallOf(r.ledger.key, call)) }
