//go:build unix

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/servers"
)

// keep is the flag -keep. With it, TestKeepStores writes the stores of a release: go test
// ./cmd/holdpoint -run TestKeepStores -keep v0.1.0. testdata/stores/README.md says when to do that.
var keep = flag.String("keep", "", "write the stores of this release into testdata/stores")

// sceneKey is the key that seals the records of the store "sealed".
const sceneKey = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// A sceneAgent asks one question in each thread, and a second one in the thread "again". It counts
// the answers of each thread. If a thread is in the map away, the agent refuses its answers. If a
// thread is in the map hang, the agent never replies to its answers.
type sceneAgent struct {
	mu      sync.Mutex
	answers map[string]int
	away    map[string]bool
	hang    map[string]bool
	refused chan string
	reached chan string
}

func newSceneAgent() *sceneAgent {
	return &sceneAgent{answers: map[string]int{}, away: map[string]bool{}, hang: map[string]bool{}, refused: make(chan string, 100), reached: make(chan string, 100)}
}

func (a *sceneAgent) count(thread string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers[thread]
}

func (a *sceneAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	thread, resumes := gjson.GetBytes(body, "threadId").Str, gjson.GetBytes(body, "resume.#").Int() > 0
	a.mu.Lock()
	if resumes && a.away[thread] {
		a.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		a.refused <- thread
		return
	}
	if resumes {
		a.answers[thread]++
	}
	n, hangs := a.answers[thread], a.hang[thread]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%q,\"runId\":\"r\"}\n\n", thread)
	if resumes && hangs {
		http.NewResponseController(w).Flush()
		a.reached <- thread
		<-r.Context().Done()
		return
	}
	if resumes && !(thread == "again" && n == 1) {
		fmt.Fprintf(w, "data: {\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"a%d\",\"role\":\"assistant\",\"delta\":\"Done with %s.\"}\n\n", n, thread)
		fmt.Fprintf(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":\"r\",\"outcome\":{\"type\":\"success\"}}\n\n", thread)
		return
	}
	fmt.Fprintf(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":\"r\",\"outcome\":{\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"i%d\",\"reason\":\"input_required\",\"message\":\"Go on with %s?\"}]}}\n\n", thread, n, thread)
}

// sceneEnviron returns the variables of the processes that write and read the stores of a release.
// Records are kept for 30 years, and decisions of the desk may be sent for as long, so that the
// stores stay usable.
func sceneEnviron(store, upstream, audit string, more ...string) []string {
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + upstream, "HOLDPOINT_NAME=scene", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE=" + store, "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_PAUSE_RETENTION=262800h", "HOLDPOINT_REPLAY_TTL=262800h", "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN=" + deskToken,
		"HOLDPOINT_DESK_CARRY_WITHIN=262800h", "HOLDPOINT_AUDIT=file://" + audit,
	}
	return append(environ, more...)
}

// A keptStore describes one kind of store for the releases: the name of its file in testdata, and
// functions that read and write the file's content.
type keptStore struct {
	file string
	more []string // additional variables
	// load starts a store. The content of the store is the parameter kept, or nothing if kept is
	// nil. load returns the address of the store.
	load func(t *testing.T, kept []byte) (address string)
	// save returns the content of the store that load started last, in the form for testdata.
	save func(t *testing.T) []byte
}

