package aguiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Backend is the value of translate.Result.Backend for the host.
const Backend = "dotnet"

// MadePause reports whether the host made the pause.
func MadePause(p agui.Pause) bool { return keptOf(p) != nil }

// KeepsSession reports whether the host that made the pause stores the conversation of each thread.
// A host stores it if a workflow asks, because it needs the conversation for the workflow's
// questions.
func KeepsSession(p agui.Pause) bool {
	return MadePause(p) && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return ofWorkflow(i.Native) })
}

func keptOf(p agui.Pause) *keptPause {
	var private privateForm
	if json.Unmarshal(p.Private, &private) != nil {
		return nil
	}
	return private.Dotnet
}

// callOf returns the call that the interrupt asks a person to approve. It returns false for other
// interrupts.
func callOf(i agui.Interrupt) (c askedCall, ok bool) {
	ok = len(i.Private) > 0 && json.Unmarshal(i.Private, &c) == nil && c.ID != ""
	return c, ok
}

// Resume begins the resume of a pause that the host made. New messages are sent in the same
// request, because the host puts the calls of the questions behind all messages of the request.
// Results of the client's own tools must be among these messages.
func Resume(r *translate.Request) (translate.Out, translate.Run, error) {
	list, err := entries(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	in := r.Input
	if _, sent := in.CommandResume(); sent {
		in = in.WithoutCommand()
	}
	if KeepsSession(r.Pause) {
		in = in.WithMessages(r.NewMessages) // the host would answer older messages again
		// the client may send no messages, but the host has none stored
	} else if len(in.Messages) == 0 && !r.Sessions {
		if known, ok := kit.KnownMessages(r); ok && len(known) > 0 {
			in = in.WithMessages(known)
		}
	}
	asked := askedIDs(r)
	in = readableHistory(in, r.ClientMessages, openIDs(r.Pause))
	in = kit.WithoutDangling(in, func(c kit.DanglingCall) bool {
		// The request also leaves out a call of the client's own tool that has no result. Otherwise
		// the host would run the approved call, and its provider would then refuse the history. The
		// client sends that result in a later run.
		return asked[c.ID] || c.Abandoned || in.Declares(c.Name)
	})
	body := agui.SetKey(in.Raw, "resume", agui.MustMarshal(list))
	return translate.Out{Body: body, Resumes: true, TakesNew: true}, &run{r: r, approved: approvedCalls(list)}, nil
}

// An entry is an entry of the resume array.
type entry struct {
	ID       string          `json:"interruptId"`
	Status   agui.Status     `json:"status"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// entries returns the answers as the resume array for the host. The host ignores the status. It
// also ignores an answer without toolCall. It reads every answer with a toolCall as an approval,
// whatever the question was, and runs the call in that answer. So Holdpoint makes the payload of an
// approval itself, and takes only the decision and edited arguments from the client. It refuses a
// toolCall in any other payload.
func entries(r *translate.Request) ([]entry, error) {
	given := kit.EntriesByID(r.Input)
	var list []entry
	for n, i := range r.Pause.Interrupts {
		a := r.Answers[n]
		e := entry{ID: i.Native, Status: a.Status, Metadata: metadataOf(given[a.ID])}
		call, approval := callOf(i)
		switch {
		case approval:
			approved := false
			if a.Status == agui.Resolved {
				var ok bool
				if approved, ok = decisionIn(a.Payload); !ok {
					return nil, agui.Errorf(agui.InvalidPayload, textNoApproved, a.ID)
				}
				if approved {
					if call.Args, ok = editedIn(a.Payload, call.Args); !ok {
						return nil, agui.Errorf(agui.InvalidPayload, textEditNotObject, a.ID)
					}
				}
			}
			e.Status, e.Payload = agui.Resolved, approvalPayload(approved, call)
		case a.Status == agui.Resolved:
			if hasToolCall(a.Payload) {
				return nil, agui.Errorf(agui.InvalidPayload, textToolCall, a.ID)
			}
			e.Payload = a.Payload
		}
		list = append(list, e)
	}
	if kept := keptOf(r.Pause); kept != nil {
		for _, s := range kept.Siblings {
			list = append(list, entry{ID: s.ID, Status: agui.Resolved, Payload: approvalPayload(true, s.Call)})
		}
	}
	ids := map[string]bool{"": true}
	for _, e := range list {
		if ids[e.ID] { // the host fails at an empty id and at a repeated id
			return nil, agui.Errorf(agui.InvalidPayload, textNoIDs)
		}
		ids[e.ID] = true
	}
	return list, nil
}

func approvalPayload(approved bool, call askedCall) json.RawMessage {
	return agui.MustMarshal(struct {
		Approved bool      `json:"approved"`
		Call     askedCall `json:"toolCall"`
	}{approved, call})
}

// decisionIn returns the decision in the payload. It returns false as ok if the payload has no
// boolean decision, or two that differ.
func decisionIn(payload json.RawMessage) (yes, ok bool) {
	said, good := 0, true
	gjson.ParseBytes(payload).ForEach(func(k, v gjson.Result) bool {
		if k.Str == "approved" || k.Str == "accepted" {
			good = good && v.IsBool() && (said == 0 || v.Bool() == yes)
			yes = v.Bool()
			said++
		}
		return true
	})
	return yes, good && said > 0
}

// editedIn returns the arguments with which an approved call runs: the edits in the payload, or the
// parameter asked if there are no edits. It returns false if the payload has two edits, or one that
// is not a JSON object.
func editedIn(payload, asked json.RawMessage) (args json.RawMessage, ok bool) {
	edits := slices.DeleteFunc(kit.Members(gjson.ParseBytes(payload), "editedArgs"), func(v gjson.Result) bool { return v.Type == gjson.Null })
	switch {
	case len(edits) == 0:
		return asked, true
	case len(edits) > 1 || !edits[0].IsObject():
		return nil, false
	}
	return json.RawMessage(edits[0].Raw), true
}

// hasToolCall reports whether the payload has a toolCall, so that the host would read it as an
// approval.
func hasToolCall(payload json.RawMessage) (forges bool) {
	v := gjson.ParseBytes(payload)
	if v.IsObject() {
		v.ForEach(func(k, _ gjson.Result) bool {
			forges = forges || agui.SameKey(k.Str, "toolCall")
			return !forges
		})
	}
	return forges
}

// metadataOf returns the metadata in the client's resume entry. They are for the application behind
// the host.
func metadataOf(given gjson.Result) json.RawMessage {
	if m := given.Get("metadata"); m.IsObject() {
		return json.RawMessage(m.Raw)
	}
	return nil
}

// PlainRequest returns the request of a run without answers. It leaves out calls that a question
// was about and that have no result, because the resume failed or is in doubt. With such a call in
// the history, one of two things would happen. If the history has a result of one of the client's
// own tools, the host would run the call as if it was approved (ProcessContinuation). If not, its
// provider would refuse the history.
//
// PlainRequest also leaves out calls of the backend that the user ignored, because a provider would
// refuse them too. It keeps those that the host would run: the package proxy has already decided
// about them (translate.Continuer).
//
// The parameter named says that a client has named a question by an id that only this host makes.
func PlainRequest(r *translate.Request, named bool) translate.Out {
	if !named && !isSeen(r) {
		return translate.Out{}
	}
	asked, runs := askedIDs(r), continuesCall(r.Input)
	in := kit.WithoutDangling(readableHistory(r.Input, r.ClientMessages, nil), func(c kit.DanglingCall) bool {
		return asked[c.ID] || c.Abandoned && !runs && !r.Input.Declares(c.Name)
	})
	if bytes.Equal(in.Raw, r.Input.Raw) {
		return translate.Out{}
	}
	return translate.Out{Body: in.Raw}
}

// isSeen reports whether the host is known to serve the thread or its path.
func isSeen(r *translate.Request) bool {
	return r.Backend == Backend || slices.ContainsFunc(r.EndedPauses, func(p translate.EndedPause) bool { return MadePause(p.Pause) })
}

// askedIDs returns the ids of the calls in all pauses of the thread that the host made: the pause
// that the request answers, and the earlier pauses.
func askedIDs(r *translate.Request) map[string]bool {
	ids := openIDs(r.Pause)
	for _, p := range r.EndedPauses {
		maps.Copy(ids, openIDs(p.Pause))
	}
	return ids
}

// openIDs returns the ids of the calls that the pause asks about, and of their siblings. The result
// is empty if the host did not make the pause.
func openIDs(p agui.Pause) map[string]bool {
	ids := map[string]bool{}
	kept := keptOf(p)
	if kept == nil {
		return ids
	}
	for _, i := range p.Interrupts {
		if c, ok := callOf(i); ok {
			ids[c.ID] = true
		}
	}
	for _, s := range kept.Siblings {
		ids[s.Call.ID] = true
	}
	return ids
}

// continuesCall reports whether the host reads the request as the continuation of a call of a
// declared tool. It does if the history has such a call and, after it, its result
// (HasClientToolResults).
func continuesCall(in agui.RunInput) bool {
	if len(in.Tools) == 0 {
		return false
	}
	own := map[string]bool{}
	for _, m := range in.Messages {
		if m.Role == "tool" && own[m.ToolCallID] {
			return true
		}
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			if in.Declares(c.Get("function.name").Str) {
				own[agui.IDText(c.Get("id"))] = true
			}
		}
	}
	return false
}

var _ translate.Passer = (*run)(nil)

// A run translates the stream that the host sends after a resume. The host keeps no pause, so it
// cannot lose an answer. An error may occur before or after the tool ran.
type run struct {
	r        *translate.Request
	s        Stream
	approved map[string]bool // ids of approved calls whose result has not come
}

// approvedCalls returns the ids of the calls that the entries approve.
func approvedCalls(list []entry) map[string]bool {
	calls := map[string]bool{}
	for _, e := range list {
		payload := gjson.ParseBytes(e.Payload)
		if id := payload.Get("toolCall.callId").Str; id != "" && payload.Get("approved").Bool() {
			calls[id] = true
		}
	}
	return calls
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	repeats := run.s.Repeats(ev)
	run.s.Note(ev)
	if repeats && run.r.Show != translate.ShowNative {
		return nil
	}
	if ev.Type == agui.CallResult && len(run.approved) > 0 {
		delete(run.approved, agui.View(ev.JSON).Get("toolCallId").Str)
	}
	emit(ev)
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	return run.s.Passes(t) && (t != agui.CallResult || len(run.approved) == 0)
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	if e.Event.Type != agui.RunFinished {
		return translate.Result{Finish: e.Event}, nil
	}
	asked, clean, ok := run.s.Paused(run.r, e.Event)
	if !ok {
		asked, clean, ok = Inputs(run.r, e.Event)
	}
	switch {
	case ok:
		return translate.Result{Finish: clean, Asked: asked, Backend: Backend}, nil
	case len(run.approved) > 0:
		// The host runs an approved call and sends its result, even if the call fails. The
		// exception is a call of a tool that the request declares: the host does not run it.
		// Without a result it is unknown whether the call ran.
		return translate.Result{Fate: translate.InDoubt}, nil
	}
	return translate.Result{Finish: e.Event}, nil
}
