// Package ask is the example of docs/new-dialect.md, which quotes this file.
package ask

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "ask"

var _ translate.Signer = (*Dialect)(nil)

// A Dialect is stateless.
type Dialect struct{}

// New makes one. A dialect without options takes struct{}.
func New(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{}, nil }

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Answers reads resume, and what clients of the CUSTOM form send.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	return kit.Answers(in, p)
}

// Sign lets auto find the backend.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool { return asks(ev) }

func asks(ev agui.Event) bool {
	return ev.Type == agui.Custom && ev.Valid() && ev.Get("name").Str == "ask"
}

// Begin sends an ordinary run as it came, and a resume with the answer.
func (*Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return translate.Out{}, &run{}, nil
	}
	word := "no" // also for a cancel
	if kit.Says(r.Pause.Interrupts[0], r.Answers[0]) == agui.Approves {
		word = "yes"
	}
	body := agui.SetString(kit.BodyWithoutAnswers(r.Input, r.Input.Raw), "answer", word)
	return translate.Out{Body: body, Resumes: true, TakesNew: true}, &run{}, nil
}

type run struct{ question gjson.Result }

var _ translate.Passer = (*run)(nil)

func (*run) Passes(t agui.Type) bool { return t != agui.Custom }

// Event holds the question back: nobody learns of it before it is saved. Get copies.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if asks(ev) {
		run.question = ev.Get("value")
		return nil
	}
	emit(ev)
	return nil
}

func (run *run) End(e translate.End) (translate.Result, error) {
	if e.Event.Type != agui.RunFinished || !run.question.Exists() {
		return translate.Result{Finish: e.Event}, nil
	}
	o := kit.AppendText([]byte{'{'}, "reason", "confirmation")
	o = kit.AppendText(o, "message", run.question.Get("text").Str)
	o = append(kit.AppendMember(o, `"responseSchema"`, kit.ApprovalSchema), '}')
	asked := agui.Interrupt{Native: run.question.Get("id").Str, Object: o}
	return translate.Result{
		Finish: kit.WithoutOutcome(e.Event),
		Asked:  translate.Asked{Interrupts: []agui.Interrupt{asked}},
	}, nil
}
