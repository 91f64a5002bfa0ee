package proxy_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	golden "holdpoint/internal/scenario"
)

// lintUntouched checks that Holdpoint forwards everything byte for byte, except where a rule allows
// a change. Every frame of the backend must be in the output, in order, unless Holdpoint may hold
// it back or drop it. Every frame of the output must come from the backend, or be one of the few
// that Holdpoint makes or edits. sent are the requests that the backend got.
func lintUntouched(s scenario, turn int, sent [][]byte, got []byte) (complaints []string) {
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	u := untouched{frames: backendFrames(s, turn)}
	broken := false // Holdpoint ended the run, and drops what the backend sends after that
	out, _ := split(string(got))
	out, closers := withoutLastWords(out)
	for n, frame := range out {
		if next := u.next; n >= closers.from && n < closers.to && (next >= len(u.frames) || u.frames[next].frame != frame) {
			continue
		}
		data, ok := dataOf(frame)
		ev := gjson.Parse(data)
		if u.widened(ev, gjson.GetBytes(s.request(turn), "messages").Array()) || u.take(frame) {
			continue
		}
		if !ok {
			complain("a comment that the backend did not send: %q", frame)
			continue
		}
		if u.rewritten(ev) || s.agentFramework().made(turn, ev) {
			continue
		}
		switch kind := ev.Get("type").Str; kind {
		case "RUN_STARTED", "RUN_FINISHED":
			for _, c := range u.edited(ev) {
				complain("%s: %s", kind, c)
			}
		case "RUN_ERROR":
			broken = true
		case "TOOL_CALL_RESULT":
			content := ev.Get("content").Str
			// This is the answer to a question that was a tool call.
			answer := content == `{"approved":true}` || content == `{"approved":false}`
			if !u.renamed(frame, ev) && !answer && !toldAnswer(sent, ev) {
				complain("made by nobody: %s", frame)
			}
		case "SUBAGENT_FINISHED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "STEP_FINISHED":
		case "CUSTOM":
			if ev.Get("name").Str != "on_interrupt" {
				complain("made by nobody: %s", frame)
			}
		default:
			toldAsText := strings.HasPrefix(ev.Get("messageId").Str, "holdpoint-question-")
			if !strings.HasSuffix(kind, "_END") && !toldAsText && !toldAgain(s, turn, frame) {
				complain("made by nobody: %s", frame)
			}
		}
	}
	resumes := gjson.GetBytes(s.request(turn), "resume").Exists() || gjson.GetBytes(s.request(turn), "forwardedProps.command.resume").Exists() ||
		bytes.Contains(s.request(turn), []byte("approval_id")) || bytes.Contains(s.request(turn), []byte(`\"accepted\"`))
	for i, f := range u.frames {
		if f.taken || broken && i >= u.next {
			continue
		}
		ev := gjson.Parse(f.data)
		if s.agentFramework().gone(turn, ev, string(got)) || strings.Contains(string(got), `"type":"interrupt"`) && u.hidden(ev) {
			continue
		}
		switch kind := ev.Get("type").Str; kind {
		case "RUN_STARTED", "RUN_FINISHED": // edited, or dropped between two exchanges
		case "CUSTOM":
			if ev.Get("name").Str != "on_interrupt" {
				complain("lost: %s", f.frame)
			}
		case "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK":
			if !resumes && !u.synthetic(s, turn, ev) {
				complain("lost: %s", f.frame)
			}
		case "SUBAGENT_FINISHED":
			if !slices.ContainsFunc(out, func(frame string) bool { return isWithMintedIDs(frame, ev) }) {
				complain("lost: %s", f.frame)
			}
		case "RUN_ERROR":
			// The client got a question instead of the error.
			question := strings.Contains(string(got), `"reason":"holdpoint:lost_question"`)
			if !question && !s.goesOnBehind(turn, f) && !s.cancels(turn) {
				complain("lost: %s", f.frame)
			}
		default:
			if f.data != "[DONE]" {
				complain("lost: %s", f.frame)
			}
		}
	}
	return complaints
}

// goesOnBehind reports whether the turn has another exchange after the exchange that contains the
// frame f.
func (s scenario) goesOnBehind(turn int, f backendFrame) bool {
	streams := s.Answers(turn)
	return len(streams) > 1 && !bytes.Contains(streams[len(streams)-1], []byte(f.data))
}

// cancels reports whether the request of the turn only cancels questions. If an adapter no longer
// waits for the answers to them, it responds with an error. The client need not get this error.
func (s scenario) cancels(turn int) bool {
	entries := gjson.GetBytes(s.request(turn), "resume").Array()
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e gjson.Result) bool { return e.Get("status").Str != "cancelled" })
}

