package standard

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// AG2 can require a proof that the person was shown the question (require_resume_proof). Some
// clients send this proof with the answer. If a person decides outside the chat, for example at the
// desk (the web page of approvers), that person was shown the question on record, but no client
// sends the proof. So Holdpoint adds it.

// withProofs returns the resume array. It adds the proof to each answer that was decided outside
// the chat.
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
