package standard

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// AG2 and ADK refuse every run of a thread while their question is open. If Holdpoint lost the
// question, the refusal becomes a lost question (kit.LostQuestion), whose Of is the key in waiters.

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
	"adk": {refusal: "INTERRUPT_RESUME_REQUIRED", profile: profile{beside: onlyResults, errors: &ofADK, cancels: true}, ids: readPythonList},
	"ag2": {refusal: "INTERRUPT_NOT_COVERED", profile: profile{errors: &ofAG2, cancels: true, ends: true}},
}

// waits returns the question that an ordinary run was refused for. false: it was refused for
// something else, or nothing is known that could be cancelled.
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
		return kit.AskLost(run.plain, kit.LostQuestion{Of: name, Natives: natives}), true
	}
	return translate.Result{}, false
}

// readPythonList reads the list of texts that Python prints.
func readPythonList(message string) []string {
	_, list, _ := strings.Cut(message, "[")
	list, _, _ = strings.Cut(list, "]")
	var ids []string
	for part := range strings.SplitSeq(list, ", ") {
		if id := strings.Trim(part, `'"`); id != "" && len(id) < len(part)-1 && len(ids) < kit.MaxLost {
			ids = append(ids, id)
		}
	}
	return ids
}

// knownIDs returns the ids of the backend's questions that the record still has, and those that a
// client named.
func knownIDs(r *translate.Request, w waiter) []string {
	return kit.LostIDs(r, func(_ *agui.Pause, i *agui.Interrupt) bool { return profileOfInterrupt(i).errors == w.profile.errors })
}

// lostStateOf returns what an interrupt keeps of a lost question of this dialect.
func lostStateOf(i *agui.Interrupt) (question kit.LostQuestion, isLost bool) {
	if question, isLost = kit.LostOf(i); isLost {
		_, isLost = waiters[question.Of]
	}
	return question, isLost
}

// giveUp returns the resume array that cancels a lost question, under every id that it may have.
// What a client says beside its cancel, such as AG2's proof, goes with each.
func giveUp(question kit.LostQuestion, r *translate.Request) []byte {
	metadata := ""
	if entry := gjson.GetBytes(r.Input.Raw, "resume.0"); len(r.Input.Resume) == 1 && r.Pause.Interrupt(entry.Get("interruptId").Str) != nil {
		if said := entry.Get("metadata"); said.IsObject() {
			metadata = said.Raw
		}
	}
	return kit.CancelArray(question.Natives, metadata)
}

// Frees implements translate.Freer.
func (*Dialect) Frees(p *agui.Pause) bool {
	return !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return !profileOfInterrupt(&i).cancels })
}
