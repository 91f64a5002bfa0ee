package standard

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// While their question is open, AG2 and ADK refuse every run of the thread. If Holdpoint lost the
// question, it turns this refusal into a lost question (kit.LostQuestion). The field Backend of a
// lost question is a key of blockedBackends.

// A blockedBackend is a backend that refuses every run of a thread while its question is open.
type blockedBackend struct {
	refusal agui.Code // code of the refusal, which is the first event
	profile profile   // says how a cancel is sent
	// ids returns the ids of the open questions that the refusal names. It is nil if the refusal
	// names no ids. Then the ids on record and the ids that clients named are used, and the backend
	// ignores the wrong ones.
	ids func(message string) []string
}

var blockedBackends = map[string]blockedBackend{
	// The message is: Thread has open interrupt(s) ['a', 'b']; the run must answer them … (RAN
	// 0.11.0).
	"adk": {refusal: "INTERRUPT_RESUME_REQUIRED", profile: profile{extra: onlyResults, errors: &ofADK, cancels: true}, ids: readPythonList},
	"ag2": {refusal: "INTERRUPT_NOT_COVERED", profile: profile{errors: &ofAG2, cancels: true, ends: true}},
}

// lostQuestion returns the lost question for an ordinary run that the backend refused because a
// question is open. It returns false if the backend refused the run for another reason, or if no id
// is known that could be cancelled.
func (run *run) lostQuestion(ev agui.Event) (translate.Result, bool) {
	if run.plain == nil || run.streamed || run.plain.Show == translate.ShowNative {
		return translate.Result{}, false
	}
	for name, w := range blockedBackends {
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
		return kit.AskLost(run.plain, kit.LostQuestion{Backend: name, Natives: natives}), true
	}
	return translate.Result{}, false
}

// readPythonList returns the strings of a Python list that is printed in the message.
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

// knownIDs returns the ids of the backend's questions on record, and the ids that a client named.
func knownIDs(r *translate.Request, w blockedBackend) []string {
	return kit.LostIDs(r, func(_ *agui.Pause, i *agui.Interrupt) bool { return profileOfInterrupt(i).errors == w.profile.errors })
}

// lostStateOf returns the state of a lost question of this dialect. isLost is false for any other
// question.
func lostStateOf(i *agui.Interrupt) (question kit.LostQuestion, isLost bool) {
	if question, isLost = kit.LostOf(i); isLost {
		_, isLost = blockedBackends[question.Backend]
	}
	return question, isLost
}

// giveUp returns the resume array that cancels a lost question under each id that it may have. Each
// entry gets the metadata that the client sent with its cancel, such as AG2's proof.
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
