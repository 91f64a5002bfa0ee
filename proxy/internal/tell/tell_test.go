package tell

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// These are request bodies of the clients that the tables below name.
const (
	official = `{"protocolVersion":"1.0","threadId":"t","runId":"r","messages":[` + user + `]}`
	tanStack = `{"threadId":"t","runId":"r","messages":[` + user + `],"tools":[` + tool + `],"context":[],"state":{},"forwardedProps":{},"data":{}}`
	inTree   = `{"threadId":"t","runId":"run_0d66c3ca00004ab4b96e8b2898de1e9a","messages":[{"name":null,"id":"u1","role":"user","content":"go"}],"context":[]}`

	user = `{"id":"u1","role":"user","content":"go"}`
	tool = `{"name":"rm","description":"","parameters":{"type":"object"}}`
)

// A stream is a Stream with an open text message. If unknown is true, it does not know what is
// open.
type stream struct{ unknown bool }

func (s stream) KnowsOpen() bool { return !s.unknown }

func (stream) ClosingEvents(bool) []agui.Event {
	return []agui.Event{agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_END","messageId":"m"}`))}
}

// listener returns the client that sent body. Its request answers a question.
func listener(t *testing.T, body string) *Listener {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(body))
	if err != nil || !ok {
		t.Fatalf("not a run: %v\n%s", err, body)
	}
	line := clients.Of(&in)
	return &Listener{
		Listener: client.Listener{Line: line, Show: client.ShowFor(line, &in, false), Thread: in.ThreadID, In: &in, ClientMessages: in.Messages},
		Calls:    &client.KnownCalls{}, Stream: stream{}, Answers: true,
	}
}

func event(text string) agui.Event { return agui.NewEvent([]byte(text)) }

