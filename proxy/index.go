package proxy

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
	"holdpoint/translate"
)

// Some clients take another thread for each of their runs, as .NET's do. So the store has an index
// that leads to the thread with a question: by the question's id, and by the call that it is about.
// An entry is a note under a key of its own, and is written before the question is told. An entry
// without its pause, and a pause without its entry, read as an unknown question.
//
// An id of Holdpoint's own has 72 random bits, so it leads to its question by itself. Ids and
// arguments of calls repeat, so a call leads to a question only together with a witness: the
// principal, or the id of a user's message that the paused run had.

const (
	// maxIndexed is how many questions, and how many calls, of a pause the index leads to.
	maxIndexed = 64
	// maxIndexEntries is how many pauses one entry leads to. The newest count.
	maxIndexEntries = 8
	// maxCandidates is how many pauses of an entry are looked at. Two that wait are one too many.
	maxCandidates = 3
	// maxLookups bounds the questions and the calls of one request that are looked up.
	maxLookups = 8
)

// hexEnd is how ids end that have a UUID or 128 random bits in hex. In-tree clients of .NET write
// 32 digits, and others a UUID, some behind a prefix.
var hexEnd = regexp.MustCompile(`(?i)(^|[^0-9a-f])[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`)

// isRandom reports whether the id of a message looks like one that nobody can guess: it has a UUID
// or 128 bits in hex, or is a text in base64 of at least 120 bits.
func isRandom(id string) bool {
	if hexEnd.MatchString(id) {
		return true
	}
	var lower, upper, digit bool
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case !strings.ContainsRune("-_+/=", rune(c)):
			return false
		}
	}
	return len(id) >= 20 && lower && upper && digit
}

// indexKind says what an entry leads from.
type indexKind string

const (
	byQuestion indexKind = "question" // the published id
	byCall     indexKind = "call"     // a call and a witness
	byCallOnly indexKind = "asked"    // a call, without principals: some thread has asked about it
	// byEditedCall leads from a call and a witness whatever its arguments are. Only questions that
	// offer edits to a backend which reads the whole call out of an answer have it.
	byEditedCall indexKind = "edited"
)

// A pausePlace is what an entry holds: the record of the thread, and the pause in it.
type pausePlace struct {
	Key   store.Key `json:"key"`
	Pause string    `json:"pause"`
	// Behind is the last user's message of the paused run. It is zero if the run had none, and then
	// no call leads to the pause.
	Behind agui.SeenMessage `json:"behind,omitzero"`
}

func (r *run) indexKey(kind indexKind, what ...string) store.Key {
	parts := append([]string{"holdpoint index 1", string(kind), r.who.Tenant, r.h.opts.Agent, r.request.path}, what...)
	return store.Key(ids.Digest(parts...))
}

// witnesses returns what the request shows of the conversation that it belongs to. With a principal
// that is the principal. Else it is the ids of the first and of the last user's message: the
// message of an assistant may have an id that is made of the call's.
func (r *run) witnesses() []string {
	if r.who.Known() {
		list := r.who.Owner().IDs()
		for n := range list {
			list[n] = "principal " + list[n]
		}
		return list
	}
	first, last := "", ""
	for n := range r.request.input.Messages {
		if m := &r.request.input.Messages[n]; m.Role == "user" && isRandom(m.ID) {
			if first == "" {
				first = m.ID
			}
			last = m.ID
		}
	}
	switch first {
	case "":
		return nil
	case last:
		return []string{"message " + first}
	}
	return []string{"message " + first, "message " + last}
}

// enterIndex enters a pause into the index, before it is told. A question without an entry can be
// answered on its own thread only.
func (r *run) enterIndex(p *agui.Pause) {
	keys := r.indexKeys(p)
	if len(keys) == 0 {
		return
	}
	behind, _ := lastUserMessage(r.request.input.Messages)
	note := store.Note{ID: p.ID, Text: agui.MustMarshal(pausePlace{r.ledger.key, p.ID, behind}), Leads: true}
	atOnce := 4
	if r.h.opts.StoreInMemory {
		atOnce = 1
	}
	if err := r.ledger.rememberUnder(keys, note, maxIndexEntries, atOnce); err != nil {
		r.log.Warn("the question is not in the index: it can be answered on its own thread only", "err", err)
	}
}

