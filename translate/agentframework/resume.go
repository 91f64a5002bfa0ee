package agentframework

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A reply is the answer to one question.
type reply struct {
	ask
	interrupt agui.Interrupt
	answer    agui.Answer
	yes       bool // of an approval or a confirmation
}

// isClients reports whether it is about a call of the client's own, which nobody was asked about.
func (r reply) isClients() bool { return len(r.interrupt.Object) == 0 }

// A stage is one exchange that carries answers. Most resumes have one: only questions of different
// kinds cannot be answered together, and some versions leave answers behind.
type stage struct {
	way     func(*resumption, []reply) ([]byte, error)
	replies []reply
}

// A resumption is a resumed run of the client, over all its exchanges.
type resumption struct {
	d    *Dialect
	r    *translate.Request
	kept pauseState
	base []agui.Message // what the backend gets of the conversation
	// clients are the calls of the turn that the client answers itself. results are the messages
	// that it brings for them, which go with the answers.
	clients []string
	results []agui.Message
	// bare says that the answers go without the conversation, because the client sent none. A
	// workflow that serves as an agent (workflow.as_agent) takes nothing but the answers while it
	// waits, and fails for good at anything else (RAN 1.7.0).
	bare bool
	id   string // of the message that is sent to answer, and never kept

	replies []reply // all that were sent so far
	stages  []stage // what is still to be sent
	told    map[string]toldResult
	shown   map[string]bool // calls that the client has and that are the backend's own

	late     []agui.Event // what waits for the results of the calls that were approved
	lateSize int
	hasty    bool // nothing waits any more

	historyTold bool
}

// toldResult is the result of a call, as the client was told.
type toldResult struct{ id, content string }

// resume begins the run that carries the answers.
func (d *Dialect) resume(r *translate.Request) (translate.Out, translate.Run, error) {
	k, ok := keptOf(r.Pause)
	if !ok {
		return translate.Out{}, nil, kit.Unreadable()
	}
	if err := kit.OneForEachID(r.Pause, r.Answers); err != nil {
		return translate.Out{}, nil, err
	}
	res := &resumption{d: d, r: r, kept: k, told: map[string]toldResult{}, shown: shownCalls(r), clients: kit.ClientCalls(r)}
	byKind := map[string][]reply{}
	for n, i := range r.Pause.Interrupts {
		one, err := readReply(i, r.Answers[n])
		if err != nil {
			return translate.Out{}, nil, err
		}
		byKind[one.Kind] = append(byKind[one.Kind], one)
	}
	res.id = res.messageID()
	if err := res.takeResults(byKind[approval]); err != nil {
		return translate.Out{}, nil, err
	}
	res.plan(byKind[approval], byKind[request], byKind[confirm])
	first, err := res.next()
	if err != nil {
		return translate.Out{}, nil, err
	}
	// Whatever is to be said later must be sayable now: nothing can be refused once the claim is
	// taken.
	for _, s := range res.stages {
		if _, err := s.way(res, s.replies); err != nil {
			return translate.Out{}, nil, err
		}
	}
	if res.mustForget(byKind[approval]) {
		return res.forget(first), &forgetExchange{first}, nil
	}
	return first.Out, first.Run, nil
}

// takeResults takes the results of the client's own calls out of the messages beside the answers,
// and into the conversation. 1.7.0 runs nothing that was approved without them (RAN).
func (res *resumption) takeResults(approvals []reply) (err error) {
	needed := res.kept.Row == rowOutcome && newer(approvals) && slices.ContainsFunc(approvals, func(r reply) bool { return r.yes })
	if res.results, err = kit.ClientResults(res.r, res.clients, needed); err != nil {
		return err
	}
	list := kit.WithResults(res.r, kit.Shown(res.r), res.results)
	res.r = res.r.With(res.r.Input, kit.BesideResults(res.r, res.results))
	res.base = res.knownMessages(list)
	res.bare = res.kept.Row == rowOutcome && len(res.r.Input.Messages) == 0 && len(approvals) > 0 && newer(approvals)
	return nil
}

