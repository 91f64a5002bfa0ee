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

// A backend may run each call of the history that has no result, as soon as the request brings the
// result of a call of a declared tool (translate.Continuer). Nobody need have approved the call.
// So such a call reaches the backend only if a stream of the agent has left it open, in a run that
// ended well and asked nothing, and if no question was about it. The process notes both kinds of
// calls, and the record notes the first kind for its thread.

// OpenPrefix begins the ids of a record's notes that hold calls which a run left open, by the Text
// of their CallKeys.
const OpenPrefix = "open "

// MaxOpenCalls bounds the open calls of one run, and those of one request that are looked up.
const MaxOpenCalls = 64

// A Scope is whose threads may hold a call.
type Scope struct {
	Tenant, Agent, Path string
	Owner               string // the digest of the principal, "" if unknown
}

// A CallKey is a hash of a call (its id, its tool and its arguments) and of its Scope. The thread
// does not count, because some clients of .NET take another one between a call and its result.
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

// Text returns the key as a note of a record holds it.
func (k CallKey) Text() string { return hex.EncodeToString(k[:]) }

func (v *View) callKey(c agui.AskedCall) CallKey {
	return NewCallKey(v.Scope, agui.Call{ID: c.ID, Name: c.Name, Args: c.Args})
}

// RunsOpenCalls reports whether the backend may run calls of the history that have no result.
func (v *View) RunsOpenCalls() bool {
	return v.Dialect.Continuer != nil && v.Dialect.Continuer.Continues(v.Spoken, v.Backend)
}

// CallKeys returns the keys of the calls that are known in full.
func CallKeys(s Scope, calls []agui.AskedCall) []CallKey {
	var keys []CallKey
	for _, c := range calls {
		if !c.Unknown {
			keys = append(keys, NewCallKey(s, agui.Call{ID: c.ID, Name: c.Name, Args: c.Args}))
		}
	}
	return keys
}

// ForwardedInput is the input of a request without the calls that must not reach the backend.
type ForwardedInput struct {
	Input     agui.RunInput
	Edited    map[string]agui.Message // the changed messages by their bytes before; nil: none changed
	Unknown   int                     // calls that the backend may run, and that no known run left to the client
	Abandoned int                     // calls of a lost question that a user has talked past
	Failed    error                   // why the index could not be asked, nil if it could
}

// WithholdOpenCalls takes calls out of the messages that the backend may run although nobody
// approved them. After a lost question (lost) it also takes out those that a user has talked past,
// because a backend that keeps nothing refuses the history otherwise. p is the pause that the
// request answers, nil if there is none. Its calls are the dialect's to send.
func WithholdOpenCalls(v *View, p *agui.Pause, lost bool) ForwardedInput {
	out := ForwardedInput{Input: *v.Input}
	runs := v.RunsOpenCalls() && kit.Continues(*v.Input)
	if !runs && !lost {
		return out
	}
	judge := openCalls{View: v, keys: map[CallKey]bool{}, ids: map[string]bool{}, stays: map[CallKey]bool{}}
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
				out.Abandoned++
			}
			return goes
		}
		stays := c.Name != "" && judge.mayStay(c)
		if !stays {
			out.Unknown++
		}
		return !stays
	})
	out.Failed = judge.failed
	if edited != nil {
		out.Input, out.Edited = in, edited
	}
	return out
}

// openCalls judges the calls without a result of one request.
type openCalls struct {
	*View
	keys   map[CallKey]bool // calls that the record's questions are about
	ids    map[string]bool  // such calls whose tool or arguments the record does not know
	stays  map[CallKey]bool // those that were looked up in the index, and whether they may stay
	failed error            // of the index
}

// readAsked reads the calls that the record's questions are about, open or ended.
func (o *openCalls) readAsked() {
	for _, p := range o.pauses() {
		for n := range p.Interrupts {
			i := &p.Interrupts[n]
			known := false
			for _, c := range i.Calls {
				if c.Unknown {
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
// about it, of this thread or of another one of the conversation. If a question somewhere was about
// an equal call, a run must have left this one open since.
func (o *openCalls) mayStay(c agui.Call) bool {
	key := NewCallKey(o.Scope, c)
	left := o.Memory.LeftOpen(key) || IsNotedOpen(o.Record, key)
	if o.ids[c.ID] || o.keys[key] || !left && !o.Input.Declares(c.Name) {
		return false
	}
	if stays, judged := o.stays[key]; judged {
		return stays
	}
	if o.failed != nil || len(o.stays) == MaxOpenCalls {
		return false // a run leaves no more of them open
	}
	here, somewhere, err := o.Memory.WasAsked(c)
	if err != nil {
		o.failed = err // the next call would wait as long
		return false
	}
	o.stays[key] = !here && (left || !somewhere)
	return o.stays[key]
}

// IsNotedOpen reports whether the record has noted that a run of the thread left the call open.
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