func keptStores() map[string]*keptStore {
	file := func(name string, more ...string) *keptStore {
		var path string
		return &keptStore{
			file: name, more: more,
			load: func(t *testing.T, kept []byte) string {
				path = filepath.Join(t.TempDir(), "state.db")
				if kept != nil {
					if err := os.WriteFile(path, kept, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return "bolt://" + path
			},
			save: func(t *testing.T) []byte {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				return text
			},
		}
	}
	var redis *servers.Redis
	var postgres *servers.Postgres
	return map[string]*keptStore{
		"bolt":   file("state.db.gz"),
		"sealed": file("sealed.db.gz", "HOLDPOINT_STORE_KEYS="+sceneKey),
		"redis": {
			file: "redis.jsonl.gz",
			load: func(t *testing.T, kept []byte) string {
				redis = servers.StartRedis(t, servers.RedisOptions{})
				for line := range bytes.Lines(kept) {
					var args []string
					var raw [][]byte
					if err := json.Unmarshal(line, &raw); err != nil {
						t.Fatal(err)
					}
					for _, b := range raw {
						args = append(args, string(b))
					}
					redis.Do(args...)
				}
				return redis.URL()
			},
			save: func(t *testing.T) []byte { return redisCommands(t, redis) },
		},
		"postgres": {
			file: "postgres.sql.gz",
			load: func(t *testing.T, kept []byte) string {
				postgres = servers.StartPostgres(t, servers.PostgresOptions{})
				if kept != nil {
					postgres.ExecIn(servers.PostgresDatabase, "SET ROLE "+servers.PostgresUser+";\n"+string(kept))
				}
				return postgres.URL()
			},
			save: func(t *testing.T) []byte {
				schema, stderr, code := holdpoint(t, nil, "store", "schema")
				if code != 0 {
					t.Fatal(stderr)
				}
				for _, table := range []string{"holdpoint_threads", "holdpoint_snapshots", "holdpoint_unsent"} {
					schema += postgres.ExecIn(servers.PostgresDatabase, fmt.Sprintf(
						"SELECT 'INSERT INTO %[1]s SELECT * FROM jsonb_populate_record(NULL::%[1]s, ' || quote_literal(to_jsonb(t)) || ');' FROM %[1]s t ORDER BY key", table)) + "\n"
				}
				return []byte(schema)
			},
		},
	}
}

// redisCommands returns the commands that restore all keys of the server. Each line is one command:
// a JSON array of its arguments in base64.
func redisCommands(t *testing.T, server *servers.Redis) []byte {
	t.Helper()
	var out bytes.Buffer
	command := func(args ...string) {
		raw := make([][]byte, len(args))
		for i, a := range args {
			raw[i] = []byte(a)
		}
		line, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	texts := func(args ...string) (list []string) {
		for _, v := range server.Do(args...).([]any) {
			list = append(list, v.(string))
		}
		return list
	}
	keys := texts("KEYS", "*")
	sort.Strings(keys)
	for _, key := range keys {
		switch kind := server.Do("TYPE", key).(string); kind {
		case "hash":
			command(append([]string{"HSET", key}, texts("HGETALL", key)...)...)
		case "zset":
			list := texts("ZRANGE", key, "0", "-1", "WITHSCORES")
			for i := 0; i < len(list); i += 2 {
				list[i], list[i+1] = list[i+1], list[i]
			}
			command(append([]string{"ZADD", key}, list...)...)
		case "string":
			command("SET", key, server.Do("GET", key).(string))
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
		if at := server.Do("PEXPIRETIME", key).(int64); at > 0 {
			command("PEXPIREAT", key, fmt.Sprint(at))
		}
	}
	return out.Bytes()
}

// beginScene starts a Holdpoint with a desk. It returns the process, the address for runs, and a
// caller of the desk.
func beginScene(t *testing.T, environ []string) (p *process, addr string, c caller) {
	t.Helper()
	p = startAs(t, environ...)
	c = caller{T: t, token: deskToken, at: p.wait(t, "desk")["desk_addr"].(string)}
	return p, p.wait(t, "listening")["addr"].(string), c
}

// TestKeepStores writes the stores of a release if -keep is set. Each store contains a thread in
// each state that a pause can have.
func TestKeepStores(t *testing.T) {
	if *keep == "" {
		t.Skip("it writes the stores of a release: -keep v0.1.0")
	}
	dir := filepath.Join("testdata", "stores", *keep)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, engine := range keptStores() {
		t.Run(name, func(t *testing.T) {
			agent := newSceneAgent()
			upstream := httptest.NewServer(agent)
			defer upstream.Close()
			agent.away["decided"], agent.hang["doubt"] = true, true
			audit := filepath.Join(t.TempDir(), "audit.jsonl")
			p, addr, c := beginScene(t, sceneEnviron(engine.load(t, nil), upstream.URL, audit, engine.more...))
			ids := map[string]string{}
			for _, thread := range []string{"open", "answered", "again", "cancelled", "moved", "decided", "doubt"} {
				id := askedID.FindStringSubmatch(post(t, addr, "/", thread, ""))
				if id == nil {
					t.Fatalf("%s: no question", thread)
				}
				ids[thread] = id[1]
			}
			post(t, addr, "/", "answered", yesTo(ids["answered"]))
			post(t, addr, "/", "cancelled", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"cancelled"}]`, ids["cancelled"]))
			ids["again, 1"] = ids["again"]
			ids["again"] = askedID.FindStringSubmatch(post(t, addr, "/", "again", yesTo(ids["again"])))[1]
			approval := c.ok("GET", "/v1/approvals?thread=decided").Get("approvals.0")
			q := approval.Get("questions.0")
			if status, got := c.send("POST", "/v1/approvals/"+approval.Get("id").Str+"/questions/"+q.Get("id").Str,
				fmt.Sprintf(`{"decision":"answer","payload":true,"digest":%q}`, q.Get("digest").Str)); status != http.StatusOK {
				t.Fatalf("decided: %d %s", status, got)
			}
			// Holdpoint sends the decision by itself only if it has keys, as in the store "sealed".
			// The test waits until the agent has refused the decision and Holdpoint has released
			// the claim.
			if name == "sealed" {
				<-agent.refused
				for c.ok("GET", "/v1/approvals/"+approval.Get("id").Str).Get("state").Str != "decided" {
					time.Sleep(20 * time.Millisecond)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/", strings.NewReader(fmt.Sprintf(
					`{"threadId":"doubt","runId":"r2","messages":[{"id":"m1","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, yesTo(ids["doubt"]))))
				req.Header.Set("Content-Type", "application/json")
				if res, err := http.DefaultClient.Do(req); err == nil {
					res.Body.Close()
				}
			}()
			<-agent.reached
			p.Process.Kill()
			p.exit()
			text, err := json.MarshalIndent(ids, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			events, err := os.ReadFile(audit)
			if err != nil {
				t.Fatal(err)
			}
			for file, body := range map[string][]byte{engine.file: packed(t, engine.save(t)), name + ".ids.json": append(text, '\n'), name + ".audit.jsonl": events} {
				if err := os.WriteFile(filepath.Join(dir, file), body, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func packed(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestStoreOfARelease: this build must read the stores of each release, which have a thread in each
// state. It must accept the answer to an open question, even in another thread. A repeated answer
// must get the recorded end of its run. The decision of the desk must be sent to the agent. An
// answer whose result is in doubt must stay in doubt.
func TestStoreOfARelease(t *testing.T) {
	releases, err := filepath.Glob(filepath.Join("testdata", "stores", "v*"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("no store is kept: %v", err)
	}
	for _, dir := range releases {
		for name, engine := range keptStores() {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				t.Parallel()
				readsScene(t, dir, name, engine)
			})
		}
	}
}

func readsScene(t *testing.T, dir, name string, engine *keptStore) {
	file, err := os.Open(filepath.Join(dir, engine.file))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	var ids map[string]string
	text, err := os.ReadFile(filepath.Join(dir, name+".ids.json"))
	if err == nil {
		err = json.Unmarshal(text, &ids)
	}
	if err != nil {
		t.Fatal(err)
	}
	// This process continues the audit file that the release has written.
	events, err := os.ReadFile(filepath.Join(dir, name+".audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(audit, events, 0o600); err != nil {
		t.Fatal(err)
	}
	agent := newSceneAgent()
	agent.answers["again"] = 1 // the first answer, which the agent got when the store was written
	upstream := httptest.NewServer(agent)
	defer upstream.Close()
	environ := sceneEnviron(engine.load(t, kept), upstream.URL, audit, engine.more...)
	p, addr, c := beginScene(t, environ)

	has := func(what, got string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", what, want, got)
			}
		}
	}
	if name != "sealed" { // without keys, only the chat's next request sends the decision
		post(t, addr, "/", "decided", "")
	}
	for n := 0; agent.count("decided") == 0; n++ {
		if n == 3000 { // a minute
			t.Fatal("what the desk has decided was not carried")
		}
		time.Sleep(20 * time.Millisecond)
	}
	var waiting []string
	for _, a := range c.ok("GET", "/v1/approvals?state=waiting").Get("approvals").Array() {
		waiting = append(waiting, a.Get("thread").Str)
	}
	slices.Sort(waiting)
	if got := strings.Join(waiting, " "); got != "again moved open" {
		t.Errorf("the desk says that these wait: %s", got)
	}
	has("the same run", post(t, addr, "/", "open", ""), `"outcome":{"type":"interrupt"`, ids["open"])
	has("the answer", post(t, addr, "/", "open", yesTo(ids["open"])), "Done with open.", `"outcome":{"type":"success"}`)
	has("the answer again", post(t, addr, "/", "open", yesTo(ids["open"])), `"outcome":{"type":"success"}`)
	has("an answer of the release's own day, again", post(t, addr, "/", "answered", yesTo(ids["answered"])), "Done with answered.", `"outcome":{"type":"success"}`)
	has("another answer to it", post(t, addr, "/", "answered", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"cancelled"}]`, ids["answered"])), `RUN_ERROR`)
	has("a cancel again", post(t, addr, "/", "cancelled", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"cancelled"}]`, ids["cancelled"])), `RUN_FINISHED`)
	has("a second question", post(t, addr, "/", "again", yesTo(ids["again"])), "Done with again.")
	has("the answer on another thread", post(t, addr, "/", "elsewhere", yesTo(ids["moved"])), "Done with moved.")
	has("an answer in doubt", post(t, addr, "/", "doubt", yesTo(ids["doubt"])), `"RESUME_IN_DOUBT"`)
	for thread, want := range map[string]int{"open": 1, "answered": 0, "cancelled": 0, "again": 2, "moved": 1, "decided": 1, "doubt": 0} {
		if n := agent.count(thread); n != want {
			t.Errorf("the agent got %d answers of %s, want %d", n, thread, want)
		}
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if stdout, stderr, code := holdpoint(t, nil, "audit", "verify", audit); code != 0 {
		t.Errorf("the audit: exit %d\n%s%s", code, stdout, stderr)
	}
	if grown, err := os.ReadFile(audit); err != nil || !bytes.HasPrefix(grown, events) || len(grown) == len(events) {
		t.Errorf("the audit did not go on: %v", err)
	}
}