func shownCalls(r *translate.Request) map[string]bool {
	shown := map[string]bool{}
	if r.Transcript != nil {
		for _, c := range r.Transcript.Calls() {
			shown[c.ID] = !r.Input.Declares(c.Name)
		}
	}
	return shown
}

// plan says how the answers go. Approvals first: from 1.0.0rc8 on nothing else is taken while one
// is open.
func (res *resumption) plan(approvals, requests, confirms []reply) {
	outcome := res.kept.Row == rowOutcome
	switch {
	case len(approvals) == 0:
	case outcome && len(res.kept.Clients) > 0:
		// 1.0.0rc8 wants an answer to each, and a cancel of one makes it forget that one alone.
		// What is left goes in the next exchange.
		all := slices.Clone(approvals)
		for _, a := range res.kept.Clients {
			all = append(all, reply{ask: a, answer: agui.Answer{ID: a.ID, Status: agui.Cancelled}})
		}
		res.stages = append(res.stages, stage{byArray, all})
	case outcome:
		res.stages = append(res.stages, stage{byArray, approvals})
	case len(approvals) == 1:
		res.stages = append(res.stages, stage{byToolMessage, approvals})
	default:
		res.stages = append(res.stages, stage{byApprovals, approvals})
	}
	switch {
	case len(requests) == 0:
	case outcome:
		res.stages = append(res.stages, stage{byArray, requests})
	default:
		res.stages = append(res.stages, stage{byObject, requests})
	}
	for _, c := range confirms {
		res.stages = append(res.stages, stage{byToolMessage, []reply{c}})
	}
}

// next returns the exchange of the next stage.
func (res *resumption) next() (*translate.Exchange, error) {
	s := res.stages[0]
	body, err := s.way(res, s.replies)
	if err != nil {
		return nil, err
	}
	res.stages = res.stages[1:]
	res.replies = append(res.replies, s.replies...)
	run := newRun(res.d, res.r)
	run.answered = &answeredExchange{resumption: res, replies: s.replies, settled: map[string]bool{}}
	out := translate.Out{Body: body, Resumes: true, TakesNew: len(res.results) > 0, Left: res.r.New}
	return &translate.Exchange{Out: out, Run: run}, nil
}

func readReply(i agui.Interrupt, a agui.Answer) (reply, error) {
	asked, ok := askOf(i)
	if !ok {
		return reply{}, kit.Unreadable()
	}
	one := reply{ask: asked, interrupt: i, answer: a}
	switch {
	case a.Status == agui.Cancelled:
		return one, nil // which is a no
	case one.Kind == request && len(a.Payload) == 0:
		return reply{}, agui.Errorf(agui.InvalidPayload, textNoPayload, a.ID)
	case one.Kind == request:
		return one, nil
	}
	var err error
	one.yes, err = decision(a)
	return one, err
}

// decision reads a yes or a no. 1.0.0rc8 prefers one of two keys, 1.2.0 the other, and Python takes
// the last of two equal ones: what they do not agree on is not an answer.
func decision(a agui.Answer) (bool, error) {
	said := map[bool]bool{}
	odd := false
	gjson.ParseBytes(a.Payload).ForEach(func(k, v gjson.Result) bool {
		if k.Str == "accepted" || k.Str == "approved" {
			odd = odd || !v.IsBool()
			said[v.Bool()] = true
		}
		return true
	})
	if odd || len(said) != 1 || !gjson.ParseBytes(a.Payload).IsObject() {
		return false, agui.Errorf(agui.InvalidPayload, textNoApproved, a.ID)
	}
	return said[true], nil
}

// messageID returns an id that no message of the thread has: backends take two messages of one id
// for one.
func (res *resumption) messageID() string {
	sum := sha256.New()
	for _, i := range res.r.Pause.Interrupts {
		sum.Write([]byte(i.ID + "\x00"))
	}
	sum.Write([]byte(res.r.Input.RunID + "\x00" + strconv.Itoa(len(res.r.Input.Messages))))
	return "holdpoint-" + hex.EncodeToString(sum.Sum(nil)[:12])
}

