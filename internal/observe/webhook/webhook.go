// Package webhook sends events about questions and answers to a receiver by HTTP. It turns an event
// into a notice. The step of the store that causes the event also writes the notice into the
// thread's record. Later a Sender reads the notices from the records and sends them.
//
// The webhook never delays a run. The run writes its notices with a step of the store that it needs
// anyway, and does not wait for the receiver. If the process crashes after the receiver has
// answered and before the notice is removed from the record, the notice is sent again with the same
// id.
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

// Kinds returns the kinds of events that can be sent. Each of them is caused by a step of the store
// that changes a record. Refusals and replays change no record, so there is no record for their
// notices.
func Kinds() []event.Kind {
	return append(Defaults(), event.Claimed, event.Released)
}

// Defaults returns the kinds of events that are sent if HOLDPOINT_WEBHOOK_EVENTS is not set. They
// say that a question was asked, and how it ended.
func Defaults() []event.Kind {
	return []event.Kind{
		event.Raised, event.Resolved, event.Cancelled, event.Expired, event.Lost, event.Withdrawn, event.Retired, event.InDoubt,
	}
}

// A NoticeMaker turns events into notices.
type NoticeMaker struct {
	Kinds   []event.Kind // nil: Defaults
	Content bool         // include messages, arguments of calls, and answers
	Names   bool         // include the names of the people who decided at the desk
	Desk    *url.URL     // the URL of the desk's page, with a slash at its end; nil: no links
}

// Body is the default body of a request to the receiver, in the form that Standard Webhooks
// proposes. The notices in records have this form too.
type Body struct {
	Type      event.Kind `json:"type"`
	Timestamp time.Time  `json:"timestamp"`
	Data      Data       `json:"data"`
}

// Data has the same members as an audit line. A field is empty if it is unknown or does not apply.
type Data struct {
	Agent  string `json:"agent,omitempty"`
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread,omitempty"`
	Run    string `json:"run,omitempty"`
	Pause  string `json:"pause,omitempty"`
	// the name under which the desk shows the pause
	Approval      string     `json:"approval,omitempty"`
	Link          string     `json:"link,omitempty"` // the URL of the first question at the desk
	Dialect       string     `json:"dialect,omitempty"`
	Door          event.Door `json:"door,omitempty"`
	Principal     string     `json:"principal,omitempty"`
	PrincipalHash string     `json:"principalHash,omitempty"`
	Code          string     `json:"code,omitempty"`
	Interrupts    []Question `json:"interrupts"`
	More          int        `json:"more,omitempty"` // the number of questions that are omitted
	// something is omitted because the body was too large
	LeftOut bool `json:"leftOut,omitempty"`
}

// A Question is one question of an event.
type Question struct {
	ID     string   `json:"id"`
	Reason string   `json:"reason,omitempty"`
	Tools  []string `json:"tools,omitempty"`
	Status string   `json:"status,omitempty"`
	Says   string   `json:"says,omitempty"`
	Edited bool     `json:"edited,omitempty"`
	// Door and By are where and by whom the question was decided. They are set only if this was at
	// the desk.
	Door event.Door `json:"door,omitempty"`
	By   string     `json:"by,omitempty"`
	Link string     `json:"link,omitempty"`

	// Message, Calls and Payload are set only if NoticeMaker.Content is true
	Message string          `json:"message,omitempty"`
	Calls   json.RawMessage `json:"calls,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// These are the bounds of a body without content. The content of questions may fill it up to the
// largest size of a notice.
const (
	maxQuestions = 16
	maxTools     = 16
)

// Notice returns the notice of an event, which is written into the thread's record. ok is false if
// events of this kind are not sent.
func (m *NoticeMaker) Notice(e *event.Event) (n store.Notice, ok bool) {
	kinds := m.Kinds
	if kinds == nil {
		kinds = Defaults()
	}
	if !slices.Contains(kinds, e.Kind) {
		return n, false
	}
	b := Body{Type: e.Kind, Timestamp: e.Time.UTC(), Data: Data{
		Agent: agui.Shorten(e.Agent), Tenant: agui.Shorten(e.Tenant), Thread: agui.Shorten(e.Thread), Run: agui.Shorten(e.Run), Pause: e.Pause, Approval: e.Approval,
		Dialect: e.Dialect, Door: e.Door, Principal: agui.Shorten(e.Principal), PrincipalHash: e.PrincipalHash, Code: agui.Shorten(e.Code),
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

// The functions below reduce an event that is too large for a record. They are called in this
// order, until the event fits. Without them an agent could prevent a notice by a very large
// question. After the last function the notice always fits.

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
	q := Question{ID: agui.Shorten(i.ID), Reason: agui.Shorten(i.Reason), Status: i.Status, Says: i.Verdict, Edited: i.Edited, Door: i.Door}
	if m.Names {
		q.By = agui.Shorten(i.By)
	}
	for _, tool := range i.Tools[:min(len(i.Tools), maxTools)] {
		q.Tools = append(q.Tools, agui.Shorten(tool))
	}
	if m.Content {
		q.Message = gjson.GetBytes(i.Object, "message").Str
		q.Calls, q.Payload = valid(i.Calls), valid(i.Payload)
	}
	return q
}

// maxLinked is the largest size of a question's id in bytes with which the link contains that id.
const maxLinked = 200

// link returns the URL of a question on the desk's page, or "" if there is no desk. The URL alone
// gives no rights, because the desk requires a login.
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

// WithID sets the id of a notice to a hash of the pause's id and the kind of the event. So if
// several processes report the same end of a question, their notices have the same id.
func WithID(n store.Notice, e *event.Event) store.Notice {
	sum := sha256.Sum256([]byte(e.Pause + " " + string(e.Kind)))
	n.ID = "evt_" + hex.EncodeToString(sum[:16])
	return n
}
