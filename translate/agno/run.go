package agno

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. All that it asks stands in the transcript.
type run struct {
	d      *Dialect
	r      *translate.Request
	resume *resumed // nil in a run without answers

	// By hashes, because an id would have to be copied.
	begun map[uint64]int // how often a call began since its last result
	last  []uint64       // the calls that began since the model last spoke, or a call had its result
}

// seed is the hashes' seed.
var seed = maphash.MakeSeed()

func hashOf(call string) uint64 { return maphash.String(seed, call) }

// callOf is the hash of the call that an event is of.
func callOf(ev agui.Event) uint64 { return hashOf(agui.View(ev.JSON).Get("toolCallId").Str) }

// resumed is what a run with answers looks at.
type resumed struct {
	asked   []kept
	no      []bool
	replies []kit.ToolReply

	told      bool // the answers that agno tells no result of were told
	continued bool // RAW RunContinued was seen
	team      bool
	results   []string
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	run.note(ev)
	s := run.resume
	if s == nil {
		return nil
	}
	switch ev.Type {
	case agui.RunStarted:
		if run.r.Show != translate.ShowNative && !s.told {
			s.told = true
			for n, reply := range s.replies {
				if s.no[n] || s.asked[n].Kind == feedback || s.asked[n].Kind == external || s.asked[n].Tool == getUserInput {
					emit(reply.Event())
				}
			}
		}
	case agui.Raw:
		event := agui.View(ev.JSON).Get("event.event").Str
		s.team = s.team || strings.HasPrefix(event, "Team")
		s.continued = s.continued || strings.HasSuffix(event, "RunContinued")
	case agui.CallResult:
		s.results = append(s.results, ev.Get("toolCallId").Str)
	}
	return nil
}

// note notes which calls the stream begins. The calls that ask stand at its end, behind the last
// words of the model.
func (run *run) note(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart:
		if run.begun == nil {
			run.begun = map[uint64]int{}
		}
		call := callOf(ev)
		run.begun[call]++
		run.last = append(run.last, call)
	case agui.CallResult:
		delete(run.begun, callOf(ev))
		run.last = run.last[:0]
	case agui.TextContent, agui.TextChunk:
		run.last = run.last[:0]
	}
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallResult:
		return false
	case agui.TextContent, agui.TextChunk:
		return len(run.last) == 0
	case agui.RunStarted, agui.Raw:
		return run.resume == nil
	}
	return true
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	outcome := agui.View(e.Event.JSON).Get("outcome")
	if e.Event.Type == agui.RunFinished && e.Event.Valid() && (!outcome.Exists() || outcome.Get("type").Str == "success") {
		res = run.asked(e.Event)
	}
	if run.resume != nil && len(res.Asked.Interrupts) == 0 {
		run.became(&res, e)
	}
	return res, nil
}

// asked is the result of a run that ended plainly, with what it asks: its calls without a result.
// Those of tools that the request declares are the client's own.
func (run *run) asked(finish agui.Event) translate.Result {
	res := translate.Result{Finish: finish}
	if run.r.Transcript == nil {
		return res
	}
	var p translate.Asked
	var clients []string
	native := run.r.Show == translate.ShowNative
	done := map[string]bool{}
	for _, c := range run.r.Transcript.Calls() {
		if !c.Fresh || c.Answered || done[c.ID] || run.goesOn(c.ID) {
			continue
		}
		done[c.ID] = true
		if run.r.Input.Declares(c.Name) {
			clients = append(clients, c.ID)
			continue
		}
		p.Interrupts = append(p.Interrupts, interrupt(run.d.kindOf(c.Name), c, run.begun[hashOf(c.ID)] > 1))
		if native {
			p.Own = append(p.Own, kit.CallFrames(c)...)
		}
	}
	if len(p.Interrupts) == 0 {
		return res
	}
	p.Private = agui.MustMarshal(keptOfPause{clients})
	if native {
		p.OwnFinish, p.Shown = slices.Clone(finish.JSON), true
	}
	res.Asked, res.Finish = p, kit.WithoutOutcome(finish)
	return res
}

// goesOn says whether a call without a result is one that this resume answered, and does not ask
// again. agno begins the calls again that it carries out, and not those that were denied. Ids of
// some models repeat, and then a call of the same id asks at the end.
func (run *run) goesOn(call string) bool {
	return run.resume != nil && slices.ContainsFunc(run.resume.asked, func(k kept) bool { return k.Call == call }) &&
		!slices.Contains(run.last, hashOf(call))
}

// became says what became of the answers.
func (run *run) became(res *translate.Result, e translate.End) {
	s := run.resume
	switch e.Event.Type {
	case agui.RunFinished:
		switch {
		case !s.team && s.withoutResult():
			res.Fate = translate.InDoubt
		case len(run.r.New) > 0:
			res.Next = run.next()
		}
	case agui.RunErrored:
		text := e.Event.Get("message").Str
		switch {
		case s.continued || len(s.results) > 0:
		case !slices.Contains(s.no, false): // a no ends the pause: nobody could answer it otherwise
		case strings.HasPrefix(text, "No paused run matching"), strings.HasPrefix(text, "Session ") && strings.HasSuffix(text, "not found"):
			res.Fate = translate.Lost
		case remainsPaused(text), slices.ContainsFunc(complaints, func(begin string) bool { return strings.HasPrefix(text, begin) }):
			res.Fate = translate.Untouched
			if strings.Contains(text, "requires a database") {
				run.d.once.Do(func() {
					run.d.warn("agno cannot go on with a paused run of an agent without a database: give it one (Agent(db=..))")
				})
			}
		}
	}
}

// complaints are how the errors begin that agno's resume.py raises before anything runs. The
// question stays open.
var complaints = []string{"user_input expects ", "user_feedback expects ", "Frontend tool resume requires "}

// remainsPaused reports whether agno says that it could not bind the answers to a run, and that the
// run still waits (RAN 3.1.10 with a team in a team; team/_run.py). It looks for the runs of all
// answers before it goes on with one.
func remainsPaused(text string) bool {
	return strings.HasPrefix(text, "Cannot continue run ") && strings.HasSuffix(text, "The run remains paused.")
}

// withoutResult says whether a confirmed call has no result.
func (s *resumed) withoutResult() bool {
	for n, k := range s.asked {
		if k.Kind == confirm && !s.no[n] && !slices.Contains(s.results, k.Call) {
			return true
		}
	}
	return false
}

// next is the exchange for the messages beside the answers.
func (run *run) next() *translate.Exchange {
	list := kit.After(run.r, kit.CallsOf(run.resume.replies)).Behind(kit.ToolMessages(run.resume.replies))
	body := agui.SetKey(agui.DeleteKey(run.r.Input.Raw, "resume"), "messages", agui.MessageList(list))
	out := translate.Out{Body: kit.BodyWithoutCommand(run.r.Input, body), TakesNew: true}
	return &translate.Exchange{Out: out, Run: plain(run.d, run.r)}
}

func clientsOf(p agui.Pause) []string {
	var k keptOfPause
	_ = json.Unmarshal(p.Private, &k) // of another version: none
	return k.Clients
}