// answerID returns the id of the message that carries the answers of the next exchange.
func (res *resumption) answerID() string { return res.id + "-" + strconv.Itoa(len(res.replies)+1) }

// knownMessages returns the messages of the conversation that list has, as the backend needs them:
// with the calls that it asked about, their arguments as it wrote them (compared by 1.0.0rc4 and
// later), without anything that was only said to ask or to answer.
func (res *resumption) knownMessages(list []agui.Message) []agui.Message {
	asked, open, gone := map[string]ask{}, map[string]bool{}, map[string]bool{}
	for _, i := range res.r.Pause.Interrupts {
		a, _ := askOf(i)
		if a.Call != "" {
			asked[a.Call], open[a.Call] = a, true
		}
		if a.Confirm != "" {
			gone[a.Confirm] = true
		}
	}
	for _, m := range list {
		for _, c := range callsOf(m) {
			if synthetic(c) && !res.r.Input.Declares(c.Name) {
				gone[c.ID] = true
			}
		}
	}
	list = kit.HistoryOf(kit.HistoryOf(list, gone).Without(), open).Behind(nil)
	last := lastCalls(list)
	for n, m := range list {
		list[n] = withArguments(m, func(call string) (ask, bool) {
			a, ok := asked[call]
			return a, ok && last[call] == n
		})
	}
	return res.withCalls(list, last)
}

// withCalls adds the calls that the list lacks.
func (res *resumption) withCalls(list []agui.Message, seen map[string]int) []agui.Message {
	var missing []json.RawMessage
	for _, i := range res.r.Pause.Interrupts {
		a, _ := askOf(i)
		if _, there := seen[a.Call]; there || a.Kind != approval || a.Name == "" {
			continue
		}
		seen[a.Call] = len(list)
		missing = append(missing, callObject(a))
	}
	if len(missing) == 0 {
		return list
	}
	return append(list, agui.ParseMessage(agui.MustMarshal(struct {
		ID      string            `json:"id"`
		Role    string            `json:"role"`
		Content string            `json:"content"`
		Calls   []json.RawMessage `json:"toolCalls"`
	}{res.id + "-calls", "assistant", "", missing})))
}

// body returns the request with the given messages, without an answer in any form.
func (res *resumption) body(messages []agui.Message) []byte {
	in := res.r.Input
	body := in.Raw
	if _, sent := in.CommandResume(); sent {
		body = kit.BodyWithoutCommand(in, body)
	}
	body = agui.DeleteKey(withoutProps(in, body), "resume")
	if res.kept.Row != rowOutcome {
		body = agui.DeleteKey(body, "protocolVersion")
	}
	thread := in.ThreadID
	if res.kept.Thread != "" {
		thread = res.kept.Thread
	}
	if thread != in.ThreadID {
		body = agui.SetString(body, "threadId", thread)
	}
	return agui.SetKey(body, "messages", agui.MessageList(messages))
}

// conversation returns what the backend gets of it in a later exchange: the results of the calls
// that are done stand behind their calls.
func (res *resumption) conversation(open []reply) []agui.Message {
	if res.bare {
		return nil
	}
	done := map[string]bool{}
	var results []agui.Message
	for call, t := range res.told {
		if !slices.ContainsFunc(open, func(r reply) bool { return r.Call == call }) {
			done[call], results = true, append(results, t.message(call))
		}
	}
	list := kit.HistoryOf(res.base, done).Behind(results)
	if safe := messagesAsResults(list, res.r.Input); safe != nil {
		return safe
	}
	return list
}

func (t toldResult) message(call string) agui.Message {
	return agui.ParseMessage(agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
		Call    string `json:"toolCallId"`
	}{t.id, "tool", t.content, call}))
}