// withoutLastWords removes the RUN_FINISHED that contains a refusal. Holdpoint makes this event if
// a run failed and no question is open. closers is the range of the events before it that close
// open messages and calls. Holdpoint may have made these events too.
func withoutLastWords(out []string) (rest []string, closers struct{ from, to int }) {
	for n, frame := range out {
		data, _ := dataOf(frame)
		if gjson.Get(data, "outcome").Exists() || !gjson.Get(data, "metadata.holdpoint.refusal").Exists() {
			continue
		}
		from := n
		for from > 0 {
			data, _ := dataOf(out[from-1])
			if kind := gjson.Get(data, "type").Str; !strings.HasSuffix(kind, "_END") && kind != "STEP_FINISHED" && kind != "SUBAGENT_ERROR" {
				break
			}
			from--
		}
		closers.from, closers.to = from, n
		return slices.Concat(out[:n], out[n+1:]), closers
	}
	return out, closers
}

// isWithMintedIDs reports whether frame equals backends, the backend's event for the end of a
// subagent, apart from a random suffix that each interrupt id has got.
func isWithMintedIDs(frame string, backends gjson.Result) bool {
	data, _ := dataOf(frame)
	const path = "outcome.interruptIds"
	told, came := gjson.Get(data, path).Array(), backends.Get(path).Array()
	if len(told) != len(came) || len(came) == 0 {
		return false
	}
	for n, id := range came {
		if !strings.HasPrefix(told[n].Str, id.Str+"~") {
			return false
		}
	}
	return strings.Replace(data, gjson.Get(data, path).Raw, backends.Get(path).Raw, 1) == backends.Raw
}

// toldAgain reports whether the client may get the frame again. This is so if the backend sent the
// frame in an earlier turn, and the client gets questions in the backend's own form.
func toldAgain(s scenario, turn int, frame string) bool {
	for before := 1; before < turn && s.env["HOLDPOINT_CLIENT"] == "native"; before++ {
		if slices.ContainsFunc(backendFrames(s, before), func(f backendFrame) bool { return f.frame == frame }) {
			return true
		}
	}
	return false
}

type untouched struct {
	frames []backendFrame
	next   int // the index of the first frame that has not been passed by
}

type backendFrame struct {
	frame, data string
	taken       bool
}

// backendFrames returns the frames of all exchanges of a turn. It leaves out frames that may not
// follow a terminal event, and removes nulls that the protocol does not allow. It marks each
// RUN_FINISHED as taken, except in the last exchange.
func backendFrames(s scenario, turn int) (list []backendFrame) {
	streams := s.Answers(turn)
	for n, stream := range streams {
		if bytes.HasPrefix(stream, []byte("HTTP ")) {
			continue
		}
		frames, rest := split(strings.ReplaceAll(string(bytes.TrimSuffix(stream, []byte(golden.Cut))), "\r\n", "\n"))
		if rest != "" && !bytes.HasSuffix(stream, []byte(golden.Cut)) {
			frames = append(frames, rest+"\n\n") // a last frame without its blank line counts
		}
		ended := ""
		for _, f := range frames {
			data, ok := dataOf(f)
			kind := gjson.Get(data, "type").Str
			if ok && ended != "" && kind != "RUN_STARTED" && !(ended == "RUN_FINISHED" && kind == "RUN_ERROR") {
				break
			}
			if ok {
				ended = ""
				if clean := agui.NewEvent([]byte(data)).WithoutNulls(); clean.Edited && s.env["HOLDPOINT_CLIENT"] != "native" {
					data = string(clean.JSON)
					f = "data: " + data + "\n\n"
				}
			}
			if kind == "RUN_FINISHED" || kind == "RUN_ERROR" {
				ended = kind
			}
			list = append(list, backendFrame{frame: f, data: data, taken: ended == "RUN_FINISHED" && n < len(streams)-1})
		}
	}
	return list
}

// take looks for the frame of the backend that Holdpoint sent unchanged as frame, and marks it as
// taken. It returns false if there is no such frame. Frames must keep their order. Two kinds of
// frames may move: frames that announce a pause, which Holdpoint holds until it has saved the
// pause, and calls that may be a question.
func (u *untouched) take(frame string) bool {
	for i := range u.frames {
		f := &u.frames[i]
		moves := strings.Contains(f.data, `"on_interrupt"`) || u.mayAsk(f.data)
		if f.taken || f.frame != frame || i < u.next && !moves {
			continue
		}
		f.taken = true
		if !moves {
			u.next = i + 1
		}
		return true
	}
	return false
}

// renamed reports whether the frame is a result of the backend in which Holdpoint has changed only
// the messageId. Holdpoint changes a messageId, for example, if it equals the id of the call.
func (u *untouched) renamed(frame string, ev gjson.Result) bool {
	for _, f := range u.frames {
		was := gjson.Parse(f.data)
		if was.Get("toolCallId").Raw != ev.Get("toolCallId").Raw || was.Get("type").Str != "TOOL_CALL_RESULT" {
			continue
		}
		if u.take(strings.Replace(frame, `"messageId":`+ev.Get("messageId").Raw, `"messageId":`+was.Get("messageId").Raw, 1)) {
			return true
		}
	}
	return false
}

