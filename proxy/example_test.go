package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// A LangGraph backend (ag-ui-langgraph 0.0.43 with its defaults; RAW and STEP events are left out)
// asks a question, and a client of AG-UI 1.0 answers it. The example prints what Holdpoint changes.
// The README shows this output.
func ExampleHandler() {
	const pause = `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1"}

data: {"type":"STATE_SNAPSHOT","snapshot":{"files":3}}

data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Clean up"}]}

data: {"type":"CUSTOM","name":"on_interrupt","value":"{\"message\":\"Delete 3 files?\"}","rawEvent":{"id":"95b93ade5d71718992515f7daf83c1ce","value":{"message":"Delete 3 files?"}}}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}

`
	const end = `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r2"}

data: {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}

data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Deleted."}

data: {"type":"TEXT_MESSAGE_END","messageId":"m1"}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r2"}

`
	var received []byte // the last request to the backend
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if gjson.GetBytes(received, "forwardedProps.command.resume").Exists() {
			io.WriteString(w, end)
		} else {
			io.WriteString(w, pause)
		}
	}))
	defer backend.Close()

	upstream, _ := url.Parse(backend.URL + "/agent")
	auto, _ := dialects.All().New("auto", nil)
	handler, err := proxy.New(proxy.Options{
		Upstream: upstream,
		Dialect:  auto,
		Store:    memory.New(memory.Options{Entries: 100, ReplayTTL: time.Hour, PauseRetention: time.Hour}),
		NewID:    func() string { return "Yk3v" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	holdpoint := httptest.NewServer(handler)
	defer holdpoint.Close()
	run := func(input string) string {
		res, err := http.Post(holdpoint.URL, "application/json", strings.NewReader(input))
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		stream, _ := io.ReadAll(res.Body)
		return string(stream)
	}
	// changed returns the lines of stream that are not in other. It leaves out RUN_STARTED, to
	// which Holdpoint only adds a version.
	changed := func(stream, other string) string {
		var list strings.Builder
		for line := range strings.Lines(stream) {
			if !strings.Contains(other, line) && !strings.Contains(line, "RUN_STARTED") {
				list.WriteString(line)
			}
		}
		return list.String()
	}

	const ask = `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"Clean up"}]}`
	stream := run(ask)
	fmt.Printf("The backend ends its run:\n%s", changed(pause, stream))
	fmt.Printf("\nThe client gets:\n%s", changed(stream, pause))

	const resume = `"resume":[{"interruptId":"95b93ade5d71718992515f7daf83c1ce~Yk3v","status":"resolved","payload":{"approved":true}}]`
	fmt.Printf("\nThe client's next run has the answer:\n%s\n", resume)
	stream = run(strings.Replace(ask, `"runId":"r1"`, `"runId":"r2",`+resume, 1))
	fmt.Printf("\nThe backend gets:\n\"forwardedProps\":%s\n", gjson.GetBytes(received, "forwardedProps").Raw)
	if changed(stream, end) == "" {
		fmt.Println("\nThe rest of the second run passes unchanged.")
	}

	// Output:
	// The backend ends its run:
	// data: {"type":"CUSTOM","name":"on_interrupt","value":"{\"message\":\"Delete 3 files?\"}","rawEvent":{"id":"95b93ade5d71718992515f7daf83c1ce","value":{"message":"Delete 3 files?"}}}
	// data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}
	//
	// The client gets:
	// data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"95b93ade5d71718992515f7daf83c1ce~Yk3v","reason":"langgraph:interrupt","message":"Delete 3 files?","metadata":{"langgraph":{"raw":{"message":"Delete 3 files?"}}}}]}}
	//
	// The client's next run has the answer:
	// "resume":[{"interruptId":"95b93ade5d71718992515f7daf83c1ce~Yk3v","status":"resolved","payload":{"approved":true}}]
	//
	// The backend gets:
	// "forwardedProps":{"command":{"resume":{"95b93ade5d71718992515f7daf83c1ce":{"approved":true}}}}
	//
	// The rest of the second run passes unchanged.
}
