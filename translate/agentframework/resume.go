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
	yes       bool // for an approval or a confirmation: whether the answer is a yes
}

// isClients reports whether the reply is about a call of the client's own. Holdpoint did not ask
// anybody about such a call.
func (r reply) isClients() bool { return len(r.interrupt.Object) == 0 }

// A stage is one exchange that sends answers. Most resumes have a single stage. A resume needs more
// if its questions are of different kinds, or if the backend's version ignores some answers.
type stage struct {
	body    func(*resumption, []reply) ([]byte, error)
	replies []reply
}

// A resumption is the state of a resume over all its exchanges.
type resumption struct {
	d    *Dialect
	r    *translate.Request
	kept pauseState
	base []agui.Message // the messages that the backend gets before the answers
	// clients are the ids of the turn's calls that the client runs itself. results are the client's
	// results of these calls. They are sent with the answers.
	clients []string
	results []agui.Message
	// withoutHistory is true if the answers are sent without the conversation, because the client
	// sent none. A workflow that serves as an agent (workflow.as_agent) accepts only the answers
	// while it waits. It fails for good at anything else (RAN 1.7.0).
	withoutHistory bool
	id             string // id of the message with the answers; no message of the history has it

	replies []reply // the answers that were sent so far
	stages  []stage // the exchanges that must follow
	sent    map[string]sentResult
	shown   map[string]bool // true for a backend's call that the client has

	waitingEvents []agui.Event // events held until the results of approved calls come
	lateSize      int
	stopsWaiting  bool // the held events were too large, so no more events are held

	historyTold bool
}

// A sentResult is the result of a call that was sent to the client.
type sentResult struct{ id, content string }

// resume begins the run that sends the answers to the backend.
func (d *Dialect) resume(r *translate.Request) (translate.Out, translate.Run, error) {
	k, ok := keptOf(r.Pause)
	if !ok {
		return translate.Out{}, nil, kit.Unreadable()
	}
	if err := kit.OneForEachID(r.Pause, r.Answers); err != nil {
		return translate.Out{}, nil, err
	}
	res := &resumption{d: d, r: r, kept: k, sent: map[string]sentResult{}, shown: shownCalls(r), clients: kit.ClientCalls(r)}
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
	// All stages are tried now, because no answer can be refused after the pause has been claimed.
	for _, s := range res.stages {
		if _, err := s.body(res, s.replies); err != nil {
			return translate.Out{}, nil, err
		}
	}
	if res.mustForget(byKind[approval]) {
		return res.forgetExchange(first), &forgetExchange{first}, nil
	}
	return first.Out, first.Run, nil
}

