package ledger

import (
	"encoding/json"
	"slices"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// Some clients, such as those of .NET, use a new thread for each of their runs. So an answer may
// arrive on another thread than its question. The index in the store leads to the thread of the
// question: from the id of the question, and from the call that the question is about. An entry of
// the index is a note under its own key. It is written before the client gets the question. If the
// entry or the pause is missing, the question counts as unknown.
//
// A question's id made by Holdpoint has 72 random bits, so the id alone is enough to find the
// question. The ids and arguments of calls repeat. So a call leads to a question only together with
// a witness: the principal, or the id of a user message of the paused run.

const (
	// maxIndexed is the largest number of questions of a pause that the index has, and also the
	// largest number of their calls.
	maxIndexed = 64
	// maxPlaces is the largest number of pauses that one entry leads to. If there are more, the
	// newest are kept.
	maxPlaces = 8
)

// A Kind says by what an entry of the index is found.
type Kind string

//   - ByQuestion: by the published id of a question.
//   - ByCall: by a call and a witness.
//   - ByCallAlone: by a call without a witness, if there are no principals. Such an entry shows
//     only that some thread has asked about the call.
//   - ByEditedCall: by the id and the tool of a call and a witness, whatever the arguments are.
//     Such an entry exists only for a question that offers edits, if its backend reads the whole
//     call from the answer.
const (
	ByQuestion   Kind = "question"
	ByCall       Kind = "call"
	ByCallAlone  Kind = "asked"
	ByEditedCall Kind = "edited"
)

// An Index makes the keys of the index for one agent of a tenant, on one path.
type Index struct{ Tenant, Agent, Path string }

// Key returns the key of the entry of the given kind. from has the parts by which the entry is
// found.
func (x Index) Key(kind Kind, from ...string) store.Key {
	parts := append([]string{"holdpoint index 1", string(kind), x.Tenant, x.Agent, x.Path}, from...)
	return store.Key(ids.Digest(parts...))
}

// A SearchKeys says by what a pause can be found in the index, in addition to the ids of its
// questions.
type SearchKeys struct {
	Witnesses []string // a call and one of these witnesses together lead to the pause
	Alone     bool     // a call without a witness leads to the pause too
	Edits     bool     // the backend reads the whole call from the answer
}

// Keys returns the keys of the index entries that lead to a pause. It covers at most maxIndexed
// questions of the pause, and as many calls.
func (x Index) Keys(p *agui.Pause, trail SearchKeys) []store.Key {
	var keys []store.Key
	add := func(key store.Key) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	calls := 0
	for n := range p.Interrupts[:min(len(p.Interrupts), maxIndexed)] {
		i := &p.Interrupts[n]
		if contract.IsMinted(i.ID) {
			add(x.Key(ByQuestion, i.ID))
		}
		edits := trail.Edits && offersEdits(i)
		for _, c := range i.Calls {
			if calls++; c.ArgumentsUnknown || c.ID == "" || c.Name == "" || calls > maxIndexed {
				continue
			}
			parts := agui.Call{ID: c.ID, Name: c.Name, Args: c.Args}.Parts()
			for _, w := range trail.Witnesses {
				add(x.Key(ByCall, append(parts, w)...))
				if edits {
					add(x.Key(ByEditedCall, c.ID, c.Name, w))
				}
			}
			if trail.Alone {
				add(x.Key(ByCallAlone, parts...))
			}
		}
	}
	return keys
}

// offersEdits reports whether an answer to the question may contain the question's call with edited
// arguments.
func offersEdits(i *agui.Interrupt) bool {
	_, yes := agui.FormOfEdits(i.Schema())
	return yes != ""
}

// A Place is what an entry leads to: a pause, and the record of the thread that has it.
type Place struct {
	Key   store.Key `json:"key"`
	Pause string    `json:"pause"`
	// UserMessage is the last user message of the paused run. It is zero if the run had no user
	// message; then no call leads to the pause.
	UserMessage agui.SeenMessage `json:"behind,omitzero"`
}

// Enter adds a pause of the thread to the index, with an entry under each of the keys, before the
// client gets the question. behind is the last user message of the paused run. atOnce is the number
// of entries that are written at the same time. All entries together have the time limit of one
// step. Enter stops at the first error, so that the question is not delayed longer.
func (l *Ledger) Enter(keys []store.Key, p *agui.Pause, behind agui.SeenMessage, atOnce int) error {
	if len(keys) == 0 {
		return nil
	}
	note := store.Note{ID: p.ID, Text: agui.MustMarshal(Place{l.Key, p.ID, behind}), RefersToPause: true}
	return l.rememberUnder(keys, note, maxPlaces, atOnce)
}

// rememberUnder saves a note under each of the keys of the index. Each key keeps at most most
// notes. For atOnce and the error see Enter.
func (l *Ledger) rememberUnder(keys []store.Key, n store.Note, most, atOnce int) error {
	ctx, cancel := l.step()
	defer cancel()
	step := store.Remember{Note: n, Most: most}
	waiting := make(chan store.Key, len(keys))
	for _, key := range keys {
		waiting <- key
	}
	close(waiting)
	var failure error
	var fail sync.Once
	remember := func() {
		for key := range waiting {
			if ctx.Err() != nil {
				return
			}
			_, err := l.store.Do(ctx, key, step)
			if err != nil && ctx.Err() == nil {
				_, err = l.store.Do(ctx, key, step) // Only the reply may have been lost.
			}
			if err != nil {
				fail.Do(func() { failure = err })
				cancel()
				return
			}
		}
	}
	var all sync.WaitGroup
	for range min(atOnce, len(keys)) - 1 {
		all.Go(remember)
	}
	remember()
	all.Wait()
	return failure
}

// Find returns the places that the entries under the keys lead to, without duplicates. The places
// of each entry are in order, newest first.
func (l *Ledger) Find(keys ...store.Key) ([]Place, error) {
	var list []Place
	for _, key := range keys {
		rec, err := l.loadAt(key)
		if err != nil {
			return nil, err
		}
		for _, n := range rec.Notes {
			var at Place
			if json.Unmarshal(n.Text, &at) == nil && at.Key != "" && at.Pause == n.ID && !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	return list, nil
}

// CallKeys returns the keys of the index entries for a call: one key for each witness. kind is
// ByCall or ByEditedCall.
func (x Index) CallKeys(kind Kind, c agui.Call, witnesses []string) []store.Key {
	if c.ID == "" || c.Name == "" {
		return nil
	}
	parts := []string{c.ID, c.Name}
	if kind == ByCall {
		parts = c.Parts()
	}
	keys := make([]store.Key, len(witnesses))
	for n, w := range witnesses {
		keys[n] = x.Key(kind, append(parts, w)...)
	}
	return keys
}

// RecordAt returns the record that a place leads to. It returns nil if the record does not have the
// pause of the place, or belongs to another principal.
func (l *Ledger) RecordAt(at Place, who principal.Owner) (*store.Record, error) {
	rec, err := l.loadAt(at.Key)
	if err != nil {
		return nil, err
	}
	if !hasPause(&rec, at.Pause) || rec.Owner != "" && !who.Matches(rec.Owner) {
		return nil, nil
	}
	return &rec, nil
}

// hasPause reports whether the record has the pause with the id, open or ended.
func hasPause(rec *store.Record, pauseID string) bool {
	return rec.Pause != nil && rec.Pause.ID == pauseID ||
		slices.ContainsFunc(rec.Results, func(result *store.Result) bool { return result.PauseID == pauseID })
}
