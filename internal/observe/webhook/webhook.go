// Package webhook tells a receiver of what happens to questions and answers. It turns an event into
// a notice, which the step of the store that makes the event writes into the thread's record, and
// sends what stands there.
//
// It deliberately is in nobody's way: a run writes its notices with a step that it takes anyway,
// and never waits for the receiver. A crash between the receiver's answer and the step that strikes
// a notice off sends it again, under the same id.
package webhook

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// Kinds returns the events that can be sent: those that a step of the store makes. A refusal and a
// replay change no record, so there is none that would keep them.
func Kinds() []event.Kind {
	return append(Defaults(), event.Claimed, event.Released)
}

// Defaults returns the events that are sent unless somebody chooses: a question was asked, and what
// became of it.
func Defaults() []event.Kind {
	return []event.Kind{
		event.Raised, event.Resolved, event.Cancelled, event.Expired, event.Lost, event.Withdrawn, event.Retired, event.InDoubt,
	}
}

// A NoticeMaker makes notices of events.
type NoticeMaker struct {
	Kinds   []event.Kind // nil: Defaults
	Content bool         // with the questions' messages, the calls' arguments and the answers
	Names   bool         // with the names of those who have decided at the desk
	Desk    *url.URL     // the address of the desk's page, which ends in a slash; nil: no links
}

// Body is the default body, in the form that Standard Webhooks proposes. It is what a record keeps.
type Body struct {
	Type      event.Kind `json:"type"`
	Timestamp time.Time  `json:"timestamp"`
	Data      Data       `json:"data"`
}

// Data are the words of the audit. Empty fields are not known, or do not apply.
type Data struct {
	Agent         string     `json:"agent,omitempty"`
	Tenant        string     `json:"tenant,omitempty"`
	Thread        string     `json:"thread,omitempty"`
	Run           string     `json:"run,omitempty"`
	Pause         string     `json:"pause,omitempty"`
	Approval      string     `json:"approval,omitempty"` // the id by which the desk has it
	Link          string     `json:"link,omitempty"`     // to the first question at the desk
	Dialect       string     `json:"dialect,omitempty"`
	Door          event.Door `json:"door,omitempty"`
	Principal     string     `json:"principal,omitempty"`
	PrincipalHash string     `json:"principalHash,omitempty"`
	Code          string     `json:"code,omitempty"`
	Interrupts    []Question `json:"interrupts"`
	More          int        `json:"more,omitempty"`    // questions that are left out
	LeftOut       bool       `json:"leftOut,omitempty"` // the content was too large
}

// A Question is one question of an event.
type Question struct {
	ID     string   `json:"id"`
	Reason string   `json:"reason,omitempty"`
	Tools  []string `json:"tools,omitempty"`
	Status string   `json:"status,omitempty"`
	Says   string   `json:"says,omitempty"`
	Edited bool     `json:"edited,omitempty"`
	// Door and By are where it was decided and by whom, if that was at the desk.
	Door event.Door `json:"door,omitempty"`
	By   string     `json:"by,omitempty"`
	Link string     `json:"link,omitempty"`

	Message string          `json:"message,omitempty"` // these three only if they are asked for
	Calls   json.RawMessage `json:"calls,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Bounds of a body. With content it may be as large as a notice.
const (
	maxQuestions = 16
	maxTools     = 16
)

// Notice returns the event as a record keeps it. ok is false if it is not to be sent.
func (m *NoticeMaker) Notice(e *event.Event) (n store.Notice, ok bool) {
	kinds := m.Kinds
	if kinds == nil {
		kinds = Defaults()
	}
	if !slices.Contains(kinds, e.Kind) {
		return n, false
	}
	b := Body{Type: e.Kind, Timestamp: e.Time.UTC(), Data: Data{
		Agent: agui.Cut(e.Agent), Tenant: agui.Cut(e.Tenant), Thread: agui.Cut(e.Thread), Run: agui.Cut(e.Run), Pause: e.Pause, Approval: e.Approval,
		Dialect: e.Dialect, Door: e.Door, Principal: agui.Cut(e.Principal), PrincipalHash: e.PrincipalHash, Code: agui.Cut(e.Code),
		Interrupts: []Question{},
	}}
	for i := range e.Interrupts {
		if i == maxQuestions {
			b.Data.More = len(e.Interrupts) - i
			break
		}
		q := m.question(&e.Interrupts[i])
		if q.Link = m.link(e.Approval, e.Interrupts[i].ID); i == 0 {
			b.Data.Link = q.Link
		}
		b.Data.Interrupts = append(b.Data.Interrupts, q)
	}
	n.ID, n.Body = "evt_"+rand.Text(), agui.MustMarshal(b)
	for _, less := range []func(*Data){withoutContent, withoutTools, withoutQuestions} {
		if len(n.Body) <= store.MaxNoticeBytes {
			break
		}
		b.Data.LeftOut = true
		less(&b.Data)
		n.Body = agui.MustMarshal(b)
	}
	return n, true
}

// What is left out of an event that is too large for a record, one after the other. An agent must
// not be able to ask so much that nobody is told. What is left then always fits.

func withoutContent(d *Data) {
	for i := range d.Interrupts {
		q := &d.Interrupts[i]
		q.Message, q.Calls, q.Payload = "", nil, nil
	}
}

func withoutTools(d *Data) {
	for i := range d.Interrupts {
		q := &d.Interrupts[i]
		q.Tools = q.Tools[:min(len(q.Tools), 1)]
	}
}

func withoutQuestions(d *Data) {
	d.More += len(d.Interrupts) - 1
	d.Interrupts = d.Interrupts[:1]
}

func (m *NoticeMaker) question(i *event.Interrupt) Question {
	q := Question{ID: agui.Cut(i.ID), Reason: agui.Cut(i.Reason), Status: i.Status, Says: i.Says, Edited: i.Edited, Door: i.Door}
	if m.Names {
		q.By = agui.Cut(i.By)
	}
	for _, tool := range i.Tools[:min(len(i.Tools), maxTools)] {
		q.Tools = append(q.Tools, agui.Cut(tool))
	}
	if m.Content {
		q.Message = gjson.GetBytes(i.Object, "message").Str
		q.Calls, q.Payload = valid(i.Calls), valid(i.Payload)
	}
	return q
}

// maxLinked bounds the ids that stand in a link, in bytes.
const maxLinked = 200

// link returns the address of a question at the desk, "" if there is none. Deciding there takes a
// login: the address alone gives no right.
func (m *NoticeMaker) link(approval, question string) string {
	if m.Desk == nil || approval == "" {
		return ""
	}
	u := *m.Desk
	if u.Fragment = ""; len(question) > maxLinked {
		return u.String() + "#/"
	}
	return u.String() + "#/" + url.PathEscape(approval) + "/" + url.PathEscape(question)
}

func valid(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !agui.ValidJSON(raw) {
		return nil
	}
	return raw
}

// Named gives a notice the id that follows from what it is about: whoever tells of this ending
// tells it under the same one.
func Named(n store.Notice, e *event.Event) store.Notice {
	sum := sha256.Sum256([]byte(e.Pause + " " + string(e.Kind)))
	n.ID = "evt_" + hex.EncodeToString(sum[:16])
	return n
}