// widened reports whether ev is a snapshot of the backend to which Holdpoint added messages or
// calls. These are in the client's request, but the backend did not get them. A client would delete
// them if the snapshot lacked them. If the backend gets them in a second exchange, it may send the
// same snapshot itself.
func (u *untouched) widened(ev gjson.Result, request []gjson.Result) bool {
	if ev.Get("type").Str != "MESSAGES_SNAPSHOT" {
		return false
	}
	list := ev.Get("messages").Array()
	for i := u.next; i < len(u.frames); i++ {
		f := &u.frames[i]
		own := gjson.Get(f.data, "messages").Array()
		if f.taken || gjson.Get(f.data, "type").Str != "MESSAGES_SNAPSHOT" || len(own) >= len(list) {
			if f.data != "" && f.data == ev.Raw {
				return false // it is the backend's own, unchanged
			}
			continue
		}
		same := true
		for _, m := range list {
			if len(own) > 0 && compacted(m.Raw) == compacted(own[0].Raw) {
				own = own[1:]
				continue
			}
			same = same && slices.ContainsFunc(request, func(r gjson.Result) bool { return compacted(r.Raw) == compacted(m.Raw) })
		}
		if same && len(own) == 0 {
			f.taken, u.next = true, i+1
			return true
		}
	}
	return false
}

// edited compares ev, a RUN_STARTED or RUN_FINISHED, with the backend's event of the same type.
// Only ids, the version, the outcome and the metadata may differ. If the backend sent no event of
// this type, Holdpoint has made ev, and edited returns no complaints.
func (u *untouched) edited(ev gjson.Result) (complaints []string) {
	may := []string{"threadId", "runId", "protocolVersion", "outcome", "metadata"}
	for i := range u.frames {
		f := &u.frames[i]
		own := gjson.Parse(f.data)
		if f.taken || own.Get("type").Str != ev.Get("type").Str {
			continue
		}
		f.taken = true
		var order []string
		own.ForEach(func(k, v gjson.Result) bool {
			if draftKey(k.Str, v, ev) {
				return true
			}
			if k.Str != "outcome" {
				order = append(order, k.Str)
			}
			if !slices.Contains(may, k.Str) && member(ev, k.Str).Raw != v.Raw {
				complaints = append(complaints, fmt.Sprintf("%s was %s and is %s", k.Str, v.Raw, member(ev, k.Str).Raw))
			}
			return true
		})
		ev.ForEach(func(k, _ gjson.Result) bool {
			if len(order) > 0 && k.Str == order[0] {
				order = order[1:]
			} else if !slices.Contains(may, k.Str) {
				complaints = append(complaints, "key "+k.Str+" is new or has moved")
			}
			return true
		})
		if len(order) > 0 {
			complaints = append(complaints, fmt.Sprintf("keys %v are gone or have moved", order))
		}
		return append(complaints, editedInterrupts(own, ev)...)
	}
	return nil
}

// draftKey reports whether Holdpoint may leave out a root key of the backend's RUN_FINISHED. It may
// do so for a key that contains the interrupts of AG-UI's drafts or Microsoft's list, and for a
// result that an interrupt of the outcome contains.
func draftKey(key string, v, told gjson.Result) bool {
	switch {
	case member(told, key).Exists():
		return false
	case key == "result":
		return strings.Contains(told.Get("outcome.interrupts").Raw, `"result":`+v.Raw)
	}
	return key == "interrupt" || key == "interrupts"
}

// editedInterrupts compares each interrupt of the backend's outcome with the interrupt that the
// client got. Holdpoint removes nulls. It removes a toolCallId if the client does not have the
// call. It may change the id and the reason, and a dialect adds a key to metadata. If TanStack's
// client draws a card for a tool, Holdpoint writes the schema. For an approval of AGUI.Server,
// Holdpoint adds edits to the schema.
func editedInterrupts(own, ev gjson.Result) (complaints []string) {
	told := ev.Get("outcome.interrupts").Array()
	for n, i := range own.Get("outcome.interrupts").Array() {
		if n >= len(told) {
			return append(complaints, "an interrupt is not told: "+i.Raw)
		}
		i.ForEach(func(k, v gjson.Result) bool {
			free := slices.Contains([]string{"id", "reason", "toolCallId", "metadata"}, k.Str) || v.Type == gjson.Null
			// A message that is the JSON of Strands' reason is not meant for a person. Holdpoint
			// puts it into the metadata.
			free = free || k.Str == "message" && told[n].Get("metadata.strands.reason").Raw == v.Str
			free = free || k.Str == "responseSchema" && told[n].Get("metadata.tanstack:interruptBinding.kind").Str == "tool-approval"
			if k.Str == "responseSchema" && strings.HasPrefix(told[n].Get("message").Str, "Approval required for tool call: ") && !v.Get("properties.editedArgs").Exists() {
				free = free || compacted(string(agui.DeleteKey([]byte(member(told[n], k.Str).Raw), "properties.editedArgs"))) == compacted(v.Raw)
			}
			if got := member(told[n], k.Str).Raw; !free && compacted(got) != compacted(v.Raw) {
				complaints = append(complaints, fmt.Sprintf("an interrupt's %s was %s and is %s", k.Str, v.Raw, got))
			}
			return true
		})
	}
	return complaints
}
