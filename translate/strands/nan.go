package strands

import (
	"bytes"

	"holdpoint/internal/agui"
)

// validJSON returns the frame as JSON, or nil if it is not JSON. It replaces NaN, Infinity and
// -Infinity by strings, because Python's json.dumps writes them but JSON does not have them.
func validJSON(data []byte) []byte {
	if agui.ValidJSON(data) {
		return data
	}
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return nil
	}
	out := make([]byte, 0, len(data)+16)
	for i := 0; i < len(data); {
		switch n := agui.PythonNumber(data[i:]); {
		case data[i] == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out = append(out, data[i:end]...)
			i = end
		case n > 0:
			out = append(append(append(out, '"'), data[i:i+n]...), '"')
			i += n
		default:
			out = append(out, data[i])
			i++
		}
	}
	if !agui.ValidJSON(out) {
		return nil
	}
	return out
}
