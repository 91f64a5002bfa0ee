package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/fields"
	"holdpoint/store"
)

// The desk keeps its recent decisions in small records, which are not records of threads: one
// record for each tool of an agent and a tenant, and some records that list ended approvals. They
// are written after the response to a decision. They may be late or be lost, because no decision
// depends on them.
//
// These records have no answers from chats. A question is compared only with the decisions of
// approvers. Otherwise a person who chats with an agent could make an unusual call look usual, by
// answering earlier questions. Also, to record each answer of a chat would cost further steps of
// the store for every run of a Holdpoint with a desk.

const (
	maxEarlierDecisions = 5  // number of decisions that are kept for each tool
	endShards           = 16 // number of records that list ended approvals; each keeps the newest
	maxShardEnds        = store.MaxNotes
	noteTimeout         = 5 * time.Second
	maxNoteComment      = 400 // largest number of bytes of a comment that are kept
)

// noteBounds limits how much is kept of the arguments of a call.
var noteBounds = fields.Bounds{Fields: 24, Text: 120, TotalText: 2 << 10}

// An earlierDecision is a decision on an earlier call of the same tool of the same agent.
type earlierDecision struct {
	At           time.Time `json:"at"`
	By           string    `json:"by,omitempty"`
	Door         string    `json:"door"`
	Outcome      string    `json:"outcome"`
	ChangedPaths []string  `json:"changed,omitempty"` // paths of the fields that were edited
	Comment      string    `json:"comment,omitempty"`
	// fields of the arguments that were decided on, after an edit
	Fields []earlierField `json:"fields,omitempty"`
}

type earlierField struct {
	Path string      `json:"path"`
	Kind fields.Kind `json:"kind"`
	Text string      `json:"text"`
	// Currency is the value of a field with the currency of this amount.
	Currency string `json:"currency,omitempty"`
}

// The outcomes of an earlierDecision.
const (
	outcomeApproved  = "approved"
	outcomeDenied    = "denied"
	outcomeCancelled = "cancelled"
	outcomeAnswered  = "answered"
)

// noteKey returns the key of one of the desk's own records. It cannot equal the key of a thread,
// because that is a hash of other parts or with a secret.
func noteKey(parts ...string) store.Key {
	h := sha256.New()
	fmt.Fprint(h, "holdpoint desk")
	for _, p := range parts {
		fmt.Fprintf(h, "\x00%d:%s", len(p), p)
	}
	return store.Key(hex.EncodeToString(h.Sum(nil)))
}

func toolKey(o *agui.Origin, tool string) store.Key { return noteKey("tool", o.Tenant, o.Agent, tool) }

func shardKey(n uint32) store.Key { return noteKey("ended", fmt.Sprint(n)) }

// shardOf returns the number of the record that lists the ended approvals of this agent and tenant.
// There are several records, so that a busy agent pushes out the entries of only a few others.
func shardOf(o *agui.Origin) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d:%s%s", len(o.Tenant), o.Tenant, o.Agent)
	return h.Sum32() % endShards
}

// rememberDecisions stores the decisions that were made at the desk on these questions of the
// pause, for later comparisons. It also adds the pause to a record that lists ended approvals.
func (d *Desk) rememberDecisions(ctx context.Context, key store.Key, p *agui.Pause, questions []string) {
	if p == nil || p.Origin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	note := func(key store.Key, id string, v any, most int) {
		text, err := json.Marshal(v)
		if err == nil {
			_, err = d.opts.Store.Do(ctx, key, store.Remember{Note: store.Note{ID: id, Text: text}, Most: most})
		}
		if err != nil {
			d.log.Debug("desk: what was decided is not remembered for later questions", "pause", p.ID, "err", err)
		}
	}
	for _, id := range questions {
		i, said := p.Interrupt(id), p.Decision(id)
		if i == nil || said == nil || len(i.Calls) == 0 || i.Calls[0].Name == "" {
			continue
		}
		note(toolKey(p.Origin, i.Calls[0].Name), p.ID+"/"+id, earlierDecisionOf(i, said), maxEarlierDecisions)
	}
	note(shardKey(shardOf(p.Origin)), idOf(key, p.ID), map[string]string{}, maxShardEnds)
}

