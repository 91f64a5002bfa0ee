package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A backend may run each call of the history that has no result, as soon as the request brings the
// result of a call of a declared tool (translate.Continuer). Nobody need have approved the call.
// So such a call reaches the backend only if a stream of the agent has left it open, in a run that
// ended well and asked nothing, and if no question was about it. This process notes both kinds of
// calls, and the record notes the first kind for its thread.

// A callKey is a hash of a call: its id, its tool and its arguments, and the agent, the path and
// the principal whose threads may hold it. The thread does not count, because some clients of .NET
// take another one between a call and its result.
type callKey [16]byte

func (r *run) callKey(id, name, args string) callKey {
	parts := make([]byte, 0, 256+len(args))
	for _, part := range append([]string{r.who.Tenant, r.h.opts.Agent, r.request.path, r.ledger.owner}, callParts(id, name, args)...) {
		parts = binary.AppendUvarint(parts, uint64(len(part)))
		parts = append(parts, part...)
	}
	sum := sha256.Sum256(parts)
	return callKey(sum[:16])
}

// runsOpenCalls reports whether the backend may run calls of the history that have no result.
func (r *run) runsOpenCalls() bool {
	continuer, ok := r.h.opts.Dialect.(translate.Continuer)
	return ok && continuer.Continues(r.spoken(), r.backend())
}

// openPrefix is how the ids of the notes begin that hold calls which a run left open.
const openPrefix = "open "

// noteOpenCalls notes the calls that a run left open which ended well and asked nothing. The record
// notes them if the run also left a call of a declared tool open: its result may come after a
// restart, or to another replica.
func (r *run) noteOpenCalls() {
	if len(r.openCalls) == 0 || !r.runsOpenCalls() {
		return
	}
	var keys []string
	mixed := false
	for _, c := range r.openCalls {
		if c.own {
			mixed = true
			continue
		}
		call, known := r.transcript.AskedCall(c.id)
		if !known || call.Unknown {
			continue
		}
		key := r.callKey(call.ID, call.Name, call.Args)
		r.h.leftOpen.Add(key, struct{}{})
		keys = append(keys, hex.EncodeToString(key[:]))
	}
	if len(keys) == 0 || !mixed || r.h.opts.StoreInMemory {
		return
	}
	if err := r.noteHashes(openPrefix, keys); err != nil {
		r.log.Error("calls that the run left open are not noted by the store: after a restart they are not handed on", "calls", len(keys), "err", err)
	}
}

// noteAskedCalls notes the calls that a pause asks about, and takes back that a run left them open:
// the record knows the calls of a question for a time only.
func (r *run) noteAskedCalls(p *agui.Pause) {
	if _, ok := r.h.opts.Dialect.(translate.Continuer); !ok {
		return
	}
	for n := range p.Interrupts {
		for _, c := range p.Interrupts[n].Calls {
			if c.Unknown {
				continue
			}
			key := r.callKey(c.ID, c.Name, c.Args)
			r.h.leftOpen.Remove(key)
			r.forgetNoted(openPrefix, hex.EncodeToString(key[:]))
		}
	}
}

// withholdOpenCalls takes calls out of the messages that the backend may run although nobody
// approved them. After a lost question it also takes out those that a user has talked past, because
// a backend that keeps nothing refuses the history otherwise. p is the pause that the request
// answers, nil if there is none. Its calls are the dialect's to send. It returns the messages that
// have changed, by their bytes before.
func (r *run) withholdOpenCalls(p *agui.Pause) map[string]agui.Message {
	runs, lost := r.runsOpenCalls() && kit.Continues(r.in), r.hasLostQuestion()
	if !runs && !lost {
		return nil
	}
	asked := r.callsAskedAbout()
	answered := map[string]bool{}
	if p != nil {
		for n := range p.Interrupts {
			answered[p.Interrupts[n].ToolCallID()] = true
			for _, c := range p.Interrupts[n].Calls {
				answered[c.ID] = true
			}
		}
	}
	withheld, abandoned := 0, 0
	in, edited := kit.WithoutOpenCalls(r.in, func(c agui.Call, _ int, isAbandoned bool) bool {
		if c.ID != "" && answered[c.ID] {
			return false
		}
		if !runs {
			goes := isAbandoned && !r.in.Declares(c.Name)
			if goes {
				abandoned++
			}
			return goes
		}
		stays := c.Name != "" && r.mayStayOpen(c, asked)
		if !stays {
			withheld++
		}
		return !stays
	})
	if edited == nil {
		return nil
	}
	r.in = in
	if withheld > 0 {
		r.log.Warn("calls without a result taken out of the messages: the backend may run them, and no run is known that left them to the client", "calls", withheld)
	}
	if abandoned > 0 {
		r.log.Warn("calls without a result taken out of the messages: their question is lost, and the backend keeps nothing and would refuse the history", "calls", abandoned)
	}
	return edited
}

// mayStayOpen reports whether a call without a result may reach the backend. No question may have
// been about it, of this thread or of another one of the conversation. If a question somewhere was
// about an equal call, a run must have left this one open since.
func (r *run) mayStayOpen(c agui.Call, asked callsAsked) bool {
	key := r.callKey(c.ID, c.Name, c.Args)
	left := r.h.leftOpen.Contains(key) || r.isNotedOpen(key)
	if asked.has(c.ID, key) || !left && !r.in.Declares(c.Name) {
		return false
	}
	stays, judged := r.openCallStays[key]
	if judged {
		return stays
	}
	if r.indexFails || len(r.openCallStays) == maxOpenCalls {
		return false // a run leaves no more of them open
	}
	here, somewhere, err := r.wasAsked(c)
	if err != nil {
		r.indexFails = true // the next call would wait as long
		r.log.Warn("calls without a result are taken out of the messages: the store cannot say whether a question was about them", "err", err)
		return false
	}
	if r.openCallStays == nil {
		r.openCallStays = map[callKey]bool{}
	}
	stays = !here && (left || !somewhere)
	r.openCallStays[key] = stays
	return stays
}

// callsAsked are the calls that the questions of a record are about.
type callsAsked struct {
	keys map[callKey]bool
	ids  map[string]bool // calls whose tool or arguments the record does not know
}

func (list callsAsked) has(id string, key callKey) bool { return list.ids[id] || list.keys[key] }

// callsAskedAbout returns the calls that the record's questions are about, open or ended.
func (r *run) callsAskedAbout() callsAsked {
	list := callsAsked{map[callKey]bool{}, map[string]bool{}}
	for _, p := range r.pauses() {
		for n := range p.Interrupts {
			i := &p.Interrupts[n]
			known := false
			for _, c := range i.Calls {
				if c.Unknown {
					list.ids[c.ID] = true
					continue
				}
				known = known || c.ID == i.ToolCallID()
				list.keys[r.callKey(c.ID, c.Name, c.Args)] = true
			}
			if id := i.ToolCallID(); !known && id != "" {
				list.ids[id] = true
			}
		}
	}
	return list
}

// isNotedOpen reports whether the record has noted that a run of the thread left the call open.
func (r *run) isNotedOpen(key callKey) bool {
	wanted := []byte(hex.EncodeToString(key[:]))
	for _, n := range r.record.Notes {
		var keys []string
		if strings.HasPrefix(n.ID, openPrefix) && bytes.Contains(n.Text, wanted) && json.Unmarshal(n.Text, &keys) == nil && slices.Contains(keys, string(wanted)) {
			return true
		}
	}
	return false
}
