package superagent

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// kinds are the types of A2UI events.
var kinds = []string{"text", "thinking", "tool_call", "tool_result", "code_block", "interrupt", "error", "done", "progress", "agent_switch"}

// token is the kind of a frame that is not an event.
const token = "token"

// A frame is one frame of the answer.
type frame struct {
	kind string       // of kinds, token, or "" for what is passed over
	text string       // of a token
	data gjson.Result // of an event
	at   int64        // its timestamp, Unix milliseconds
}

// readFrame says what a frame is. An event has its type's name. If the server sends text as bare
// tokens, the event has no name. A frame called message is always a token, because a model may
// write what looks like an event there.
func readFrame(p translate.Piece) frame {
	name := string(p.Name)
	named, bare := slices.Contains(kinds, name), name == "" || name == "message"
	if !named && !bare {
		return frame{}
	}
	if named || name == "" {
		if f, ok := readEvent(p.Data, name); ok {
			return f
		}
		if named {
			return frame{kind: name}
		}
	}
	text := p.Data
	if name == "message" && (len(text) == 0 || text[len(text)-1] == '\n') {
		// The server's writer drops one newline at the end of a token, and sends no data for an
		// empty token. An empty last line is the trace of that newline.
		text = append(slices.Clone(text), '\n')
	}
	return frame{kind: token, text: string(text)}
}

// readEvent reads an A2UI event: {"type","timestamp","data"}.
func readEvent(data []byte, name string) (frame, bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) || !agui.ValidJSON(data) {
		return frame{}, false
	}
	root := gjson.ParseBytes(data)
	kind, at := root.Get("type").Str, root.Get("timestamp")
	switch {
	case slices.Contains(kinds, kind) && at.Type == gjson.Number && root.Get("data").Exists():
	case name != "" && root.Get("data").Exists():
		kind = name
	default:
		return frame{}, false
	}
	return frame{kind: kind, data: root.Get("data"), at: at.Int()}, true
}

// done ends a stream of tokens.
const done = "[DONE]"

// marker begins a question, as the server writes it, with a NUL. written are the forms in its
// documentation and of a hop that writes JSON.
const marker = "\x00INTERRUPT:"

var written = []string{`\x00INTERRUPT:`, `\u0000INTERRUPT:`}

// readMarker reports whether a token is a question, and reads it. q is nil if it cannot be read. A
// model can write the characters of the written forms, so they count only before a state.
func readMarker(text string) (q *question, asks bool) {
	if rest, ok := cutPrefix(text, marker); ok {
		state := gjson.Result{}
		if agui.ValidJSON(rest) {
			state = gjson.ParseBytes(rest)
		}
		if !state.IsObject() {
			return nil, true
		}
		return readQuestion(state), true
	}
	for _, form := range written {
		if rest, ok := cutPrefix(text, form); ok {
			if state, ok := readState(rest); ok {
				return readQuestion(state), true
			}
		}
	}
	return nil, false
}

func cutPrefix(text, prefix string) ([]byte, bool) {
	if len(text) < len(prefix) || text[:len(prefix)] != prefix {
		return nil, false
	}
	return []byte(text[len(prefix):]), true
}
