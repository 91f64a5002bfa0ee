package proxy

import (
	"io"
	"strings"
	"testing"

	"holdpoint/translate"
)

// BenchmarkPassedFrame: what a frame costs that only passes, without the network.
func BenchmarkPassedFrame(b *testing.B) {
	frame := stream(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat("x", 135) + `"}`)
	h := &Handler{opts: Options{MaxFrameBytes: defaultFrameBytes}}
	r := &run{h: h, attempt: attempt{transcript: newTranscript(defaultTranscriptBytes, nil, nil)}}
	_, translation, err := (&fakeDialect{}).Begin(translate.Request{})
	if err != nil {
		b.Fatal(err)
	}
	r.exchange = translate.Exchange{Run: translation}
	body := newBody(r, io.NopCloser(&forever{frame: []byte(frame)}), translate.Unread)
	body.started = true
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	read := 0
	for b.Loop() {
		for read < len(frame) {
			n, err := body.Read(p)
			if err != nil {
				b.Fatal(err)
			}
			read += n
		}
		read -= len(frame)
	}
}
