package calls

import (
	"encoding/json"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// AnsweredCalls has the answers that a run sends, in the order in which they are sent.
type AnsweredCalls struct {
	Questions     []PrivateState
	Kinds         []*Kind
	Denied        []bool
	Replies       []kit.ToolReply
	Results       []agui.Message // results of the client's own calls
	OtherMessages []agui.Message // other new messages, which a second exchange sends

	parents map[string]string // call id → id of its message, see IsRepeated
}

// Denies reports whether all answers are denials or cancels.
func (a *AnsweredCalls) Denies() bool { return !slices.Contains(a.Denied, false) }

// answer converts the answers of a request to the messages that the backend reads.
func (t *Table) answer(r *translate.Request) (*AnsweredCalls, error) {
	if len(r.Answers) != len(r.Pause.Interrupts) || len(r.Answers) == 0 {
		return nil, kit.Unreadable()
	}
	a := &AnsweredCalls{}
	for n, i := range r.Pause.Interrupts {
		k, kept := t.keptOf(i)
		if k == nil {
			return nil, kit.Unreadable()
		}
		if t.Skip != nil && t.Skip(r.Pause, k, r.Answers[n]) {
			continue
		}
		content, no, err := k.content(kept, r.Answers[n])
		if err != nil {
			return nil, err
		}
		if kept.Repeated && !no {
			return nil, agui.Errorf(agui.ApprovalAmbiguous, textSameCallID, kept.Call, i.ID, t.Backend)
		}
		if t.Refuse != nil && !no {
			if err := t.Refuse(r, i); err != nil {
				return nil, err
			}
		}
		reply := kit.ToolReply{ID: i.ID, Call: kept.Call, Content: content}
		if k.Hidden {
			// a backend may skip a message whose id is also the id of the call
			reply.ID = "answer-" + i.ID
		}
		a.Questions, a.Kinds, a.Denied, a.Replies = append(a.Questions, kept), append(a.Kinds, k), append(a.Denied, no), append(a.Replies, reply)
	}
	if len(a.Replies) == 0 { // all answers are cancels, and the backend cannot read a cancel
		k, kept := t.keptOf(r.Pause.Interrupts[0])
		_, _, err := k.content(kept, r.Answers[0])
		return nil, err
	}
	var err error
	if a.Results, err = kit.ClientResults(r, KeptIn(r.Pause).Clients, !a.Denies()); t.Resume == Last {
		a.Results = newOf(r, a.Results)
	}
	a.parents = parentsOf(r, kit.CallsOf(a.Replies))
	a.OtherMessages = kit.WithoutMessages(kit.WithoutResultsOf(r.NewMessages, kit.CallsOf(a.Replies)), a.Results)
	return a, err
}

// Messages returns the messages of a resume. A backend that stores the history gets only the
// answers and the results of the client's own calls. It would read all other messages as new.
func (t *Table) Messages(r *translate.Request, a *AnsweredCalls) []agui.Message {
	var list []agui.Message
	if t.Resume == Last {
		return slices.Concat(t.history(r, kit.CallsOf(a.Replies)), a.Results, kit.ToolMessages(a.Replies))
	}
	if t.Resume == WithCalls {
		list = append(list, callsMessage(r.Pause.Interrupts[0].ID, a))
	}
	for n, m := range kit.ToolMessages(a.Replies) {
		if a.Denied[n] && t.DenialError != "" {
			m = agui.ParseMessage(agui.SetString(m.JSON, "error", t.DenialError))
		}
		list = append(list, m)
	}
	return append(list, a.Results...)
}

// callsMessage returns the message with the calls that ask. It is sent because the backend reads
// the name of the tool from it.
func callsMessage(id string, a *AnsweredCalls) agui.Message {
	m := struct {
		ID    string            `json:"id"`
		Role  string            `json:"role"`
		Calls []json.RawMessage `json:"toolCalls"`
	}{"asked-" + id, "assistant", nil}
	for n, kept := range a.Questions {
		if a.Kinds[n].Secret { // the backend itself has the secrets that were in the arguments
			kept.Args = "{}"
		}
		m.Calls = append(m.Calls, agui.CallJSON(kept.Call, kept.Name, kept.Args))
	}
	return agui.ParseMessage(agui.MustMarshal(m))
}

// body returns the body of the client's request with the given messages, and without its answers.
func body(in agui.RunInput, messages []agui.Message) []byte {
	return agui.SetKey(kit.BodyWithoutCommand(in, agui.DeleteKey(in.Raw, "resume")), "messages", agui.MessageList(messages))
}

// Next returns the exchange that sends the new messages which were not sent with the answers.
func (run *Run) Next() *translate.Exchange {
	r := run.Request
	out := translate.Out{Body: body(r.Input, kit.MessagesAfter(r, run.Answered.Replies)), TakesNew: true}
	return &translate.Exchange{Out: out, Run: run.Table.wrapped(run.Table.New(r.Plain()))}
}
