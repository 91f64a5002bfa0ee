//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// These are the tested versions of @ag-ui/client: the newest one, the one that CopilotKit pins, and
// the last one that does not support interrupts.
const (
	newest = "1.0.0"
	pinned = "0.0.59"
	oldest = "0.0.53"
)

// The driver, the Node process that runs clients.

// A driver is one process of client/driver.mjs or browser/driver.mjs. Several goroutines may use it
// at once.
type driver struct {
	*process
	seq   atomic.Int64
	mu    sync.Mutex
	wait  map[int64]chan json.RawMessage
	odd   []string
	broke []string // addresses, see broken
}

func startDriver(name string) (*driver, error) {
	d, first, err := drive(name, "client")
	if err != nil {
		return nil, err
	}
	var ready struct{ Versions []string }
	if err := json.Unmarshal(first, &ready); err != nil || len(ready.Versions) != 3 {
		d.kill()
		return nil, fmt.Errorf("%s said %q", d.name, first)
	}
	return d, nil
}

// drive starts the driver.mjs of a folder. It returns the driver and the first line that the
// process prints.
func drive(name, folder string, args ...string) (d *driver, first []byte, err error) {
	cmd := exec.Command("node", append([]string{"driver.mjs"}, args...)...)
	cmd.Dir = folder
	p, err := startProcess("driver "+name, cmd)
	if err != nil {
		return nil, nil, err
	}
	if first, err = p.out.ReadBytes('\n'); err != nil {
		p.kill()
		return nil, nil, fmt.Errorf("%s did not start: %w\n%s", p.name, err, p.log.tail(20))
	}
	d = &driver{process: p, wait: map[int64]chan json.RawMessage{}}
	go d.read()
	return d, first, nil
}

func (d *driver) read() {
	for {
		line, err := d.out.ReadBytes('\n')
		if err != nil {
			d.mu.Lock()
			for seq, c := range d.wait {
				delete(d.wait, seq)
				close(c)
			}
			d.mu.Unlock()
			return
		}
		var head struct {
			Seq          int64
			Stray, Broke string
		}
		if json.Unmarshal(line, &head) != nil {
			head.Stray = "not JSON: " + string(line)
		}
		d.mu.Lock()
		if head.Stray != "" {
			d.odd = append(d.odd, head.Stray)
		}
		if head.Broke != "" {
			d.broke = append(d.broke, head.Broke)
		}
		c := d.wait[head.Seq]
		delete(d.wait, head.Seq)
		d.mu.Unlock()
		if c != nil {
			c <- line
		}
	}
}

// broken returns the addresses whose response was cut off before it reached a client of the driver.
func (d *driver) broken() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.broke)
}

func (d *driver) strayed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.odd)
}

