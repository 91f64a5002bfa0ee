package replay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// record prints the record of the thread after a turn. It also prints the requests by which a
// client could answer the open questions in the record.
func (p *player) record(ctx context.Context) error {
	if p.store.key == "" {
		p.print(recordNotAsked)
		return p.err
	}
	rec, err := p.store.Store.Load(ctx, p.store.key, p.store.owner)
	if err != nil {
		return fmt.Errorf(recordUnread, err)
	}
	p.pausedDialect = ""
	switch {
	case rec.State == store.None && len(rec.Results) == 0:
		p.print(recordNone)
	case rec.State == store.None:
		p.print(recordNothingOpen)
	default:
		p.pausedDialect = rec.Pause.Dialect
		p.print(recordAskedBy, rec.State, rec.Pause.Dialect)
		for n := range rec.Pause.Interrupts {
			i := &rec.Pause.Interrupts[n]
			p.print(recordQuestion, i.ID, i.Native, i.Object)
		}
	}
	for _, r := range rec.Results {
		p.print(recordEnded, r.EndKind)
	}
	if rec.State == store.Open {
		p.print(recordToAnswer)
		p.print("      %s", resume(rec.Pause.Interrupts, true))
		p.print(recordToRefuse)
		p.print("      %s", resume(rec.Pause.Interrupts, false))
	}
	return p.err
}

// resume returns the resume member of a request that answers all questions: each with a yes if yes
// is set, otherwise each with a no. If no payload is known that means no, or if the question can
// only be cancelled, the entry is cancelled. If no payload is known that means yes, the entry has a
// placeholder for the payload.
func resume(questions []agui.Interrupt, yes bool) string {
	type entry struct {
		InterruptID string          `json:"interruptId"`
		Status      string          `json:"status"`
		Payload     json.RawMessage `json:"payload,omitempty"`
	}
	var list []entry
	for n := range questions {
		i := &questions[n]
		e := entry{i.ID, "resolved", i.No}
		switch {
		case i.CancelOnly, !yes && i.No == nil:
			e.Status, e.Payload = "cancelled", nil
		case yes:
			if e.Payload = i.Yes; e.Payload == nil {
				e.Payload = json.RawMessage(payloadAny)
				if gjson.GetBytes(i.Object, "responseSchema").Exists() {
					e.Payload = json.RawMessage(payloadOfSchema)
				}
			}
		}
		list = append(list, e)
	}
	return `"resume":` + string(agui.MustMarshal(list))
}
