package doctor

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/langgraphserver"
)

// A Verdict is the end of what doctor tells, and the exit code of the command.
type Verdict string

// Keeps: the backend asks, and Holdpoint keeps the contract for it. Plain: nothing asks in this
// run, so there was nothing to do. Cannot: something that Holdpoint cannot do is in it. NoStream:
// there is nothing that could be judged.
const (
	Keeps    Verdict = "keeps"
	Plain    Verdict = "plain"
	Cannot   Verdict = "cannot"
	NoStream Verdict = "no-stream"
)

// A Report is what doctor tells. Its JSON is what -json prints.
type Report struct {
	Source    string         `json:"source"` // the file, the address without its query, or -
	Verdict   Verdict        `json:"verdict"`
	Answer    Described      `json:"answer"`
	Dialect   string         `json:"dialect"`          // "" if the answer does not tell
	Client    string         `json:"client,omitempty"` // the line of the client, where its request shows one
	Setting   string         `json:"setting"`          // the HOLDPOINT_DIALECT that this backend needs, "" if nobody knows
	Framework Framework      `json:"framework"`
	Questions []Question     `json:"questions"`
	Events    []Change       `json:"events"`
	Cannot    []string       `json:"cannot"`
	Notes     []string       `json:"notes"` // what the answer does not tell, and what to do about it
	Support   *SupportedPart `json:"support,omitempty"`
}

// Described is the answer as it came.
type Described struct {
	Status    int    `json:"status,omitempty"` // 0: a recording without its headers
	MediaType string `json:"mediaType,omitempty"`
	Server    string `json:"server,omitempty"`   // the header
	Location  string `json:"location,omitempty"` // of a redirect, without its query
	Bytes     int    `json:"bytes"`
	Events    int    `json:"events"`
	End       string `json:"end"` // RUN_FINISHED, RUN_ERROR, none; "" where no AG-UI is
	Cut       bool   `json:"cut,omitempty"`
}

// A Question is one interrupt as a client gets it.
type Question struct {
	Reason string `json:"reason"`
	Tool   string `json:"tool,omitempty"`
	Schema bool   `json:"schema"` // a responseSchema is there, so a payload can be judged
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

// tell fills the report of what was played.
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

	if p.again == 0 { // else the end is that of a request that was not sent
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

// noteClient notes what a client's cards get. TanStack AI's get a binding. Cards that read the
// backend's own announcement get the interrupt in its place, behind CopilotKit. A client without a
// version may be CopilotKit's runtime, which declares none.
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

// brokenOff and unanswered are what proxy logs of a stream that breaks off, and of a request that
// gets no answer. The code says the same.
const (
	brokenOff  = "the backend's stream broke off"
	unanswered = "the backend did not answer"
)

// broken says how the run ends for a client although the backend did not end it so.
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
		case agentframework.CodeTooOld: // a warning says it
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
