package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A client may make a question only of a call that streams in the same run, and find nothing in a
// snapshot. So what is told again is streamed, as far as the request shows that the client lacks
// it.

// calledAgain returns the events of the calls that open questions are about and that the request
// lacks, for a stream that tells the questions again to such a client. A request without a message
// of the conversation shows nothing.
func (r *run) calledAgain(p *agui.Pause) []agui.Event {
	if r.show == translate.ShowNative || r.request.client.TakesSnapshots() || !r.brings(p) {
		return nil
	}
	holds := map[string]bool{}
	for _, m := range r.in.Messages { // not the client's own list: results that it made up are out of this one
		for _, id := range callsIn(m) {
			holds[id] = true
		}
	}
	if r.show == translate.ShowBoth {
		for _, own := range p.Native {
			holds[agui.View(own).Get("toolCallId").Str] = true
		}
	}
	var events []agui.Event
	for _, i := range p.Undecided().Interrupts {
		id := i.ToolCallID()
		at := slices.IndexFunc(i.Calls, func(c agui.AskedCall) bool { return c.ID == id && c.Name != "" && !c.Unknown })
		if c := r.knownCalls.lacking[id]; id == "" || at < 0 || i.CallUnseen || holds[id] || c != nil && c.begun {
			continue
		}
		holds[id] = true
		for _, frame := range kit.CallFrames(agui.Call{ID: id, Name: i.Calls[at].Name, Args: i.Calls[at].Args}) {
			events = append(events, agui.NewEvent(frame))
		}
	}
	return events
}

// brings reports whether the request has a message of the conversation that a pause ended.
func (r *run) brings(p *agui.Pause) bool {
	return slices.ContainsFunc(r.request.input.Messages, func(m agui.Message) bool { return p.Knows(agui.See(m)) })
}

