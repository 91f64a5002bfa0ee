package standard

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// AG2 can require a proof with an answer (require_resume_proof) that the person was shown the
// question. Some clients send it. A person who decides at another door was shown the question on
// record, and has no client that sends the proof, so Holdpoint adds it.

// withProofs returns the resume array with the proof for each question that was decided at another
// door.
func withProofs(resume json.RawMessage, r *translate.Request) json.RawMessage {
	proofs := map[string]string{}
	for n, a := range r.Answers {
		i := &r.Pause.Interrupts[n]
		if proof := agui.View(i.Object).Get("metadata.ag2.proof"); a.Decided && proof.Exists() {
			proofs[i.Native] = proof.Raw
		}
	}
	if len(proofs) == 0 {
		return resume
	}
	list := []byte{'['}
	for _, e := range gjson.ParseBytes(resume).Array() {
		entry := []byte(e.Raw)
		if proof := proofs[e.Get("interruptId").Str]; proof != "" && !e.Get("metadata").Exists() {
			entry = kit.AppendMember(entry[:len(entry)-1], `"metadata"`, `{"ag2":{"proof":`+proof+`}}`)
			entry = append(entry, '}')
		}
		list = kit.AppendElement(list, entry)
	}
	return append(list, ']')
}
