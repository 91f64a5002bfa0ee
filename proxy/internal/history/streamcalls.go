package history

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// StreamCalls are the calls of a run's stream that have no result yet. They are at most the last
// MaxOpenCalls. The zero value is empty.
type StreamCalls []StreamCall

// A StreamCall is one call of a stream.
type StreamCall struct {
	ID                string
	DeclaredByRequest bool // the request declares the tool of the call
}

// Note adds the call that the event begins. If the event is a result, it removes the calls with the
// result's id. in is the request.
func (s *StreamCalls) Note(ev agui.Event, in *agui.RunInput) {
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		if name := ev.Get("toolCallName").Str; name != "" {
			s.add(StreamCall{ev.Get("toolCallId").Str, in.Declares(name)})
		}
	case agui.CallResult:
		if len(*s) > 0 {
			s.Forget(ev.Get("toolCallId").Str)
		}
	}
}

// NoteSnapshot adds calls from the last message of a MESSAGES_SNAPSHOT, because some backends send
// a call only there. It adds only calls of the client's tools. It does not add a call that the
// request already contained, because the backend may only repeat what the client made up. received
// is the request as the client sent it.
func (s *StreamCalls) NoteSnapshot(ev agui.Event, received *agui.RunInput) {
	var last gjson.Result
	agui.View(ev.JSON).Get("messages").ForEach(func(_, m gjson.Result) bool { last = m; return true })
	if last.Get("role").Str != "assistant" {
		return
	}
	var claims *kit.ClaimedCalls // nil until needed
	for _, c := range last.Get("toolCalls").Array() {
		id, name := agui.IDText(c.Get("id")), c.Get("function.name").Str
		if !received.Declares(name) || slices.ContainsFunc(*s, func(o StreamCall) bool { return o.ID == id }) {
			continue
		}
		if claims == nil {
			claims = kit.ClaimsOf(*received)
		}
		if _, shown := claims.Own(id); !shown {
			s.add(StreamCall{strings.Clone(id), true})
		}
	}
}

func (s *StreamCalls) add(c StreamCall) {
	if len(*s) == MaxOpenCalls {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, c)
}

// Forget removes all calls with that id.
func (s *StreamCalls) Forget(call string) {
	*s = slices.DeleteFunc(*s, func(c StreamCall) bool { return c.ID == call })
}

// OpenCallNotes is what must be remembered about calls that a run has left to its client.
type OpenCallNotes struct {
	LeftCalls []ThreadCall // the calls that the client may answer
	OpenCalls []CallKey    // the calls that a later request may contain without a result
	// OpenNote is the note about OpenCalls. OwnNote is the note about the calls of the client's own
	// tools, and Own is how many calls it contains. Both notes belong into the record of
	// View.Thread. A note is nil if it is not needed.
	OpenNote, OwnNote *store.Note
	Own               int
	ReusedCalls       []ReusedCall // the notes about them belong into the record of the view
}

// A ReusedCall is a call that has the id of an earlier call with a question. Note is the note about
// it.
type ReusedCall struct {
	Call string
	Note store.Note
}

// OpenNotes returns what must be remembered about the calls s. isSuccess is true if the run ended
// without an error and asked no question. Then the client may also answer a call whose tool the
// request does not declare, and a later request may contain that call without a result. asked
// returns a call as it was shown to the client.
//
// The record notes the open calls if the run also left a call of a declared tool open, because the
// result of that call may arrive after a restart or at another replica. The record notes the calls
// of the client's own tools if a backend could read their results as decisions.
func (s StreamCalls) OpenNotes(v *View, asked func(call string) (agui.AskedCall, bool), isSuccess bool) OpenCallNotes {
	var left OpenCallNotes
	runs := isSuccess && v.RunsOpenCalls()
	var own []string
	var open []agui.AskedCall
	for _, c := range s {
		if c.DeclaredByRequest || isSuccess {
			left.LeftCalls = append(left.LeftCalls, NewThreadCall(v.Thread, c.ID, c.DeclaredByRequest))
		}
		if !c.DeclaredByRequest {
			if !runs {
				continue
			}
			if call, known := asked(c.ID); known {
				open = append(open, call)
			}
			continue
		}
		own = append(own, LeftHash(v.Thread, c.ID))
		if p, _ := AskedBy(v.Record, c.ID); p != nil {
			left.ReusedCalls = append(left.ReusedCalls, ReusedCall{c.ID, store.Note{ID: ReusedNote(p.ID, c.ID), Text: []byte(`{}`)}})
		}
	}
	if left.OpenCalls = CallKeys(v.Scope, open); len(left.OpenCalls) > 0 && len(own) > 0 && !v.InMemory {
		texts := make([]string, len(left.OpenCalls))
		for n, key := range left.OpenCalls {
			texts[n] = key.Text()
		}
		left.OpenNote = noteOf(OpenPrefix, texts)
	}
	if reader := v.Dialect.Decisions; len(own) > 0 && reader != nil && !v.InMemory && reader.ReadsDecisions(v.KnownDialect) {
		left.OwnNote, left.Own = noteOf(LeftPrefix, own), len(own)
	}
	return left
}

// noteOf returns the note that contains the hashes of some calls. Its id begins with prefix. Equal
// lists give the same note.
func noteOf(prefix string, hashes []string) *store.Note {
	text := agui.MustMarshal(hashes)
	sum := sha256.Sum256(text)
	return &store.Note{ID: prefix + ids.Hex(sum[:16]), Text: text}
}