func (d *driver) call(t *testing.T, op string, args map[string]any, into any) {
	t.Helper()
	seq, c := d.seq.Add(1), make(chan json.RawMessage, 1)
	d.mu.Lock()
	d.wait[seq] = c
	command := map[string]any{"seq": seq, "op": op}
	for k, v := range args {
		command[k] = v
	}
	line, err := json.Marshal(command)
	if err == nil {
		_, err = d.stdin.Write(append(line, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		t.Fatalf("driver %s: %v", op, err)
	}
	answer, ok := <-c
	if !ok {
		t.Fatalf("driver %s: the driver ended\n%s", op, d.log.tail(20))
	}
	var failed struct{ Failed *thrown }
	if err := json.Unmarshal(answer, &failed); err != nil {
		t.Fatal(err)
	}
	if failed.Failed != nil {
		t.Fatalf("driver %s: %s", op, failed.Failed.Message)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("driver %s: %v", op, err)
	}
}

// What a run of a client results in.

type thrown struct {
	Name, Message string
	Status        *int
}

// An event is an event or a message of AG-UI, decoded from JSON with all its members.
type event map[string]any

func (e event) kind() string          { return e.str("type") }
func (e event) str(key string) string { s, _ := e[key].(string); return s }

// interrupts returns the interrupts in the outcome of a RUN_FINISHED. It returns nil if the event
// has no interrupt outcome.
func (e event) interrupts() []event {
	outcome, _ := e["outcome"].(map[string]any)
	if outcome["type"] != "interrupt" {
		return nil
	}
	list, _ := outcome["interrupts"].([]any)
	found := make([]event, 0, len(list))
	for _, one := range list {
		found = append(found, event(one.(map[string]any)))
	}
	return found
}

type wire struct {
	Status      int
	ContentType string
	End         string // "clean", or the error that broke the stream
	Text        string
	Events      []event
}

// A report is what the driver reports about one run of a client: requests, responses, events, and
// the client's state after it.
type report struct {
	Sent      []json.RawMessage
	Wire      []wire
	Delivered []event
	Error     *thrown
	Warnings  []string
	Pending   []event
	Messages  []event
	State     any
}

// answer returns the response of the run. If the run sent more than one request, or none, the test
// fails.
func (r report) answer(t *testing.T) wire {
	t.Helper()
	if len(r.Wire) != 1 {
		t.Fatalf("%d requests instead of one (error: %+v)", len(r.Wire), r.Error)
	}
	return r.Wire[0]
}

// outcome returns the interrupts in the stream's RUN_FINISHED. More events may follow RUN_FINISHED.
func (w wire) outcome() []event {
	for _, e := range w.Events {
		if e.kind() == "RUN_FINISHED" {
			if found := e.interrupts(); found != nil {
				return found
			}
		}
	}
	return nil
}

// code returns the code of the RUN_ERROR in the stream. It returns "(without code)" if the
// RUN_ERROR has no code, and "" if there is no RUN_ERROR.
func (w wire) code() string {
	for _, e := range w.Events {
		if e.kind() == "RUN_ERROR" {
			if code := e.str("code"); code != "" {
				return code
			}
			return "(without code)"
		}
	}
	return ""
}

// mayHaveRun reports whether the stream has a RUN_FINISHED whose refusal has the member mayHaveRun
// with the value true. Holdpoint says by it that an approved action may have run.
func (w wire) mayHaveRun() bool {
	for _, e := range w.of("RUN_FINISHED") {
		metadata, _ := e["metadata"].(map[string]any)
		own, _ := metadata["holdpoint"].(map[string]any)
		if why, _ := own["refusal"].(map[string]any); why["mayHaveRun"] == true {
			return true
		}
	}
	return false
}

func (w wire) kinds() []string {
	var kinds []string
	for _, e := range w.Events {
		if k := e.kind(); k != "RAW" {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (w wire) of(kind string) []event {
	var found []event
	for _, e := range w.Events {
		if e.kind() == kind {
			found = append(found, e)
		}
	}
	return found
}

// customs returns the CUSTOM events with the name on_interrupt.
func (w wire) customs() []event {
	return slices.DeleteFunc(w.of("CUSTOM"), func(e event) bool { return e.str("name") != "on_interrupt" })
}

// A client, which uses one thread.

var counter atomic.Int64

func fresh(prefix string) string { return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), counter.Add(1)) }

// A client is an instance of @ag-ui/client that uses one thread. checkStream checks each stream
// that the client gets through Holdpoint.
type client struct {
	d       *driver
	name    string
	version string
	url     string
	thread  string
	proxied bool
	nulls   bool // its backend writes null for missing values, which Holdpoint passes on and the newest client warns about
	// These are the client's state after its last run.
	pending  []event // the interrupts of the last RUN_FINISHED, also for versions without a list of their own
	asked    bool    // whether the last run ended with interrupts
	customs  []event // the CUSTOM on_interrupt events of the last run
	messages []event
}

func newClient(t *testing.T, d *driver, version, url, thread string, messages []event) *client {
	t.Helper()
	c := &client{d: d, name: fresh("client"), version: version, url: url, thread: thread, messages: messages, proxied: d == shared.through}
	if messages == nil {
		messages = []event{}
	}
	d.call(t, "new", map[string]any{"client": c.name, "version": version, "url": url, "threadId": thread, "messages": messages}, &struct{}{})
	return c
}

// another returns a new client for the same thread. It has the same messages but no open questions,
// as after a reload or in another tab.
func (c *client) another(t *testing.T) *client {
	t.Helper()
	n := newClient(t, c.d, c.version, c.url, c.thread, c.messages)
	n.customs = c.customs
	return n
}

// A step describes one run of a client.
type step struct {
	say     string         // a user message, added before the run
	brings  []event        // messages, added before say
	resume  []entry        // the resume of the request, sent by the client itself from 0.0.54 on, else by the driver
	command any            // value of forwardedProps.command.resume
	empty   bool           // the client first clears its list of open questions, so that it does not refuse the run itself
	runID   string         // "": the client chooses
	patch   map[string]any // members that are set in the request's body
	abortOn string         // the client disconnects after this event
	loose   bool           // the stream is not checked, because the test is about the backend's own errors
}

// An entry is one entry of the array resume.
type entry struct {
	ID       string `json:"interruptId"`
	Status   string `json:"status"`
	Payload  any    `json:"payload,omitempty"`
	Metadata any    `json:"metadata,omitempty"`
}

func resolved(id string, payload any) entry {
	return entry{ID: id, Status: "resolved", Payload: payload}
}
func cancelled(id string) entry { return entry{ID: id, Status: "cancelled"} }

// none stands for the value null in forwardedProps.command.resume. A nil in step.command means that
// the request has no command.
type none struct{}

func (c *client) run(t *testing.T, s step) report {
	t.Helper()
	params := map[string]any{}
	if s.runID != "" {
		params["runId"] = s.runID
	}
	args := map[string]any{"client": c.name, "params": params, "empty": s.empty}
	add := slices.Clone(s.brings)
	if s.say != "" {
		add = append(add, event{"id": fresh("user"), "role": "user", "content": s.say})
	}
	if len(add) > 0 {
		args["add"] = add
	}
	patch := map[string]any{}
	if s.resume != nil {
		if c.version == oldest {
			patch["resume"] = s.resume
		} else {
			params["resume"] = s.resume
		}
	}
	if s.command != nil {
		value := s.command
		if _, ok := value.(none); ok {
			value = nil
		}
		command := map[string]any{"resume": value}
		if len(c.customs) > 0 {
			command["interruptEvent"] = c.customs[len(c.customs)-1]["value"]
		}
		params["forwardedProps"] = map[string]any{"command": command}
	}
	for k, v := range s.patch {
		patch[k] = v
	}
	if len(patch) > 0 {
		args["patch"] = patch
	}
	if s.abortOn != "" {
		args["abortOn"] = s.abortOn
	}
	var r report
	c.d.call(t, "run", args, &r)
	c.messages = r.Messages
	if len(r.Wire) == 1 {
		w := r.Wire[0]
		c.customs, c.asked = w.customs(), w.outcome() != nil
		for _, e := range w.Events {
			if e.kind() == "RUN_FINISHED" {
				c.pending = e.interrupts()
			}
		}
		if c.proxied && s.abortOn == "" && !s.loose {
			checkStream(t, r, c.nulls)
		}
	}
	if t.Failed() && testing.Verbose() {
		t.Logf("request %s\nanswer %v", r.Sent, summary(r))
	}
	return r
}

// start plays the step s in the background. The channel receives the report of its run. If the run
// made the test fail, the report is empty.
func (c *client) start(t *testing.T, s step) <-chan report {
	done := make(chan report, 1)
	go func() {
		defer close(done)
		done <- c.run(t, s)
	}()
	return done
}

func summary(r report) []string {
	var all []string
	for _, w := range r.Wire {
		all = append(all, fmt.Sprintf("%d %s %s: %v", w.Status, w.ContentType, w.End, w.kinds()))
		for _, e := range w.Events {
			if k := e.kind(); strings.HasPrefix(k, "RUN_") || k == "CUSTOM" {
				b, _ := json.Marshal(e)
				all = append(all, string(b))
			}
		}
	}
	return append(all, fmt.Sprintf("error %+v, pending %d, warnings %v", r.Error, len(r.Pending), r.Warnings))
}

// post sends a body byte for byte, without the client library.
func (c *client) post(t *testing.T, body []byte) wire {
	t.Helper()
	var w wire
	c.d.call(t, "raw", map[string]any{"url": c.url, "body": string(body), "headers": map[string]string{
		"content-type": "application/json", "accept": "text/event-stream"}}, &w)
	return w
}

// answers returns a resume in which every open question gets the same answer.
func (c *client) answers(answer func(id string) entry) []entry {
	all := make([]entry, 0, len(c.pending))
	for _, i := range c.pending {
		all = append(all, answer(i.str("id")))
	}
	return all
}

// Rules that every stream must keep.

// deprecatedNull matches the warning of the newest client that a member of an event is null.
var deprecatedNull = regexp.MustCompile(`Converting deprecated \w+\.(result|rawEvent|parentMessageId): null to an absent field`)

var publishedID = regexp.MustCompile(`^(.*)~[A-Za-z0-9_-]{8,}$`)

// checkStream checks the stream of one run through Holdpoint. The stream must follow what AG-UI
// demands of a server, in its page on interrupts and in its specification. It must not contain
// anything that makes known clients fail. If nulls is true, the client may warn about null.
func checkStream(t *testing.T, r report, nulls bool) {
	t.Helper()
	if r.Error != nil {
		t.Errorf("the client threw %s: %s", r.Error.Name, r.Error.Message)
	}
	for _, warning := range r.Warnings {
		if !strings.HasPrefix(warning, "debug:") && !(nulls && deprecatedNull.MatchString(warning)) {
			t.Errorf("the client complained: %s", warning)
		}
	}
	w := r.Wire[0]
	if w.Status != 200 || !strings.HasPrefix(w.ContentType, "text/event-stream") || w.End != "clean" {
		t.Errorf("answer %d %q, ended %s; want 200 text/event-stream, clean", w.Status, w.ContentType, w.End)
		return
	}
	if strings.Contains(w.Text, "\r") || !strings.HasSuffix(w.Text, "\n\n") {
		t.Error("the stream has CR, or an unfinished last frame")
	}
	var asked struct {
		ThreadID string
		RunID    string
		Messages []event
		State    map[string]any
		Resume   []any
	}
	if err := json.Unmarshal(r.Sent[0], &asked); err != nil {
		t.Fatal(err)
	}
	if len(w.Events) == 0 || w.Events[0].kind() != "RUN_STARTED" {
		t.Errorf("the stream begins with %v", w.kinds())
		return
	}
	open := map[string]string{}
	finished, failed, paused := 0, 0, false
	var snapshot []any
	stateSeen := false
	for i, e := range w.Events {
		kind := e.kind()
		if finished > 0 && !(kind == "RUN_ERROR" && failed == 0 && i == len(w.Events)-1) || failed > 0 {
			t.Errorf("%s after the end of the run: %v", kind, w.kinds())
			break
		}
		switch kind {
		case "RUN_STARTED", "RUN_FINISHED":
			if e.str("threadId") != asked.ThreadID || e.str("runId") != asked.RunID {
				t.Errorf("%s names run %q of thread %q, asked was %q of %q", kind, e.str("runId"), e.str("threadId"), asked.RunID, asked.ThreadID)
			}
			if kind == "RUN_FINISHED" {
				finished++
				for what := range open {
					t.Errorf("%s is open at RUN_FINISHED", what)
				}
				if interrupts := e.interrupts(); interrupts != nil {
					paused = true
					checkInterrupts(t, interrupts)
				}
			}
		case "RUN_ERROR":
			failed++
			if e.str("message") == "" {
				t.Errorf("RUN_ERROR without message: %v", e)
			}
		case "TEXT_MESSAGE_START", "TEXT_MESSAGE_END":
			toggle(t, open, "text "+e.str("messageId"), kind == "TEXT_MESSAGE_START")
		case "TOOL_CALL_START", "TOOL_CALL_END":
			toggle(t, open, "call "+e.str("toolCallId"), kind == "TOOL_CALL_START")
		case "STEP_STARTED", "STEP_FINISHED":
			toggle(t, open, "step "+e.str("stepName"), kind == "STEP_STARTED")
		case "MESSAGES_SNAPSHOT":
			snapshot, _ = e["messages"].([]any)
		case "STATE_SNAPSHOT":
			stateSeen = true
		}
	}
	if finished+failed == 0 {
		t.Errorf("no terminal event: %v", w.kinds())
	}
	if finished == 0 && len(asked.Resume) > 0 {
		t.Errorf("a resume that ends in a lone RUN_ERROR: %v", w.kinds())
	}
	// A refusal needs no snapshots, because the client has missed nothing. Any other run that ends
	// with a question must send them.
	if paused && failed == 0 {
		if snapshot == nil || !stateSeen && len(asked.State) > 0 {
			t.Errorf("a pause without snapshots: %v", w.kinds())
		}
		for _, sent := range asked.Messages {
			if sent.str("role") == "reasoning" {
				continue // a client keeps its reasoning messages, whatever a snapshot contains
			}
			if !slices.ContainsFunc(snapshot, func(m any) bool { return m.(map[string]any)["id"] == sent["id"] }) {
				t.Errorf("the snapshot beside the pause lost message %v", sent["id"])
			}
		}
	}
}

func toggle(t *testing.T, open map[string]string, what string, start bool) {
	t.Helper()
	_, is := open[what]
	if is == start {
		t.Errorf("%s begins or ends twice", what)
	}
	if start {
		open[what] = what
	} else {
		delete(open, what)
	}
}

// checkInterrupts checks the interrupts of a stream. Each id must be one that Holdpoint made, and
// must not be repeated. Each interrupt must have a reason. No optional member may be null.
func checkInterrupts(t *testing.T, interrupts []event) {
	t.Helper()
	if len(interrupts) == 0 {
		t.Error("an interrupt outcome without interrupts")
	}
	seen := map[string]bool{}
	for _, i := range interrupts {
		id := i.str("id")
		if !publishedID.MatchString(id) {
			t.Errorf("interrupt id %q is not <native id>~<random>", id)
		}
		if seen[id] {
			t.Errorf("interrupt id %q twice", id)
		}
		seen[id] = true
		if i.str("reason") == "" {
			t.Errorf("interrupt %q has no reason", id)
		}
		for key, value := range i {
			if value == nil {
				t.Errorf("interrupt %q has %s: null", id, key)
			}
		}
	}
}