// indexKeys returns the keys of a pause's entries.
func (r *run) indexKeys(p *agui.Pause) []store.Key {
	var keys []store.Key
	add := func(key store.Key) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	_, continues := r.h.opts.Dialect.(translate.Continuer)
	var witnesses []string
	if r.who.Known() || r.request.ours {
		if owner := r.ledger.owner; owner != "" {
			witnesses = []string{"principal " + owner}
		}
	} else {
		witnesses = r.witnesses()
	}
	calls := 0
	for n := range p.Interrupts[:min(len(p.Interrupts), maxIndexed)] {
		i := &p.Interrupts[n]
		if contract.IsMinted(i.ID) {
			add(r.indexKey(byQuestion, i.ID))
		}
		edits := r.readsEdits(p, i)
		for _, c := range i.Calls {
			if calls++; c.Unknown || c.ID == "" || c.Name == "" || calls > maxIndexed {
				continue
			}
			parts := agui.Call{ID: c.ID, Name: c.Name, Args: c.Args}.Parts()
			for _, w := range witnesses {
				add(r.indexKey(byCall, append(parts, w)...))
				if edits {
					add(r.indexKey(byEditedCall, c.ID, c.Name, w))
				}
			}
			if continues && r.ledger.owner == "" {
				add(r.indexKey(byCallOnly, parts...))
			}
		}
	}
	return keys
}

// readsEdits reports whether an answer to a question may edit the arguments of its call, in the
// form in which it names the call.
func (r *run) readsEdits(p *agui.Pause, i *agui.Interrupt) bool {
	stateless, ok := r.h.opts.Dialect.(translate.Stateless)
	if !ok || !stateless.KeepsNothing(p) {
		return false
	}
	_, yes := agui.FormOfEdits(i.Schema())
	return yes != ""
}

// lookUp returns what an entry leads to, newest first.
func (r *run) lookUp(key store.Key) ([]pausePlace, error) {
	rec, err := r.ledger.loadAt(key)
	if err != nil {
		return nil, err
	}
	var list []pausePlace
	for _, n := range rec.Notes {
		var at pausePlace
		if json.Unmarshal(n.Text, &at) == nil && at.Key != "" && at.Pause == n.ID {
			list = append(list, at)
		}
	}
	return list, nil
}

// lookUpCall returns the pauses that were about a call and are of the request's conversation. Each
// pause is there once.
func (r *run) lookUpCall(kind indexKind, c agui.Call) ([]pausePlace, error) {
	if c.ID == "" || c.Name == "" {
		return nil, nil
	}
	parts := []string{c.ID, c.Name}
	if kind == byCall {
		parts = c.Parts()
	}
	var list []pausePlace
	for _, w := range r.witnesses() {
		found, err := r.lookUp(r.indexKey(kind, append(parts, w)...))
		if err != nil {
			return nil, err
		}
		for _, at := range found {
			if !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	return list, nil
}

// wasAsked reports whether the index knows a question about the call. here reports that the
// question is of the request's conversation; somewhere reports that it may be of any.
func (r *run) wasAsked(c agui.Call) (here, somewhere bool, err error) {
	list, err := r.lookUpCall(byCall, c)
	if err != nil || len(list) > 0 || r.who.Known() {
		return len(list) > 0, len(list) > 0, err
	}
	list, err = r.lookUp(r.indexKey(byCallOnly, c.Parts()...))
	return false, len(list) > 0, err
}

// recordAt returns the record of another thread if it holds the pause, and is not another
// principal's.
func (r *run) recordAt(at pausePlace) (*store.Record, error) {
	rec, err := r.ledger.loadAt(at.Key)
	if err != nil {
		return nil, err
	}
	if !holds(&rec, at.Pause) || rec.Owner != "" && !r.who.Owner().Is(rec.Owner) {
		return nil, nil
	}
	return &rec, nil
}

// holds reports whether the record knows the pause, open or ended.
func holds(rec *store.Record, pauseID string) bool {
	return rec.Pause != nil && rec.Pause.ID == pauseID ||
		slices.ContainsFunc(rec.Results, func(result *store.Result) bool { return result.PauseID == pauseID })
}
