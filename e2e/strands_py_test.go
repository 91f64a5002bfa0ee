//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Tests of Strands in Python. Its servers send frames of their own form, so the dialect must be
// configured, and each version of Strands has a Holdpoint of its own. The tools delete real files,
// and the tests check that these files are gone.

// placed returns the URL path of a place, which is an agent in one kind of server. Most places are
// in a BedrockAgentCoreApp.
func placed(name string) string {
	if strings.HasPrefix(name, "fastapi/") {
		return "/" + name
	}
	return "/" + name + "/invocations"
}

// described has the places that need HOLDPOINT_STRANDS_FILE, with the content of that file.
var described = map[string]string{
	"input":        `{"body": {"input": {"prompt": "$prompt"}}}`,
	"fastapi/text": `{"text": true}`,
}

// named returns the environment of a Holdpoint in front of the place called name.
func named(t *testing.T, name string) map[string]string {
	t.Helper()
	env := map[string]string{"HOLDPOINT_DIALECT": "strands"}
	if said := described[name]; said != "" {
		env["HOLDPOINT_STRANDS_FILE"] = strandsFile(t, said)
	}
	return env
}

var strandsProxies struct {
	sync.Mutex
	all map[string]*holdpoint
}

// strandsWorld returns a world whose backend is the place called name in the server s. All places
// of a version that need no settings of their own share one Holdpoint. It is started at its first
// use.
func strandsWorld(t *testing.T, s *server, name, version string) world {
	t.Helper()
	key := s.version + described[name]
	strandsProxies.Lock()
	defer strandsProxies.Unlock()
	h := strandsProxies.all[key]
	if h == nil {
		var err error
		if h, err = startHoldpoint("strands "+s.version+" "+name, s.base(), named(t, name)); err != nil {
			t.Fatal(err)
		}
		if strandsProxies.all == nil {
			strandsProxies.all = map[string]*holdpoint{}
		}
		strandsProxies.all[key] = h
	}
	return world{b: &backend{name: s.version + " " + name, mode: name, server: s}, h: h, version: version}
}

// eachStrandsPython runs test at these places, for each version of Strands that has them. Each test
// gets one of the two client versions that read the outcome, in alternation.
func eachStrandsPython(t *testing.T, places []string, test func(t *testing.T, w world)) {
	t.Helper()
	for n, s := range shared.strandsPy {
		for m, name := range places {
			if !s.has(name) {
				continue
			}
			version := []string{newest, pinned}[(n+m)%2]
			t.Run(s.version+"/"+name+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				test(t, strandsWorld(t, s, name, version))
			})
		}
	}
}

// has reports whether the server has the agent called name. Some agents exist only in the newer
// version.
func (s *server) has(name string) bool {
	return strings.HasPrefix(name, "fastapi/") || slices.Contains(s.modes, name)
}

// clerk returns a client on a new thread, and creates the thread's folder with a.txt, b.txt and
// c.txt.
func (w world) clerk(t *testing.T) *client {
	t.Helper()
	c := newClient(t, shared.through, w.version, w.h.address+placed(w.b.mode), fresh("thread"), nil)
	w.folder(t, c.thread)
	return c
}

// folder creates the thread's folder with its files.
func (w world) folder(t *testing.T, thread string) {
	t.Helper()
	body, err := json.Marshal(folder)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, w.b.server.base()+"/files/"+thread, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("PUT /files: %s", res.Status)
	}
}

var folder = []string{"a.txt", "b.txt", "c.txt"}

// gone checks that exactly the files in want were deleted, each by one call.
func (w world) gone(t *testing.T, c *client, want ...string) {
	t.Helper()
	var left []string
	getJSON(t, w.b.server.base()+"/files/"+c.thread, &left)
	kept := slices.DeleteFunc(slices.Clone(folder), func(name string) bool { return slices.Contains(want, name) })
	if !slices.Equal(left, kept) {
		t.Errorf("there are still %v, want %v", left, kept)
	}
	if w.b.mode == "entrypoint" {
		return // its agent has another tool, which does not record calls
	}
	tried := []string{}
	for _, e := range w.b.ledger(t, c.thread).Effects {
		paths, _ := e.Args["paths"].([]any)
		for _, path := range paths {
			tried = append(tried, fmt.Sprint(path))
		}
	}
	want = append([]string{}, want...)
	slices.Sort(tried)
	slices.Sort(want)
	if !slices.Equal(tried, want) {
		t.Errorf("tools were called to delete %v, want %v", tried, want)
	}
}

// done checks that exactly the files in want were deleted, before and after the client's next
// message. It also checks that the client's history and the model's input are complete: each call
// has a result.
func (w world) done(t *testing.T, c *client, want ...string) {
	t.Helper()
	w.gone(t, c, want...)
	complete(t, c.messages, nil)
	c.goesOn(t, nil)
	w.gone(t, c, want...)
	complete(t, c.messages, nil)
	w.shown(t, c)
}
