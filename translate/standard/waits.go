package standard

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Some backends refuse every run of a thread while their question is open. If Holdpoint lost the
// question, by a restart or because its end was in doubt, nobody could go on. So the refusal of an
// ordinary run becomes a question of Holdpoint's own: what the thread waits for is lost, and can
// only be cancelled. The cancel goes to the backend under its own ids. Nothing is approved so,
// because nobody was shown what would run.

// reasonLost is the reason of such a question. The schema lets a client say no that knows no
// cancel.
const (
	reasonLost = "holdpoint:lost_question"
	textLost   = "This chat still waits for the answer to a question that is not known any more. The question can only be cancelled. Then the chat goes on."
	schemaLost = `{"type":"object","properties":{"approved":{"type":"boolean","const":false}},"required":["approved"],"additionalProperties":false}`
)

// maxLost bounds the ids that a lost question may have.
const maxLost = 16

// A lost is what is kept of such a question.
type lost struct {
	Of      string   `json:"of"`      // the key in waiters
	Natives []string `json:"natives"` // what it may be called; those that are wrong do no harm
}

// A waiter is a backend that refuses every run while its question is open.
type waiter struct {
	refusal agui.Code // of such a run, before anything else
	profile profile   // how a cancel is told
	// ids are what the refusal says that is open. nil: it does not say. Then it is a question that
	// the record or a client knows, and the backend passes over the ids that are wrong.
	ids func(message string) []string
}

var waiters = map[string]waiter{
	// Thread has open interrupt(s) ['a', 'b']; the run must answer them … (RAN 0.11.0).
	"adk": {refusal: "INTERRUPT_RESUME_REQUIRED", profile: profile{beside: onlyResults, errors: &ofADK, cancels: true}, ids: listed},
	"ag2": {refusal: "INTERRUPT_NOT_COVERED", profile: profile{errors: &ofAG2, cancels: true, ends: true}},
}

// waits is the question that an ordinary run was refused for. false: it was refused for something
// else, or nothing is known that could be cancelled.
func (run *run) waits(ev agui.Event) (translate.Result, bool) {
	if run.plain == nil || run.streamed || run.plain.Show == translate.ShowNative {
		return translate.Result{}, false
	}
	for name, w := range waiters {
		if agui.Code(ev.Get("code").Str) != w.refusal {
			continue
		}
		var natives []string
		if w.ids != nil {
			natives = w.ids(ev.Get("message").Str)
		} else {
			natives = knownIDs(run.plain, w)
		}
		if len(natives) == 0 {
			return translate.Result{}, false
		}
		object := agui.MustMarshal(map[string]any{"reason": reasonLost, "message": textLost, "responseSchema": json.RawMessage(schemaLost)})
		question := agui.Interrupt{Native: natives[0], Object: object, Private: agui.MustMarshal(lost{name, natives}), CancelOnly: true}
		finish := agui.FinishedEvent(run.plain.Input.ThreadID, run.plain.Input.RunID)
		return translate.Result{
			Finish: finish, Asked: translate.Asked{Interrupts: []agui.Interrupt{question}, OwnFinish: slices.Clone(finish.JSON)},
			Untaken: untaken(run.plain.Input.Messages),
		}, true
	}
	return translate.Result{}, false
}

// listed reads the list of texts that Python prints.
func listed(message string) []string {
	_, list, _ := strings.Cut(message, "[")
	list, _, _ = strings.Cut(list, "]")
	var ids []string
	for part := range strings.SplitSeq(list, ", ") {
		if id := strings.Trim(part, `'"`); id != "" && len(id) < len(part)-1 && len(ids) < maxLost {
			ids = append(ids, id)
		}
	}
	return ids
}

// knownIDs are the ids of a backend's questions that the record still has, newest first, and then
// those that a client named. A published id is the backend's with a tilde and a random part behind
// it. What was cancelled as a lost question already is not asked about again.
func knownIDs(r *translate.Request, w waiter) []string {
	var ids []string
	past := map[string]bool{}
	add := func(id string) {
		if id != "" && !past[id] && len(ids) < maxLost {
			past[id] = true
			ids = append(ids, id)
		}
	}
	for _, ended := range r.Ended {
		for n := range ended.Interrupts {
			i := &ended.Interrupts[n]
			if question, isLost := lostOf(i); isLost {
				for _, id := range question.Natives {
					past[id] = true
				}
			} else if profileOfInterrupt(i).errors == w.profile.errors {
				add(i.Native)
			}
		}
	}
	for _, id := range r.Named {
		if at := strings.LastIndexByte(id, '~'); at > 0 {
			add(id[:at])
		}
		add(id)
	}
	return ids
}

// untaken are the person's last words. The backend did not look at them.
func untaken(list []agui.Message) []agui.Message {
	from := len(list)
	for from > 0 && list[from-1].Role == "user" {
		from--
	}
	return list[from:]
}

// lostOf is what is kept of an interrupt, if it is a lost question.
func lostOf(i *agui.Interrupt) (question lost, isLost bool) {
	if !i.CancelOnly || len(i.Private) == 0 || json.Unmarshal(i.Private, &question) != nil || len(question.Natives) == 0 {
		return lost{}, false
	}
	_, isLost = waiters[question.Of]
	return question, isLost
}

// giveUp is the resume array that cancels a lost question, under every id that it may have. What a
// client says beside its cancel, such as AG2's proof, goes with each.
func giveUp(question lost, r *translate.Request) []byte {
	var metadata gjson.Result
	if entry := gjson.GetBytes(r.Input.Raw, "resume.0"); len(r.Input.Resume) == 1 && r.Pause.Interrupt(entry.Get("interruptId").Str) != nil {
		metadata = entry.Get("metadata")
	}
	list := []byte{'['}
	for n, id := range question.Natives {
		if n > 0 {
			list = append(list, ',')
		}
		entry := kit.AppendText([]byte{'{'}, "interruptId", id)
		entry = kit.AppendText(entry, "status", string(agui.Cancelled))
		if metadata.IsObject() {
			entry = kit.AppendMember(entry, `"metadata"`, metadata.Raw)
		}
		list = append(append(list, entry...), '}')
	}
	return append(list, ']')
}

// Frees implements translate.Freer.
func (*Dialect) Frees(p *agui.Pause) bool {
	return !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !profileOfInterrupt(&i).cancels })
}
