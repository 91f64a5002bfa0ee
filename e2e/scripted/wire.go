package scripted

import (
	"net/http"

	"holdpoint/e2e/netjson"
)

// An object is a JSON object whose members keep their order.
type object = netjson.Object

// obj returns an object from alternating keys and values.
func obj(list ...any) object { return netjson.New(list...) }

// text returns v as compact JSON text. It panics if v cannot be marshalled.
func text(v any) []byte { return netjson.Text(v) }

// A stream is the response of one run. Its HTTP header is sent with the first event.
type stream struct {
	w      http.ResponseWriter
	encode func(any) []byte
	began  bool
}

func (s *stream) send(event object) {
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-cache,no-store")
	}
	s.w.Write(append(append([]byte("data: "), s.encode(event)...), "\n\n"...))
	s.w.(http.Flusher).Flush()
}