// question returns a pause with one question, which was asked after the message u1.
func question() *agui.Pause {
	return &agui.Pause{
		ID: "p", Finish: []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`), SnapshotBytes: 1,
		Interrupts:   []agui.Interrupt{{ID: "n~x", Native: "n", Object: []byte(`{"id":"n~x","message":"Delete it?"}`)}},
		SeenMessages: []agui.SeenMessage{agui.NewSeenMessage(agui.ParseMessage([]byte(user)))},
	}
}

// brief returns events as a line of their types. After a type, "?" means an outcome with questions,
// and ":" precedes a code. The code of a refusal is in parentheses.
func brief(events []agui.Event) string {
	list := make([]string, len(events))
	for n, ev := range events {
		list[n] = string(agui.PeekType(ev.JSON))
		if ev.Get("outcome.type").Str == "interrupt" {
			list[n] += "?"
		}
		if code := ev.Get("code").Str; code != "" {
			list[n] += ":" + code
		}
		if why := ev.Get("metadata.holdpoint.refusal.code").Str; why != "" {
			list[n] += "(" + why + ")"
		}
	}
	return strings.Join(list, " ")
}

// TestWhatAnEndIsToldAs: a run ends. The client must get the end that the record has. If the
// request has answers and the run fails, the client must get RUN_FINISHED with the open questions,
// and then the error.
func TestWhatAnEndIsToldAs(t *testing.T) {
	finished, kaput := event(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`), event(`{"type":"RUN_ERROR","message":"kaput","code":"OWN"}`)
	down := agui.Errorf(agui.StoreUnavailable, "down")
	p := question()
	asks := settle.Outcome{Ask: p, Announced: true}
	failed := asks
	failed.Failure = &settle.Failure{Event: kaput}
	for situation, c := range map[string]struct {
		body    string
		change  func(l *Listener)
		outcome settle.Outcome
		kept    SavedPause
		want    string
		word    string
	}{
		"it has finished":                      {official, nil, settle.Outcome{Finish: finished}, SavedPause{}, "RUN_FINISHED", "finished"},
		"it has failed":                        {official, nil, settle.Outcome{Finish: kaput}, SavedPause{}, "TEXT_MESSAGE_END RUN_FINISHED(OWN) RUN_ERROR:OWN", "error"},
		"it has failed, and nobody answered":   {official, func(l *Listener) { l.Answers = false }, settle.Outcome{Finish: kaput}, SavedPause{}, "RUN_ERROR:OWN", "error"},
		"it has failed, more open than known":  {official, func(l *Listener) { l.Stream = stream{unknown: true} }, settle.Outcome{Finish: kaput}, SavedPause{}, "RUN_ERROR:OWN", "error"},
		"it has failed, and the pause is back": {official, nil, settle.Outcome{Finish: kaput}, SavedPause{SavedOutcome: settle.SavedOutcome{Reopened: true}, OpenPause: p}, "TEXT_MESSAGE_END RUN_FINISHED?(OWN) RUN_ERROR:OWN", "error"},
		"back, so no result is made up":        {official, nil, settle.Outcome{Finish: kaput}, SavedPause{SavedOutcome: settle.SavedOutcome{Reopened: true}, OpenPause: p, OwnResults: []agui.Event{event(`{"type":"TOOL_CALL_RESULT"}`)}}, "TEXT_MESSAGE_END RUN_FINISHED?(OWN) RUN_ERROR:OWN", "error"},
		"results that nobody told":             {official, nil, settle.Outcome{Finish: finished}, SavedPause{OwnResults: []agui.Event{event(`{"type":"TOOL_CALL_RESULT"}`)}}, "TOOL_CALL_RESULT RUN_FINISHED", "finished"},
		"back, before a page":                  {official, func(l *Listener) { l.Page = true }, settle.Outcome{Finish: kaput}, SavedPause{SavedOutcome: settle.SavedOutcome{Reopened: true}, OpenPause: p}, "TEXT_MESSAGE_END RUN_FINISHED?(OWN)", "error"},
		"the record has not taken its end":     {official, nil, settle.Outcome{Finish: finished}, SavedPause{Refused: down}, "TEXT_MESSAGE_END RUN_FINISHED(STORE_UNAVAILABLE) RUN_ERROR:STORE_UNAVAILABLE", "error"},
		"its client has left":                  {official, func(l *Listener) { l.ClientLeft = true }, settle.Outcome{Finish: finished}, SavedPause{}, "RUN_FINISHED", "client left"},
		"answers beside it were not taken":     {official, func(l *Listener) { l.NotTaken = &client.Refusal{Code: agui.ResumeConflict} }, settle.Outcome{Finish: finished}, SavedPause{}, "RUN_FINISHED(RESUME_CONFLICT)", "finished"},

		"it asks":                            {official, nil, asks, SavedPause{SavedOutcome: settle.SavedOutcome{Pause: p}}, "TEXT_MESSAGE_END RUN_FINISHED?", "interrupt"},
		"it asks, and that cannot be kept":   {official, nil, asks, SavedPause{Refused: down}, "TEXT_MESSAGE_END RUN_FINISHED(STORE_UNAVAILABLE) RUN_ERROR:STORE_UNAVAILABLE", "error"},
		"it asks, and another question does": {official, nil, asks, SavedPause{Refused: agui.Errorf(agui.ThreadBusy, "busy"), OpenPause: p}, "TEXT_MESSAGE_END RUN_FINISHED?(THREAD_BUSY) RUN_ERROR:THREAD_BUSY", "error"},
		"failed, and another question asks":  {official, nil, failed, SavedPause{Refused: agui.Errorf(agui.ThreadBusy, "busy"), OpenPause: p}, "TEXT_MESSAGE_END RUN_FINISHED?(THREAD_BUSY) RUN_ERROR:THREAD_BUSY", "error"},
		"it asks still, for it has failed":   {official, nil, failed, SavedPause{SavedOutcome: settle.SavedOutcome{Pause: p}}, "TEXT_MESSAGE_END RUN_FINISHED?(OWN) RUN_ERROR:OWN", "interrupt"},
		"asks still, before TanStack AI":     {tanStack, func(l *Listener) { l.Show = translate.ShowOutcome }, failed, SavedPause{SavedOutcome: settle.SavedOutcome{Pause: p}}, "TEXT_MESSAGE_END RUN_FINISHED?(OWN)", "interrupt"},
		"asks a client that reads no form":   {inTree, nil, asks, SavedPause{SavedOutcome: settle.SavedOutcome{Pause: p}}, "TEXT_MESSAGE_END TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED?", "interrupt"},
		"the same, as an outcome":            {inTree, func(l *Listener) { l.Show = translate.ShowOutcome }, asks, SavedPause{SavedOutcome: settle.SavedOutcome{Pause: p}}, "TEXT_MESSAGE_END TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED?", "interrupt"},
	} {
		t.Run(situation, func(t *testing.T) {
			l := listener(t, c.body)
			if c.change != nil {
				c.change(l)
			}
			said := EndOf(l, &c.outcome, &c.kept)
			if got := brief(said.Events); got != c.want || said.Outcome != c.word {
				t.Errorf("told %s (%s), want %s (%s)", got, said.Outcome, c.want, c.word)
			}
			if asks := c.outcome.Ask != nil && c.kept.Refused == nil; asks != (said.Paused != nil) {
				t.Errorf("paused: %v", said.Paused)
			}
		})
	}
}

