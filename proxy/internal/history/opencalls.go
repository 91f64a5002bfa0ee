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

// Some backends run every call of the history that has no result, even if nobody approved the call.
// They do so as soon as a request contains the result of a call of a declared tool
// (translate.Continuer). So a call without a result reaches such a backend only under two
// conditions. A run that ended without an error and without a question has left the call open, and
// no question was about the call. The process remembers such open calls, and the record notes them
// for its thread.

// OpenPrefix begins the id of each note about calls that a run left open. The note contains the
// Text of their CallKeys.
const OpenPrefix = "open "

// MaxOpenCalls bounds how many open calls of one run are remembered, and how many calls of one
// request are looked up in the index.
const MaxOpenCalls = 64

// A Scope limits the threads to which a call may belong.
type Scope struct {
	Tenant, Agent, Path string
	Owner               string // the digest of the principal, or "" if unknown
}

// A CallKey is a hash of a call (its id, its tool and its arguments) and of its Scope. It does not
// depend on the thread, because some clients of .NET send the result of a call on another thread
// than the call.
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

// Text returns the key in the form in which notes contain it.
func (k CallKey) Text() string { return hex.EncodeToString(k[:]) }

func (v *View) callKey(c agui.AskedCall) CallKey {
	return NewCallKey(v.Scope, agui.Call{ID: c.ID, Name: c.Name, Args: c.Args})
}

// RunsOpenCalls reports whether the backend may run calls of the history that have no result.
func (v *View) RunsOpenCalls() bool {
	return v.Dialect.Continuer != nil && v.Dialect.Continuer.Continues(v.KnownDialect, v.Backend)
}

// CallKeys returns the keys of those calls whose arguments are known.
func CallKeys(s Scope, calls []agui.AskedCall) []CallKey {
	var keys []CallKey
	for _, c := range calls {
		if !c.ArgumentsUnknown {
			keys = append(keys, NewCallKey(s, agui.Call{ID: c.ID, Name: c.Name, Args: c.Args}))
		}
	}
	return keys
}

// ForwardedInput is the input of a request from which calls are removed that must not reach the
// backend.
type ForwardedInput struct {
	Input agui.RunInput
	// maps the original bytes of a message to the changed message; nil if none changed
	ChangedMessages map[string]agui.Message
	// number of removed calls that the backend could run and that no known run left to the client
	UnknownCalls int
	// number of removed calls of a lost question, after which a user message follows
	AbandonedCalls int
	IndexError     error // the error of the index, or nil
}

// WithholdOpenCalls removes calls from the messages that the backend could run although nobody
// approved them. If lost is true, a question was lost. Then it also removes calls that a user
// message follows, because a backend that stores no state would refuse a history with them. p is
// the pause that the request answers, or nil. The calls of p are not removed, because the dialect
// sends them.
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

// openCalls decides which calls of one request may reach the backend without a result.
type openCalls struct {
	*View
	keys map[CallKey]bool // calls about which the questions on record are
	ids  map[string]bool  // ids of such calls whose tool or arguments are not on record
	// whether a call may stay, for calls that were looked up in the index
	stayResults map[CallKey]bool
	indexError  error // the error of the index, or nil
}

// readAsked collects the calls about which the questions on record are, whether these are open or
// ended.
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

// mayStay reports whether a call without a result may reach the backend. A known run must have left
// the call open, or the request must declare its tool. No question may have been about the call, in
// this thread or in another thread of the conversation. If a question in any other conversation was
// about an equal call, a run must have left this call open.
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
		return false // a run leaves at most that many calls open
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
