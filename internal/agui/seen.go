package agui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// See is what is kept of a message. Its ID is the message's, see ParseMessage.
func See(m Message) SeenMessage {
	s := SeenMessage{ID: m.ID}
	if m.Role == "user" || m.ID == "" {
		h := sha256.New()
		h.Write(append([]byte(m.Role), 0))
		h.Write(Canonical(bytesOf(View(m.JSON).Get("content"))))
		s.Digest = hex.EncodeToString(h.Sum(nil)[:12])
	}
	return s
}

// NewMessages are the messages that seen lacks: by id, for a user message also by content.
func NewMessages(list []Message, seen []SeenMessage) []Message {
	known := make(map[SeenMessage]bool, len(seen))
	for _, s := range seen {
		known[s] = true
	}
	var fresh []Message
	for _, m := range list {
		if !known[See(m)] {
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// Canonical is JSON with the keys of objects sorted and white space gone, numbers as they were written. Text that is
// no JSON is returned as it is. Nobody writes into what it returns: it may be raw.
func Canonical(raw []byte) []byte {
	if isCanonicalString(raw) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return MustMarshal(v)
}

// isCanonicalString says whether raw is one string just as Marshal writes it, as most texts of a history are: all are
// looked at when a thread waits for something, and there is no need to read them and write them again.
func isCanonicalString(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	ascii := true
	for i := 1; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			return i == len(raw)-1 && (ascii || isCanonicalUTF8(raw))
		case c < ' ':
			return false
		case c == '\\':
			i++
			if i == len(raw) || bytes.IndexByte([]byte(`"\nrt`), raw[i]) < 0 {
				return false // encoding/json may write it otherwise
			}
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return false
}

// isCanonicalUTF8: encoding/json replaces what is no UTF-8, and escapes the two line separators that JavaScript has.
func isCanonicalUTF8(text []byte) bool {
	return utf8.Valid(text) && !bytes.Contains(text, []byte("\u2028")) && !bytes.Contains(text, []byte("\u2029"))
}
