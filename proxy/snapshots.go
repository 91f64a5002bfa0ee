package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/transcript"
)

// resumeTranscript returns the transcript that a resumed run begins with.
func (r *run) resumeTranscript(p *agui.Pause) *transcript.Transcript {
	list, whole := history.ResumeMessages(&r.in, p, r.replies, r.request.ours)
	state := history.ResumeState(&r.in, p)
	t := transcript.New(r.h.opts.TranscriptBytes, list, state)
	if p.Stripped && !agui.HasMembers(state) {
		t.ForgetState()
	}
	if !whole {
		t.ForgetMessages() // the record could not keep a message that the request does not bring either
	}
	return t
}
