package superagent

import (
	"bytes"
	"slices"
	"strings"

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
	kind string       // one of kinds, token, or "" for a frame that is ignored
	text string       // of a token
	data gjson.Result // of an event
	at   int64        // the event's timestamp in Unix milliseconds
}

// readFrame returns what a frame contains. The name of an event's frame is its type. The frames
// have no names if the server sends text as bare tokens. A frame with the name message is always a
// token, because a model may write the text of an event there.
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
		// The server's writer drops one newline at the end of a token, and sends no data for an empty
		// token. So an empty last line means that a newline was dropped.
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

// marker begins a question in the form of the server, with a NUL. writtenMarkers are the forms in
// the server's documentation, and after a proxy that writes JSON.
const marker = "\x00INTERRUPT:"

var writtenMarkers = []string{`\x00INTERRUPT:`, `\u0000INTERRUPT:`}

// readMarker reads a token that is a question, and reports whether it is one. q is nil if it cannot
// be read. A model can write the characters of the written forms, so they count only before the
// JSON of a state.
func readMarker(text string) (q *question, asks bool) {
	if rest, ok := strings.CutPrefix(text, marker); ok {
		if state := gjson.Parse(rest); state.IsObject() && agui.ValidText(rest) {
			return readQuestion(state), true
		}
		return nil, true
	}
	for _, form := range writtenMarkers {
		if rest, ok := strings.CutPrefix(text, form); ok {
			if state, ok := readState([]byte(rest)); ok {
				return readQuestion(state), true
			}
		}
	}
	return nil, false
}
