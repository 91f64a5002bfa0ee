package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// Some backends run every call of the history that has no result as soon as a request has the
// result of a call of a declared tool (translate.Continuer), even if nobody approved the call. So
// such a call reaches the backend only if two conditions hold: a run that ended without an error
// and without a question has left it open, and no question was about it. The process remembers such
// open calls, and the record notes them for its thread.

// OpenPrefix begins the ids of notes that have the Text of the CallKeys of calls that a run left
// open.
const OpenPrefix = "open "

// MaxOpenCalls bounds the open calls of one run, and the calls of one request that are looked up in
// the index.
const MaxOpenCalls = 64

// A Scope says which threads may have a call.
type Scope struct {
	Tenant, Agent, Path string
	Owner               string // the digest of the principal, "" if unknown
}

// A CallKey is a hash of a call (its id, its tool and its arguments) and of its Scope. It does not
// depend on the thread, because some clients of .NET use another thread between a call and its
// result.
type CallKey [16]byte

// NewCallKey returns the key of a call.
func NewCallKey(s Scope, c agui.Call) CallKey {
	parts := make([]byte, 0, 256+len(c.Args))
	for _, part := range append([]string{s.Tenant, s.Agent, s.Path, s.Owner}, c.Parts()...) {
		parts = binary.AppendUvarint(parts, uint64(len(part)))
		parts = append(parts, part...)
	}
	sum := sha256.Sum256(parts)
	return CallKey(sum[:16])
}

// Text returns the key in the form that a note has.
func (k CallKey) Text() string { return hex.EncodeToString(k[:]) }

func (v *View) callKey(c agui.AskedCall) CallKey {
	return NewCallKey(v.Scope, agui.Call{ID: c.ID, Name: c.Name, Args: c.Args})
}

// RunsOpenCalls reports whether the backend may run calls of the history that have no result.
func (v *View) RunsOpenCalls() bool {
	return v.Dialect.Continuer != nil && v.Dialect.Continuer.Continues(v.KnownDialect, v.Backend)
}

// CallKeys returns the keys of those calls that are known completely.
func CallKeys(s Scope, calls []agui.AskedCall) []CallKey {
	var keys []CallKey
	for _, c := range calls {
		if !c.ArgumentsUnknown {
			keys = append(keys, NewCallKey(s, agui.Call{ID: c.ID, Name: c.Name, Args: c.Args}))
		}
	}
	return keys
}

// ForwardedInput is the input of a request without the calls that must not reach the backend.
type ForwardedInput struct {
	Input           agui.RunInput
	ChangedMessages map[string]agui.Message // the changed messages, by their original bytes; nil if none changed
	UnknownCalls    int                     // number of removed calls that the backend could run and no known run left to the client
	AbandonedCalls  int                     // number of removed calls of a lost question that a user message follows
	IndexError      error                   // error of the index, nil if there was none
}

// WithholdOpenCalls removes calls from the messages that the backend could run although nobody
// approved them. After a lost question (lost) it also removes calls that a user message follows,
// because a backend that keeps no state would refuse the history with them. p is the pause that the
// request answers, nil if there is none; its calls are not removed, because the dialect sends them.
func WithholdOpenCalls(v *View, p *agui.Pause, lost bool) ForwardedInput {
	out := ForwardedInput{Input: *v.Input}
	runs := v.RunsOpenCalls() && kit.Continues(*v.Input)
	if !runs && !lost {
		return out
	}
	judge := openCalls{View: v, keys: map[CallKey]bool{}, ids: map[string]bool{}, stayResults: map[CallKey]bool{}}
	judge.readAsked()
	answered := map[string]bool{}
	if p != nil {
		for n := range p.Interrupts {
			answered[p.Interrupts[n].ToolCallID()] = true
			for _, c := range p.Interrupts[n].Calls {
				answered[c.ID] = true
			}
		}
	}
	in, edited := kit.WithoutOpenCalls(*v.Input, func(c agui.Call, _ int, isAbandoned bool) bool {
		if c.ID != "" && answered[c.ID] {
			return false
		}
		if !runs {
			goes := isAbandoned && !v.Input.Declares(c.Name)
			if goes {
				out.AbandonedCalls++
			}
			return goes
		}
		stays := c.Name != "" && judge.mayStay(c)
		if !stays {
			out.UnknownCalls++
		}
		return !stays
	})
	out.IndexError = judge.indexError
	if edited != nil {
		out.Input, out.ChangedMessages = in, edited
	}
	return out
}

// openCalls decides about the calls without a result of one request.
type openCalls struct {
	*View
	keys        map[CallKey]bool // calls that the record's questions are about
	ids         map[string]bool  // ids of such calls whose tool or arguments are not on record
	stayResults map[CallKey]bool // results of looking calls up in the index: whether they may stay
	indexError  error            // error of the index
}

// readAsked collects the calls that the record's questions are about, open or ended.
func (o *openCalls) readAsked() {
	for _, p := range o.pauses() {
		for n := range p.Interrupts {
			i := &p.Interrupts[n]
			known := false
			for _, c := range i.Calls {
				if c.ArgumentsUnknown {
					o.ids[c.ID] = true
					continue
				}
				known = known || c.ID == i.ToolCallID()
				o.keys[o.callKey(c)] = true
			}
			if id := i.ToolCallID(); !known && id != "" {
				o.ids[id] = true
			}
		}
	}
}

// mayStay reports whether a call without a result may reach the backend. No question may have been
// about it, in this thread or in another one of the conversation. If there was a question about an
// equal call in any thread, a run must have left this call open since.
func (o *openCalls) mayStay(c agui.Call) bool {
	key := NewCallKey(o.Scope, c)
	left := o.Memory.LeftOpen(key) || IsNotedOpen(o.Record, key)
	if o.ids[c.ID] || o.keys[key] || !left && !o.Input.Declares(c.Name) {
		return false
	}
	if stays, judged := o.stayResults[key]; judged {
		return stays
	}
	if o.indexError != nil || len(o.stayResults) == MaxOpenCalls {
		return false // a run leaves at most that many open
	}
	here, somewhere, err := o.Memory.WasAsked(c)
	if err != nil {
		o.indexError = err // the next lookup would fail too
		return false
	}
	o.stayResults[key] = !here && (left || !somewhere)
	return o.stayResults[key]
}

// IsNotedOpen reports whether the record notes that a run of the thread left the call open.
func IsNotedOpen(rec *store.Record, key CallKey) bool {
	wanted := key.Text()
	for _, n := range rec.Notes {
		var keys []string
		if strings.HasPrefix(n.ID, OpenPrefix) && bytes.Contains(n.Text, []byte(wanted)) && json.Unmarshal(n.Text, &keys) == nil && slices.Contains(keys, wanted) {
			return true
		}
	}
	return false
}
