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

// A frame is the content of one frame of the response.
type frame struct {
	kind string       // one of kinds, token, or "" for a frame that is ignored
	text string       // the text of a token
	data gjson.Result // the data of an event
	at   int64        // the event's timestamp in Unix milliseconds
}

// readFrame parses a frame. If frames have names, the name of an event's frame is its type. If the
// server sends text as bare tokens, the frames have no names. A frame with the name message is
// always a token, because a model may write the text of an event into it.
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
		// empty token. So if the last line is empty, a newline was dropped.
		text = append(slices.Clone(text), '\n')
	}
	return frame{kind: token, text: string(text)}
}

// readEvent parses an A2UI event: {"type","timestamp","data"}. It returns false if data is not such
// an event.
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

// done is the token that ends a stream of tokens.
const done = "[DONE]"

// marker is the beginning of a token that is a question, as the server sends it. It begins with a
// NUL. writtenMarkers are two other forms of it: the one in the server's documentation, and the one
// that a proxy sends which writes JSON.
const marker = "\x00INTERRUPT:"

var writtenMarkers = []string{`\x00INTERRUPT:`, `\u0000INTERRUPT:`}

// readMarker parses a token that is a question, and reports whether the token is one. q is nil if
// the question cannot be read. A model can write the characters of writtenMarkers itself, so these
// count only if the JSON of a state follows.
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
