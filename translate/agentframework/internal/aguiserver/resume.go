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

// Backend is what translate.Result.Backend calls the host.
const Backend = "dotnet"

// Made reports whether the host made the pause.
func Made(p agui.Pause) bool { return keptOf(p) != nil }

// KeepsSession reports whether the host that made the pause keeps the conversation of each thread.
// A workflow knows its questions by that.
func KeepsSession(p agui.Pause) bool {
	return Made(p) && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return ofWorkflow(i.Native) })
}

func keptOf(p agui.Pause) *keptPause {
	var private privateForm
	if json.Unmarshal(p.Private, &private) != nil {
		return nil
	}
	return private.Dotnet
}

// callOf returns the call that an interrupt asks to approve; false if it asks for something else.
func callOf(i agui.Interrupt) (c askedCall, ok bool) {
	ok = len(i.Private) > 0 && json.Unmarshal(i.Private, &c) == nil && c.ID != ""
	return c, ok
}

// Resume begins the resume of a pause of the host's. New messages go in the same request, before
// the calls that were asked about: the host puts those behind all that it is sent, and what a front
// end's own tools brought has to be there.
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
		in = in.WithMessages(r.New) // it would answer the others once more
	} else if len(in.Messages) == 0 && !r.Sessions { // legal for a client, but the host has nothing of its own
		if known, ok := kit.KnownMessages(r); ok && len(known) > 0 {
			in = in.WithMessages(known)
		}
	}
	asked := askedIDs(r)
	in = readable(in, r.ClientMessages, openIDs(r.Pause))
	in = kit.WithoutDangling(in, func(c kit.DanglingCall) bool {
		// A call of the front end's own that has no result yet goes too, for this once: the host
		// runs what was approved, and then its provider refuses the history. The result comes with
		// a later run.
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

// entries returns the answers as the host wants them. It never looks at the status, takes an answer
// without toolCall for one that nobody asked for, and one with it for an approval, whatever was
// asked; the call that it runs is the one in the answer. So all of an approval's payload is ours
// but the yes or no and edited arguments, and no other payload may look like one.
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
		if ids[e.ID] { // the host dies of both
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

// decisionIn reads the decision of a payload. What says a thing twice, or yes under one name and no
// under the other, is not an answer.
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

// editedIn returns the arguments that an approval lets the call run with: asked, unless the payload
// edits them. It returns false if the payload edits them twice, or to something that is not an
// object.
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

// hasToolCall reports whether a payload would be taken for an approval.
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

// metadataOf returns what the client's entry has for the application.
func metadataOf(given gjson.Result) json.RawMessage {
	if m := given.Get("metadata"); m.IsObject() {
		return json.RawMessage(m.Raw)
	}
	return nil
}

// Plain returns the request of a run that answers nothing. A call that was asked about and has no
// result, because its resume failed or nobody knows, is taken out: where a front end's tools are
// declared and one of them has brought a result, the host approves and runs what is left without
// one (ProcessContinuation); else its provider refuses the history. So it does if a user has talked
// past a call of the backend's. Where the host runs such a call, proxy has judged it
// (translate.Continuer).
//
// named reports that a client has named a question under an id of the host's.
func Plain(r *translate.Request, named bool) translate.Out {
	if !named && !isSeen(r) {
		return translate.Out{}
	}
	asked, runs := askedIDs(r), continues(r.Input)
	in := kit.WithoutDangling(readable(r.Input, r.ClientMessages, nil), func(c kit.DanglingCall) bool {
		return asked[c.ID] || c.Abandoned && !runs && !r.Input.Declares(c.Name)
	})
	if bytes.Equal(in.Raw, r.Input.Raw) {
		return translate.Out{}
	}
	return translate.Out{Body: in.Raw}
}

// isSeen reports whether the host was seen on the thread or its path.
func isSeen(r *translate.Request) bool {
	return r.Backend == Backend || slices.ContainsFunc(r.Ended, func(p translate.EndedPause) bool { return Made(p.Pause) })
}

// askedIDs returns the ids of the calls that pauses of the host's asked about on the thread: the
// pause that the request answers, and those before it.
func askedIDs(r *translate.Request) map[string]bool {
	ids := openIDs(r.Pause)
	for _, p := range r.Ended {
		maps.Copy(ids, openIDs(p.Pause))
	}
	return ids
}

// openIDs returns the ids of the calls that a pause of the host's asked about, and of those beside
// them.
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

// continues reports whether the host takes the request for the continuation of a call of a tool
// that it declares: the history holds such a call and, behind it, a result for it
// (HasClientToolResults).
func continues(in agui.RunInput) bool {
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
				own[c.Get("id").Str] = true
			}
		}
	}
	return false
}

var _ translate.Passer = (*run)(nil)

// A run translates the host's answer to a resume. It knows no lost pause, because it keeps none; an
// error may have come before or behind the tool.
type run struct {
	r        *translate.Request
	s        Stream
	approved map[string]bool // calls that were approved and have no result so far
}

// approvedCalls returns the calls that the entries approve.
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
		// The host runs an approved call and tells its result, also the error of one that failed.
		// It runs nothing if the request declares the tool.
		return translate.Result{Fate: translate.InDoubt}, nil
	}
	return translate.Result{Finish: e.Event}, nil
}
