// Package toolcall translates any AG-UI backend that asks by a plain call of a tool which it does
// not answer itself. Its run ends as if it was over:
//
//	TOOL_CALL_START delete_file, ARGS, END, and no RESULT
//	RUN_FINISHED without an outcome
//
// The answer is a tool message on that call, the last of the messages. What it says is configured,
// because nothing on the wire tells. So are the names of the tools: a call without a result may
// also wait for a job, or for nothing. What the request declares in its tools is the client's own.
//
// Two kinds of backends ask so, and both are answered:
//
//   - The call is the question, such as ask_permission, and the answer is its result.
//   - The call waits for the answer and runs then. The backend tells its result itself.
//
// The backend is taken to know its calls by their ids, to take all answers of a turn in one
// request, and to look for them behind the history, or alone if it keeps the conversation
// (translate.Request.Sessions). Whether it knows the call still is not on the wire: a resume whose
// run ends well has been taken.
//
// It does not know how one framework or another does so; each that is known has a dialect of its
// own. The protocol is AG-UI's, of tools that the front end runs.
package toolcall

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/plaincalls"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "tool-call"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct{ plaincalls.Protocol }

// New makes the dialect. It warns of nothing.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("tool-call: %w", err)
	}
	words, err := o.words()
	if err != nil {
		return nil, fmt.Errorf("tool-call: %w", err)
	}
	return &Dialect{plaincalls.Protocol{Dialect: Name, Ask: o.Ask, Words: words, Message: message, Forgets: true}}, nil
}

func message(tool, said string) string {
	if said == "" {
		return fmt.Sprintf("The agent asks to call the tool %s.", tool)
	}
	return fmt.Sprintf("The agent asks to call the tool %s: %s", tool, said)
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It signs the plain end of a run with a call that asks.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return ev.Type == agui.RunFinished && ev.Valid() && plain(ev) && len(d.Open(r)) > 0
}

// plain says whether a RUN_FINISHED asks nothing itself.
func plain(ev agui.Event) bool {
	outcome := agui.View(ev.JSON).Get("outcome")
	return !outcome.Exists() || outcome.Get("type").Str == "success"
}

// Answers implements translate.Dialect. It reads the entries of resume and command.resume. Tool
// messages answer too; see Replies.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	return kit.Answers(in, p)
}

// Begin implements translate.Dialect.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	in := d.Without(r, func(p agui.Pause) bool { return p.Dialect == Name })
	if r.Pause.ID == "" {
		out := translate.Out{}
		if len(in.Raw) != len(r.Input.Raw) {
			out.Body = in.Raw
		}
		return out, d.plainRun(r), nil
	}
	if len(r.Answers) != len(r.Pause.Interrupts) || len(r.Answers) == 0 {
		return translate.Out{}, nil, kit.Unreadable()
	}
	r = r.With(in, r.New)
	answers, err := d.Resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	begun := &run{d: d, r: r.With(in, answers.Beside), answers: answers}
	if r.Show != translate.ShowNative {
		begun.teller = plaincalls.NewTeller(answers)
	}
	return translate.Out{Body: body(in, answers.Messages), Resumes: true, TakesNew: len(r.New) > 0, Left: answers.Beside}, begun, nil
}

func (d *Dialect) plainRun(r *translate.Request) *run { return &run{d: d, r: r.Plain()} }

// body is the client's request with other messages, and without what it answers.
func body(in agui.RunInput, messages []agui.Message) []byte {
	return agui.SetKey(agui.DeleteKey(kit.BodyWithoutCommand(in, in.Raw), "resume"), "messages", agui.MessageList(messages))
}

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. All that it asks stands in the transcript.
type run struct {
	d       *Dialect
	r       *translate.Request
	answers plaincalls.Resume // of a resume
	teller  plaincalls.Teller
	starts  plaincalls.Starts
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	run.starts.See(&run.d.Protocol, run.r.Input, ev)
	run.teller.Before(ev, emit)
	emit(ev)
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool { return run.teller.Passes(t) && run.starts.Passes(t) }

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event, Before: run.teller.Rest()}
	if e.Event.Type != agui.RunFinished || !e.Event.Valid() {
		return res, nil
	}
	if asked := run.asked(); len(asked) > 0 && asksNothing(e.Event) {
		res.Asked.Private = agui.MustMarshal(plaincalls.Kept{Clients: plaincalls.Clients(run.r)})
		run.d.AskAbout(&res.Asked, run.r, asked, &run.starts)
		if run.r.Show == translate.ShowNative {
			res.Asked.OwnFinish = slices.Clone(e.Event.JSON)
		}
		res.Finish = kit.WithoutOutcome(e.Event)
	} else if len(run.answers.Beside) > 0 {
		res.Next = run.next()
	}
	return res, nil
}

// asked are the calls that ask. What was answered is none of them: a backend may begin the call
// again that it then leaves.
func (run *run) asked() []agui.Call {
	return slices.DeleteFunc(run.d.Open(run.r), func(c agui.Call) bool { return run.answers.Again(c.ID, c.Parent) })
}

// asksNothing says whether a RUN_FINISHED asks nothing itself, in whatever form: where the operator
// has named the dialect, an outcome that is a text or null is a plain end too.
func asksNothing(ev agui.Event) bool {
	outcome := agui.View(ev.JSON).Get("outcome")
	return plain(ev) || outcome.Type == gjson.String || outcome.Type == gjson.Null
}

// next is the exchange for what was said beside the answers.
func (run *run) next() *translate.Exchange {
	out := translate.Out{Body: body(run.r.Input, kit.MessagesBehind(run.r, run.answers.Replies)), TakesNew: true}
	return &translate.Exchange{Out: out, Run: run.d.plainRun(run.r)}
}