// takeResults takes the results of the client's own calls from the new messages, which came with
// the answers, and moves them into the conversation. Without these results 1.7.0 runs no approved
// call (RAN).
func (res *resumption) takeResults(approvals []reply) (err error) {
	needed := res.kept.Row == rowOutcome && isFrom110(approvals) && slices.ContainsFunc(approvals, func(r reply) bool { return r.yes })
	if res.results, err = kit.ClientResults(res.r, res.clients, needed); err != nil {
		return err
	}
	list := kit.WithResults(res.r, kit.ShownMessages(res.r), res.results)
	res.r = res.r.With(res.r.Input, kit.NewWithoutResults(res.r, res.results))
	res.base = res.knownMessages(list)
	res.withoutHistory = res.kept.Row == rowOutcome && len(res.r.Input.Messages) == 0 && len(approvals) > 0 && isFrom110(approvals)
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

// plan sets the stages. The approvals are in the first stage, because 1.0.0rc8 and later accept
// nothing else while an approval is open.
func (res *resumption) plan(approvals, requests, confirms []reply) {
	outcome := res.kept.Row == rowOutcome
	switch {
	case len(approvals) == 0:
	case outcome && len(res.kept.Clients) > 0:
		// 1.0.0rc8 requires an answer to each question. After a cancel it forgets only the
		// cancelled question. So the other answers are sent again in the next exchange.
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

// next returns the exchange of the next stage, and removes that stage from the list.
func (res *resumption) next() (*translate.Exchange, error) {
	s := res.stages[0]
	body, err := s.body(res, s.replies)
	if err != nil {
		return nil, err
	}
	res.stages = res.stages[1:]
	res.replies = append(res.replies, s.replies...)
	run := newRun(res.d, res.r)
	run.answered = &answeredExchange{resumption: res, replies: s.replies, done: map[string]bool{}}
	out := translate.Out{Body: body, Resumes: true, TakesNew: len(res.results) > 0, UnsentMessages: res.r.NewMessages}
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
		return one, nil // a cancel means no
	case one.Kind == request && len(a.Payload) == 0:
		return reply{}, agui.Errorf(agui.InvalidPayload, textNoPayload, a.ID)
	case one.Kind == request:
		return one, nil
	}
	var err error
	one.yes, err = decision(a)
	return one, err
}

// decision returns the yes or no in the answer. It returns an error if the keys "accepted" and
// "approved" have different values, because 1.0.0rc8 prefers one of the two keys and 1.2.0 the
// other. For the same reason it reads both of two equal keys: Python uses the last.
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

// messageID returns an id that no message of the thread has. It must be unique, because backends
// read two messages with the same id as one.
func (res *resumption) messageID() string {
	sum := sha256.New()
	for _, i := range res.r.Pause.Interrupts {
		sum.Write([]byte(i.ID + "\x00"))
	}
	sum.Write([]byte(res.r.Input.RunID + "\x00" + strconv.Itoa(len(res.r.Input.Messages))))
	return "holdpoint-" + hex.EncodeToString(sum.Sum(nil)[:12])
}

// answerID returns the id of the message with the answers of the next exchange.
func (res *resumption) answerID() string { return res.id + "-" + strconv.Itoa(len(res.replies)+1) }

// knownMessages returns the messages of list as the backend needs them. They have the calls that
// the backend asked about, with exactly the arguments that it sent (1.0.0rc4 and later compare
// them). They lack the messages and calls that serve only to ask or to answer.
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
	list = kit.HistoryOf(kit.HistoryOf(list, gone).WithoutCalls(), open).AfterCalls(nil)
	last := lastCalls(list)
	for n, m := range list {
		list[n] = withArguments(m, func(call string) (ask, bool) {
			a, ok := asked[call]
			return a, ok && last[call] == n
		})
	}
	return res.withCalls(list, last)
}

// withCalls returns the list with a further message. That message has the calls which the questions
// are about and which the list lacks.
func (res *resumption) withCalls(list []agui.Message, seen map[string]int) []agui.Message {
	var missing []json.RawMessage
	for _, i := range res.r.Pause.Interrupts {
		a, _ := askOf(i)
		if _, there := seen[a.Call]; there || a.Kind != approval || a.Name == "" {
			continue
		}
		seen[a.Call] = len(list)
		missing = append(missing, agui.CallJSON(a.Call, a.Name, a.arguments()))
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

// body returns the body of a request with these messages. The body has no answer in any form.
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

// conversation returns the messages for the next exchange. The parameter open has the answers that
// this exchange sends. The result of every other call that is finished directly follows its call.
func (res *resumption) conversation(open []reply) []agui.Message {
	if res.withoutHistory {
		return nil
	}
	done := map[string]bool{}
	var results []agui.Message
	for call, t := range res.sent {
		if !slices.ContainsFunc(open, func(r reply) bool { return r.Call == call }) {
			done[call], results = true, append(results, t.message(call))
		}
	}
	list := kit.HistoryOf(res.base, done).AfterCalls(results)
	if safe := messagesAsResults(list, res.r.Input); safe != nil {
		return safe
	}
	return list
}

func (t sentResult) message(call string) agui.Message {
	return agui.ParseMessage(agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
		Call    string `json:"toolCallId"`
	}{t.id, "tool", t.content, call}))
}