// keepPart keeps the answers of a request that leaves questions open, if its client sends those of
// its last message only: a program that puts each answer into a message of its own would never
// answer all of them in one request. Such an answer stands in the record as a decision, and the
// application is asked for the rest.
func (r *run) keepPart() {
	p, answers := r.record.Pause, r.answers.list
	partial := r.verdict.Do == contract.Refuse && r.verdict.Refusal != nil && r.verdict.Refusal.Code == agui.PartialResume
	if !partial || !r.request.client.OmitsQuestions() || r.record.State != store.Open || contract.JudgeDecisions(r.newCase()) != nil {
		return
	}
	read := r.interpret(p, answers)
	var list []agui.Decision
	for n, a := range answers {
		if p.Decision(a.ID) == nil {
			d := decisionOf(p, a, read[n])
			d.Door = string(event.Chat)
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return
	}
	if err := r.ledger.Decide(p, list); err != nil {
		r.log.Warn("answers to a part of the questions are not kept: the application is asked for all of them", "err", err)
		return
	}
	decided := *p
	decided.Decisions = append(slices.Clone(p.Decisions), list...)
	r.record.Pause = &decided
}

// A program around .NET's client keeps each question that it was told, and the client throws if two
// of them have one id. So it gets another id each time: the published one, with a mark of the run.

// retold is the form of such an id.
var retold = regexp.MustCompile(`^(.+~[A-Za-z0-9_-]+)\+[0-9a-f]{8}$`)

// withRetoldIDs returns a pause as it is told again to such a client.
func (r *run) withRetoldIDs(p *agui.Pause) *agui.Pause {
	if !r.request.client.OmitsQuestions() || r.show == translate.ShowNative {
		return p
	}
	sum := sha256.Sum256([]byte(r.in.RunID))
	told := *p
	told.Interrupts = slices.Clone(p.Interrupts)
	for n := range told.Interrupts {
		i := &told.Interrupts[n]
		if id := i.ID + "+" + hex.EncodeToString(sum[:4]); retold.MatchString(id) {
			i.Object = agui.WithID(i.Object, id)
		}
	}
	return &told
}

// withPublishedIDs returns the input of a request with the published ids in its resume.
func withPublishedIDs(in *agui.RunInput) *agui.RunInput {
	if !slices.ContainsFunc(in.Resume, func(e agui.ResumeEntry) bool { return retold.MatchString(e.InterruptID) }) {
		return in
	}
	out := *in
	out.Resume = slices.Clone(in.Resume)
	entries := agui.View(in.Raw).Get("resume").Array()
	list := make([]json.RawMessage, len(entries))
	for n, e := range entries {
		list[n] = json.RawMessage(e.Raw)
		if id := retold.FindStringSubmatch(e.Get("interruptId").Str); id != nil && n < len(out.Resume) {
			list[n] = agui.SetString(list[n], "interruptId", id[1])
			out.Resume[n].InterruptID = id[1]
		}
	}
	out.Raw = agui.SetKey(in.Raw, "resume", agui.List(list))
	return &out
}

// streamedEnd returns what the request lacks of an end that is told again, for a client that takes
// no messages from a snapshot: the messages since the question, each call before its result. The
// request must name the question by an id that nobody can guess.
func (r *run) streamedEnd(result *store.Result) []agui.Event {
	if r.show == translate.ShowNative || r.request.client.TakesSnapshots() || result.Pause == nil {
		return nil
	}
	p := result.Pause.Indexed()
	if !r.namesPublished(&p) {
		return nil
	}
	results, calls, messages := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range r.request.input.Messages {
		messages[m.ID] = m.ID != ""
		results[m.ToolCallID] = results[m.ToolCallID] || m.Role == "tool"
		for _, id := range callsIn(m) {
			calls[id] = true
		}
	}
	var events []agui.Event
	add := func(frames ...json.RawMessage) {
		for _, frame := range frames {
			events = append(events, agui.NewEvent(frame))
		}
	}
	lacking := map[string]agui.Call{}
	tellCall := func(id string) {
		if c, is := lacking[id]; is {
			add(kit.CallFrames(c)...)
			delete(lacking, id)
		}
	}
	lacks := r.lacks(&p)
	gjson.ParseBytes(endedSnapshots(result).fetch(r).Messages).ForEach(func(_, one gjson.Result) bool {
		m := agui.ParseMessage(json.RawMessage(one.Raw))
		asked := p.Knows(agui.See(m))
		for _, c := range one.Get("toolCalls").Array() {
			id := c.Get("id").Str
			if !calls[id] && (!asked || lacks(id)) {
				lacking[id] = agui.Call{ID: id, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str, Parent: m.ID}
			}
		}
		known := asked || messages[m.ID]
		switch text := one.Get("content").Str; {
		case known:
		case m.Role == "assistant" && text != "":
			add(textFrames(m.ID, text)...)
		case m.Role == "tool" && !results[m.ToolCallID]:
			tellCall(m.ToolCallID)
			results[m.ToolCallID] = true
			events = append(events, kit.ToolReply{ID: m.ID, Call: m.ToolCallID, Content: text}.Event())
		}
		return true
	})
	return append(events, resultsAgain(result, lacks, results)...)
}

// resultsAgain returns Holdpoint's own results of calls that a pause asked about, if its run told
// none; see ownResults. results are those that the client holds.
func resultsAgain(result *store.Result, lacks func(call string) bool, results map[string]bool) []agui.Event {
	var events []agui.Event
	for _, i := range result.Pause.Interrupts {
		id := i.ToolCallID()
		at := slices.IndexFunc(i.Calls, func(c agui.AskedCall) bool { return c.ID == id && c.Name != "" && !c.Unknown })
		if id == "" || results[id] || at < 0 || i.CallUnseen || !lacks(id) {
			continue
		}
		results[id] = true
		for _, frame := range kit.CallFrames(agui.Call{ID: id, Name: i.Calls[at].Name, Args: i.Calls[at].Args}) {
			events = append(events, agui.NewEvent(frame))
		}
		content := words.Answered
		for _, g := range result.Given {
			switch {
			case g.ID != i.ID:
			case g.Status == agui.Cancelled || g.Says == saysDenied:
				content = words.Denied
			case result.How == store.Doubtful:
				content = words.InDoubt
			case g.Says == saysApproved:
				content = words.Approved
			}
		}
		events = append(events, kit.ToolReply{ID: "result-" + id, Call: id, Content: content}.Event())
	}
	return events
}

// namesPublished reports whether the request names a question of a pause by an id with Holdpoint's
// random part.
func (r *run) namesPublished(p *agui.Pause) bool {
	return slices.ContainsFunc(r.in.Resume, func(e agui.ResumeEntry) bool {
		i := p.Interrupt(e.InterruptID)
		return i != nil && i.ID != i.Native && strings.Contains(i.ID, "~")
	})
}

// textFrames are the events of a text.
func textFrames(id, text string) []json.RawMessage {
	type event struct {
		Type  agui.Type `json:"type"`
		ID    string    `json:"messageId"`
		Role  string    `json:"role,omitempty"`
		Delta string    `json:"delta,omitempty"`
	}
	return []json.RawMessage{
		agui.MustMarshal(event{agui.TextStart, id, "assistant", ""}),
		agui.MustMarshal(event{agui.TextContent, id, "", text}),
		agui.MustMarshal(event{agui.TextEnd, id, "", ""}),
	}
}