// TestWhatARulingIsToldAs: Holdpoint does not send a request to the backend. The test checks the
// events that the client gets, and that Holdpoint loads only the necessary snapshots from the
// store.
func TestWhatARulingIsToldAs(t *testing.T) {
	p := question()
	finish, kaput := []byte(`{"type":"RUN_FINISHED","threadId":"old","runId":"old"}`), []byte(`{"type":"RUN_ERROR","message":"kaput","code":"OWN"}`)
	seen := append(p.SeenMessages, agui.SeenMessage{ID: "m1"})
	ended := func(how store.EndKind, finish []byte, next string) *store.Result {
		return &store.Result{PauseID: "q", EndKind: how, Finish: finish, Next: next, Pause: question(), SeenMessages: seen, SnapshotBytes: 1}
	}
	open, none := store.Record{State: store.Open, Pause: p}, store.Record{}
	record := func(result *store.Result) store.Record { return store.Record{Results: []*store.Result{result}} }
	of := func(do contract.Act, result *store.Result) contract.Ruling {
		return contract.Ruling{Do: do, Replay: result}
	}
	refused := func(code agui.Code, reask bool) contract.Ruling {
		return contract.Ruling{Do: contract.Refuse, Refusal: agui.Errorf(code, "no"), AsksAgain: reask}
	}
	well, badly, further, doubtful := ended(store.Finished, finish, ""), ended(store.Finished, kaput, ""), ended(store.Finished, finish, "p2"), ended(store.Doubtful, kaput, "")
	for situation, c := range map[string]struct {
		record store.Record
		ruling contract.Ruling
		change func(l *Listener)
		want   string
		wants  int // the number of snapshots loaded from the store
	}{
		"the open question again":             {open, of(contract.TellAgain, nil), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED?", 1},
		"again, in the backend's own form":    {open, of(contract.TellAgain, nil), func(l *Listener) { l.Show = translate.ShowNative }, "RUN_STARTED RUN_FINISHED?", 0},
		"nothing to answer":                   {none, of(contract.EmptyRun, nil), nil, "RUN_STARTED RUN_FINISHED", 0},
		"the same answers, ended well":        {record(well), of(contract.Replay, well), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED", 1},
		"the same answers, ended in an error": {record(badly), of(contract.Replay, badly), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED(OWN) RUN_ERROR:OWN", 1},
		"the same answers, another question":  {store.Record{State: store.Open, Pause: p, Results: []*store.Result{well}}, of(contract.Replay, well), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED?", 1},
		"another question, and it failed":     {store.Record{State: store.Open, Pause: p, Results: []*store.Result{badly}}, of(contract.Replay, badly), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED?(OWN) RUN_ERROR:OWN", 1},
		"the answers led on, all is over":     {record(further), of(contract.Replay, further), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED", 1},
		"the same answers, in doubt":          {record(doubtful), of(contract.Replay, doubtful), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED(OWN) RUN_ERROR:OWN", 1},
		"refused, and asked again":            {open, refused(agui.InvalidPayload, true), nil, "RUN_STARTED RUN_FINISHED?(INVALID_PAYLOAD) RUN_ERROR:INVALID_PAYLOAD", 0},
		"refused, asked again after others":   {store.Record{State: store.Open, Pause: p, Results: []*store.Result{well}}, refused(agui.InvalidPayload, true), nil, "RUN_STARTED RUN_FINISHED?(INVALID_PAYLOAD) RUN_ERROR:INVALID_PAYLOAD", 0},
		"refused, and nothing is open":        {record(well), refused(agui.UnknownInterruptID, true), nil, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED(UNKNOWN_INTERRUPT_ID) RUN_ERROR:UNKNOWN_INTERRUPT_ID", 1},
		"refused, of a page that has gone on": {record(well), refused(agui.UnknownInterruptID, true), func(l *Listener) {
			in := l.In.WithMessages(append(l.In.Messages, agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"more"}`))))
			l.In = &in
		}, "RUN_STARTED RUN_FINISHED(UNKNOWN_INTERRUPT_ID) RUN_ERROR:UNKNOWN_INTERRUPT_ID", 0},
		"an ordinary run that is refused": {none, refused(agui.StoreUnavailable, false), func(l *Listener) { l.Answers = false }, "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE", 0},
	} {
		t.Run(situation, func(t *testing.T) {
			l := listener(t, official)
			if l.Stream = nil; c.change != nil {
				c.change(l)
			}
			kept := NamedSnapshots{}
			for _, ref := range NeededSnapshots(l, &c.record, &c.ruling) {
				kept[ref] = &Snapshots{List: []json.RawMessage{[]byte(user)}, Kept: []byte("[" + user + "]")}
			}
			if len(kept) != c.wants {
				t.Errorf("wants %v", kept)
			}
			var said Reply
			switch c.ruling.Do {
			case contract.TellAgain:
				said = QuestionAgain(l, &c.record, kept)
			case contract.EmptyRun:
				said = NothingToAnswer(l)
			case contract.Replay:
				said = ReplayedEnd(l, &c.record, c.ruling.Replay, kept)
			default:
				why := RefusalFor(c.ruling.Refusal, nil, nil, c.record.Now, "")
				said = Refused(l, &c.record, c.ruling.Refusal, why, c.ruling.AsksAgain, kept)
			}
			if got := brief(said.Events); got != c.want {
				t.Errorf("told %s, want %s", got, c.want)
			}
			if last := said.Events[len(said.Events)-1]; last.Type == agui.RunFinished && last.Get("runId").Str != "r" {
				t.Errorf("it ends another run: %s", last.JSON)
			}
		})
	}
}
