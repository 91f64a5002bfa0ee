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

// CanTranslate means that the backend asks a question that Holdpoint can translate. Plain means
// that the run asks no question. CannotTranslate means that Holdpoint cannot handle something in
// the backend's answer. NoStream means that there is no answer to examine.
const (
	CanTranslate    Verdict = "keeps"
	Plain           Verdict = "plain"
	CannotTranslate Verdict = "cannot"
	NoStream        Verdict = "no-stream"
)

// A Report is the result of doctor. Its JSON is the output of -json.
type Report struct {
	Source  string        `json:"source"` // the file, the address without its query, or -
	Verdict Verdict       `json:"verdict"`
	Answer  AnswerSummary `json:"answer"`
	Dialect string        `json:"dialect"` // "" if the answer does not show it
	// the kind of client, if the user gave a request of the client
	Client    string         `json:"client,omitempty"`
	Setting   string         `json:"setting"` // the HOLDPOINT_DIALECT that this backend needs, "" if unknown
	Framework Framework      `json:"framework"`
	Questions []Question     `json:"questions"`
	Events    []Change       `json:"events"`
	Failures  []string       `json:"cannot"`
	Notes     []string       `json:"notes"` // what the answer does not show, and what to do about it
	Support   *SupportedPart `json:"support,omitempty"`
}

// AnswerSummary is a summary of the backend's answer.
type AnswerSummary struct {
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

func describe(a Answer, received *stream) AnswerSummary {
	d := AnswerSummary{
		Status: a.Status, MediaType: clean(mediaType(a.Header)), Server: clean(a.Header.Get("Server")),
		Bytes: len(a.Body), Events: len(received.events), Cut: a.Incomplete,
	}
	if a.Status/100 == 3 {
		d.Location, _, _ = strings.Cut(a.Header.Get("Location"), "?")
		d.Location = clean(d.Location)
	}
	if received.knownEvents > 0 {
		if d.End = string(received.end()); d.End == "" {
			d.End = "none"
		}
	}
	return d
}

func (r *Report) addFailure(what string) { r.Failures = append(r.Failures, what) }
func (r *Report) addNote(what string)    { r.Notes = append(r.Notes, what) }

// fill fills the report from the backend's answer and from what Holdpoint did with it.
func (r *Report) fill(received *stream, p *playedStream, o Options) {
	r.Dialect = p.run.Dialect
	r.Setting = p.setting
	if o.Request != nil {
		r.Client = p.run.Client
	}
	r.Events = compare(received, p.output)
	r.Questions = questions(received, p.output)
	r.Framework = frameworkOf(r.Dialect, received)
	r.Support = supportOf(r.Framework, r.Dialect)

	// if p.again is not 0, the run ended only because a further request was not sent
	if p.furtherRequests == 0 {
		r.addErrorReasons(received, p)
	}
	for _, w := range p.warnings {
		if !slices.Contains(r.Failures, w) && w != brokenOff && (p.furtherRequests == 0 || w != unanswered) {
			r.addFailure(w)
		}
	}
	if r.Framework.WhyUnanswerable != "" && len(r.Questions) == 0 {
		r.addFailure(r.Framework.WhyUnanswerable)
	}
	tooOld := slices.ContainsFunc(p.output.events, func(ev agui.Event) bool { return ev.Get("code").Str == string(agentframework.CodeTooOld) })
	if calls := received.calls(); len(calls) > 0 && len(r.Questions) == 0 && !tooOld {
		r.addNote(fmt.Sprintf(noteOpenCalls, strings.Join(calls, ", "), strings.Join(calls, "=approval;")+"=approval"))
	}
	if p.furtherRequests > 0 {
		r.addNote(noteOneMore)
	}
	switch {
	case len(r.Failures) > 0:
		r.Verdict = CannotTranslate
	case len(r.Questions) > 0:
		r.Verdict = CanTranslate
	default:
		r.Verdict = Plain
		how := noteRecord
		if p.setting == langgraphserver.Name {
			how = noteMessage
		}
		r.addNote(fmt.Sprintf(noteNobody, how))
	}
	if r.Dialect == "" && len(r.Questions) == 0 {
		r.addNote(noteNoDialect)
	}
}

// noteClient adds notes about the cards with which some clients show a question. TanStack AI's
// cards need a binding, which Holdpoint adds to each question. CopilotKit's cards may read the
// backend's own announcement, which Holdpoint replaces by the interrupt. A client that declares no
// protocol version may be CopilotKit's runtime.
func (r *Report) noteClient(received *stream, o Options) {
	if o.TanStack && len(r.Questions) > 0 {
		r.addNote(noteTanStack)
		return
	}
	announced := slices.ContainsFunc(received.events, func(ev agui.Event) bool {
		return ev.Type == agui.Custom && ev.Get("name").Str == agui.OnInterrupt
	})
	if announced && len(r.Questions) > 0 && o.ProtocolVersion == "" {
		r.addNote(noteCopilotKit)
	}
}

// brokenOff and unanswered are messages that package proxy logs: brokenOff if the backend's stream
// breaks off, and unanswered if a request gets no answer. doctor drops both messages, because it
// reports the code of the run's error.
const (
	brokenOff  = "the backend's stream broke off"
	unanswered = "the backend did not answer a run"
)

// addErrorReasons adds the reasons why the run ends, for the client, with an error that is not the
// backend's own.
func (r *Report) addErrorReasons(received *stream, p *playedStream) {
	if received.tooLarge {
		r.addFailure(cannotFrame)
	}
	for _, ev := range p.output.events {
		if ev.Type != agui.RunErrored || received.has(ev) {
			continue
		}
		switch code := agui.Code(ev.Get("code").Str); code {
		case agui.UpstreamEOF, agui.FrameTooLarge:
			r.addFailure(fmt.Sprintf(cannotNoEnd, code))
		case agentframework.CodeTooOld: // a warning in the log has the reason
		case agui.UpstreamStatus:
			r.addFailure(fmt.Sprintf(cannotNoStream, r.Answer.MediaType, code))
		default:
			if slices.Contains(agui.Codes(), code) {
				r.addFailure(fmt.Sprintf(cannotOtherError, code))
			} else {
				r.addNote(noteOwnError)
			}
		}
	}
}

// questions returns the interrupts that a client gets.
func questions(received, out *stream) []Question {
	tools := map[string]string{}
	for _, s := range []*stream{received, out} {
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
