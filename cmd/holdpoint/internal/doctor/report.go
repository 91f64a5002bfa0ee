package doctor

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/langgraphserver"
)

// A Verdict is the overall result of doctor. The exit code of the command depends on it.
type Verdict string

// Keeps means that the backend asks a question that Holdpoint can translate. Plain means that the
// run asks no question. Cannot means that Holdpoint cannot handle something in the backend's
// answer. NoStream means that there is no answer to examine.
const (
	Keeps    Verdict = "keeps"
	Plain    Verdict = "plain"
	Cannot   Verdict = "cannot"
	NoStream Verdict = "no-stream"
)

// A Report is the result of doctor. Its JSON is the output of -json.
type Report struct {
	Source  string    `json:"source"` // the file, the address without its query, or -
	Verdict Verdict   `json:"verdict"`
	Answer  Described `json:"answer"`
	Dialect string    `json:"dialect"` // "" if the answer does not show it
	// the kind of client, if the user gave a request of the client
	Client    string         `json:"client,omitempty"`
	Setting   string         `json:"setting"` // the HOLDPOINT_DIALECT that this backend needs, "" if unknown
	Framework Framework      `json:"framework"`
	Questions []Question     `json:"questions"`
	Events    []Change       `json:"events"`
	Cannot    []string       `json:"cannot"`
	Notes     []string       `json:"notes"` // what the answer does not show, and what to do about it
	Support   *SupportedPart `json:"support,omitempty"`
}

// Described is a summary of the backend's answer.
type Described struct {
	Status    int    `json:"status,omitempty"` // 0: a recording without its headers
	MediaType string `json:"mediaType,omitempty"`
	Server    string `json:"server,omitempty"`   // value of the Server header
	Location  string `json:"location,omitempty"` // where a redirect leads, without the query
	Bytes     int    `json:"bytes"`
	Events    int    `json:"events"`
	End       string `json:"end"` // RUN_FINISHED, RUN_ERROR or none; "" if the answer has no AG-UI event
	Cut       bool   `json:"cut,omitempty"`
}

// A Question is an interrupt that a client gets.
type Question struct {
	Reason string `json:"reason"`
	Tool   string `json:"tool,omitempty"`
	Schema bool   `json:"schema"` // whether the question has a responseSchema, by which answers are checked
}

func describe(a Answer, came *stream) Described {
	d := Described{
		Status: a.Status, MediaType: clean(mediaType(a.Header)), Server: clean(a.Header.Get("Server")),
		Bytes: len(a.Body), Events: len(came.events), Cut: a.Cut,
	}
	if a.Status/100 == 3 {
		d.Location, _, _ = strings.Cut(a.Header.Get("Location"), "?")
		d.Location = clean(d.Location)
	}
	if came.known > 0 {
		if d.End = string(came.end()); d.End == "" {
			d.End = "none"
		}
	}
	return d
}

func (r *Report) cannot(what string) { r.Cannot = append(r.Cannot, what) }
func (r *Report) note(what string)   { r.Notes = append(r.Notes, what) }

// tell fills the report from the backend's answer and from what Holdpoint did with it.
func (r *Report) tell(came *stream, p *playedStream, o Options) {
	r.Dialect = p.run.Dialect
	r.Setting = p.setting
	if o.Request != nil {
		r.Client = p.run.Client
	}
	r.Events = compare(came, p.out)
	r.Questions = questions(came, p.out)
	r.Framework = frameworkOf(r.Dialect, came)
	r.Support = supportOf(r.Framework, r.Dialect)

	// if p.again is not 0, the run ended only because a further request was not sent
	if p.again == 0 {
		r.broken(came, p)
	}
	for _, w := range p.warnings {
		if !slices.Contains(r.Cannot, w) && w != brokenOff && (p.again == 0 || w != unanswered) {
			r.cannot(w)
		}
	}
	if r.Framework.Passes != "" && len(r.Questions) == 0 {
		r.cannot(r.Framework.Passes)
	}
	tooOld := slices.ContainsFunc(p.out.events, func(ev agui.Event) bool { return ev.Get("code").Str == string(agentframework.CodeTooOld) })
	if calls := came.calls(); len(calls) > 0 && len(r.Questions) == 0 && !tooOld {
		r.note(fmt.Sprintf(noteOpenCalls, strings.Join(calls, ", "), strings.Join(calls, "=approval;")+"=approval"))
	}
	if p.again > 0 {
		r.note(noteOneMore)
	}
	switch {
	case len(r.Cannot) > 0:
		r.Verdict = Cannot
	case len(r.Questions) > 0:
		r.Verdict = Keeps
	default:
		r.Verdict = Plain
		how := noteRecord
		if p.setting == langgraphserver.Name {
			how = noteMessage
		}
		r.note(fmt.Sprintf(noteNobody, how))
	}
	if r.Dialect == "" && len(r.Questions) == 0 {
		r.note(noteNoDialect)
	}
}

// noteClient adds notes about the cards with which some clients show a question. TanStack AI's
// cards need a binding, which Holdpoint adds to each question. CopilotKit's cards may read the
// backend's own announcement, which Holdpoint replaces by the interrupt. A client that declares no
// protocol version may be CopilotKit's runtime.
func (r *Report) noteClient(came *stream, o Options) {
	if o.TanStack && len(r.Questions) > 0 {
		r.note(noteTanStack)
		return
	}
	announced := slices.ContainsFunc(came.events, func(ev agui.Event) bool {
		return ev.Type == agui.Custom && ev.Get("name").Str == agui.OnInterrupt
	})
	if announced && len(r.Questions) > 0 && o.ProtocolVersion == "" {
		r.note(noteCopilotKit)
	}
}

// brokenOff and unanswered are messages that package proxy logs: brokenOff if the backend's stream
// breaks off, and unanswered if a request gets no answer. doctor drops both messages, because it
// reports the code of the run's error.
const (
	brokenOff  = "the backend's stream broke off"
	unanswered = "the backend did not answer a run"
)

// broken adds the reasons why the run ends, for the client, with an error that is not the backend's
// own.
func (r *Report) broken(came *stream, p *playedStream) {
	if came.tooLarge {
		r.cannot(cannotFrame)
	}
	for _, ev := range p.out.events {
		if ev.Type != agui.RunErrored || came.has(ev) {
			continue
		}
		switch code := agui.Code(ev.Get("code").Str); code {
		case agui.UpstreamEOF, agui.FrameTooLarge:
			r.cannot(fmt.Sprintf(cannotNoEnd, code))
		case agentframework.CodeTooOld: // a warning in the log has the reason
		case agui.UpstreamStatus:
			r.cannot(fmt.Sprintf(cannotNoStream, r.Answer.MediaType, code))
		default:
			if slices.Contains(agui.Codes(), code) {
				r.cannot(fmt.Sprintf(cannotOtherError, code))
			} else {
				r.note(noteOwnError)
			}
		}
	}
}

// questions returns the interrupts that a client gets.
func questions(came, out *stream) []Question {
	tools := map[string]string{}
	for _, s := range []*stream{came, out} {
		for _, ev := range s.events {
			if name := ev.Get("toolCallName").Str; name != "" {
				tools[ev.Get("toolCallId").Str] = clean(name)
			}
		}
	}
	list := []Question{}
	for _, ev := range out.events {
		if ev.Type != agui.RunFinished {
			continue
		}
		for _, i := range ev.Get("outcome.interrupts").Array() {
			list = append(list, Question{
				Reason: word(i.Get("reason").Str), Tool: tools[i.Get("toolCallId").Str], Schema: i.Get("responseSchema").Exists(),
			})
		}
	}
	return list
}
