package proxy_test

import (
	"bytes"
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

// A LangGraph backend (ag-ui-langgraph 0.0.43 at its defaults, RAW and STEP events left out) stops to ask, Holdpoint stands
// before it, and a client of AG-UI 1.0 reads and answers. The README shows this output.
func ExampleHandler() {
	const pause = `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1"}

data: {"type":"STATE_SNAPSHOT","snapshot":{"files":3}}

data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Clean up"}]}

data: {"type":"CUSTOM","rawEvent":{"id":"95b93ade5d71718992515f7daf83c1ce","value":{"message":"Delete 3 files?"}},"name":"on_interrupt","value":"{\"message\":\"Delete 3 files?\"}"}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}

`
	const end = `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r2"}

data: {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}

data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Deleted."}

data: {"type":"TEXT_MESSAGE_END","messageId":"m1"}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r2"}

`
	var got []byte // what the backend was asked last
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if gjson.GetBytes(got, "forwardedProps.command.resume").Exists() {
			io.WriteString(w, end)
		} else {
			io.WriteString(w, pause)
		}
	}))
	defer backend.Close()

	upstream, _ := url.Parse(backend.URL + "/agent")
	auto, _ := dialects.New("auto", dialects.Options{})
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

	fmt.Printf("The backend sends:\n\n%s", pause)
	fmt.Printf("The client gets:\n\n%s", run(`{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"Clean up"}]}`))
	const resume = `{"threadId":"t1","runId":"r2","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"Clean up"}],"resume":[{"interruptId":"95b93ade5d71718992515f7daf83c1ce~Yk3v","status":"resolved","payload":{"approved":true}}]}`
	fmt.Printf("The client answers:\n\n%s\n\n", resume)
	stream := run(resume)
	fmt.Printf("The backend gets:\n\n%s\n\n", bytes.TrimSpace(got))
	fmt.Printf("The client gets:\n\n%s", stream)

	// Output:
	// The backend sends:
	//
	// data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1"}
	//
	// data: {"type":"STATE_SNAPSHOT","snapshot":{"files":3}}
	//
	// data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Clean up"}]}
	//
	// data: {"type":"CUSTOM","rawEvent":{"id":"95b93ade5d71718992515f7daf83c1ce","value":{"message":"Delete 3 files?"}},"name":"on_interrupt","value":"{\"message\":\"Delete 3 files?\"}"}
	//
	// data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}
	//
	// The client gets:
	//
	// data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1","protocolVersion":"1.0"}
	//
	// data: {"type":"STATE_SNAPSHOT","snapshot":{"files":3}}
	//
	// data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Clean up"}]}
	//
	// data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"95b93ade5d71718992515f7daf83c1ce~Yk3v","reason":"langgraph:interrupt","message":"Delete 3 files?","metadata":{"langgraph":{"raw":{"message":"Delete 3 files?"}}}}]}}
	//
	// The client answers:
	//
	// {"threadId":"t1","runId":"r2","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"Clean up"}],"resume":[{"interruptId":"95b93ade5d71718992515f7daf83c1ce~Yk3v","status":"resolved","payload":{"approved":true}}]}
	//
	// The backend gets:
	//
	// {"threadId":"t1","runId":"r2","messages":[{"id":"u1","role":"user","content":"Clean up"}],"forwardedProps":{"command":{"resume":{"95b93ade5d71718992515f7daf83c1ce":{"approved":true}}}}}
	//
	// The client gets:
	//
	// data: {"type":"RUN_STARTED","threadId":"t1","runId":"r2","protocolVersion":"1.0"}
	//
	// data: {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
	//
	// data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Deleted."}
	//
	// data: {"type":"TEXT_MESSAGE_END","messageId":"m1"}
	//
	// data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r2"}
}