// earlierDecisionOf returns the given decision on the question i as it is stored for later
// comparisons.
func earlierDecisionOf(i *agui.Interrupt, decision *agui.Decision) *earlierDecision {
	e := &earlierDecision{At: decision.At, By: decision.By, Door: decision.Door, Outcome: decision.Verdict}
	if e.Comment = decision.Comment; len(e.Comment) > maxNoteComment {
		e.Comment = strings.ToValidUTF8(e.Comment[:maxNoteComment], "") + "…"
	}
	asked := fields.Of(i.Calls[0].Args, noteBounds).Fields
	decided := asked
	yes := gjson.GetBytes(decision.Payload, "approved")
	switch {
	case decision.Status == agui.Cancelled:
		e.Outcome = outcomeCancelled
	case e.Outcome != "":
	case yes.Type == gjson.True:
		e.Outcome = outcomeApproved
	case yes.Type == gjson.False:
		e.Outcome = outcomeDenied
	default:
		e.Outcome = outcomeAnswered
	}
	edited := editedArguments(decision.Payload, i.Calls[0].Name)
	if edited != "" && !i.Secret && e.Outcome == outcomeApproved {
		decided = fields.Of(edited, noteBounds).Fields
		e.ChangedPaths = changedPaths(asked, decided)
	}
	if e.ChangedPaths == nil && (decision.Edited || edited != "" && i.Secret && e.Outcome == outcomeApproved) {
		// The answer does not approve the shown arguments. It is a secret, or it has no arguments
		// that can be compared.
		e.Outcome, decided = outcomeAnswered, nil
	}
	for _, f := range decided {
		if f.Kind != fields.Object && f.Kind != fields.Array && !f.IsTruncated {
			e.Fields = append(e.Fields, earlierField{f.Path, f.Kind, f.Text, f.Currency})
		}
	}
	return e
}

// changedPaths returns the paths of the fields that differ between asked and decided, or that only
// one of the two has.
func changedPaths(asked, decided []fields.Field) (paths []string) {
	had := map[string]fields.Field{}
	for _, f := range asked {
		had[f.Path] = f
	}
	for _, f := range decided {
		if was, ok := had[f.Path]; !ok || was.Text != f.Text || was.Kind != f.Kind {
			paths = append(paths, f.Path)
		}
		delete(had, f.Path)
	}
	for _, f := range asked {
		if _, left := had[f.Path]; left {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// earlierDecisions returns the last decisions on a tool, newest first. It leaves out decisions that
// cannot be read.
func (d *Desk) earlierDecisions(ctx context.Context, tool store.Key) (list []*earlierDecision) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	rec, err := d.opts.Store.Load(ctx, tool, "")
	if err != nil {
		d.log.Debug("desk: earlier decisions cannot be read", "err", err)
		return nil
	}
	for _, n := range rec.Notes {
		e := &earlierDecision{}
		if err := json.Unmarshal(n.Text, e); err == nil {
			list = append(list, e)
		}
	}
	return list
}

// addEarlierDecisions adds to each question of an approval the earlier decisions on the same tool,
// and compares the question with them.
func (d *Desk) addEarlierDecisions(ctx context.Context, p *agui.Pause, a *approval) {
	if p == nil || p.Origin == nil || len(a.Questions) != len(p.Interrupts) {
		return
	}
	known := map[string][]*earlierDecision{}
	for n := range a.Questions {
		q, i := &a.Questions[n], &p.Interrupts[n]
		if len(i.Calls) == 0 || i.Calls[0].Name == "" || len(q.Calls) == 0 {
			continue
		}
		tool := i.Calls[0].Name
		list, ok := known[tool]
		if !ok {
			if len(known) == maxTools {
				continue
			}
			list = d.earlierDecisions(ctx, toolKey(p.Origin, tool))
			known[tool] = list
		}
		// The decision on this question itself is not an earlier one.
		list = slices.DeleteFunc(slices.Clone(list), func(e *earlierDecision) bool {
			return q.Decision != nil && e.At.Equal(q.Decision.At)
		})
		q.Similar, q.Comparisons = list, compare(q.Calls[0].Fields, list)
	}
}

// maxTools is the largest number of tools for which earlier decisions are loaded for one approval.
const maxTools = 8

// maxListTools is the largest number of tools for which earlier decisions are loaded for a list.
const maxListTools = 32

// compareListed adds to each question of a list how it differs from calls that were approved
// earlier. The list has only one line of a question's arguments, so the arguments are parsed again.
func (d *Desk) compareListed(ctx context.Context, l *listing) {
	of := map[store.Key][]*question{}
	args := map[*question]string{}
	for _, a := range l.Approvals {
		if a.Withheld || a.pause == nil || a.pause.Origin == nil {
			continue
		}
		for n := range a.Questions {
			q := &a.Questions[n]
			i := &a.pause.Interrupts[q.index]
			if q.IsShortened || q.Decision != nil || len(i.Calls) == 0 || i.Calls[0].Name == "" {
				continue
			}
			key := toolKey(a.pause.Origin, i.Calls[0].Name)
			if of[key] == nil && len(of) == maxListTools {
				continue
			}
			of[key] = append(of[key], q)
			args[q] = i.Calls[0].Args
		}
	}
	var all sync.WaitGroup
	free := make(chan struct{}, concurrentLoads)
	for key, questions := range of {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			before := d.earlierDecisions(ctx, key)
			if len(before) < minApprovals {
				return
			}
			for _, q := range questions {
				q.Comparisons = slices.DeleteFunc(compare(fields.Of(args[q], noteBounds).Fields, before), func(c comparedField) bool {
					return c.IsUsual || c.Usual == nil && c.Factor == 0 && c.OtherCurrencies == nil
				})
			}
		})
	}
	all.Wait()
}
