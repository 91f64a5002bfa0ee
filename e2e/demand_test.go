//go:build e2e

package e2e

import (
	"flag"
	"path/filepath"
	"sync"
	"testing"
)

// onDemand lists stacks that only a few tests need. The first test that needs such a stack installs
// and starts it, so other tests need not wait for it. If all tests run, these stacks are installed
// in the background.
var onDemand = map[stack]*demand{
	{"pydanticai", "1.107.10"}: {}, {"pydanticai", "2.0.0"}: {}, {"pydanticai", "2.68.0"}: {},
	{"langgraph", "0.0.44"}: {}, {"langgraph", "0.0.45"}: {}, {"langgraph", "0.0.46"}: {}, {"langgraph", "0.0.47"}: {},
	{"langgraph-mcp", "1.4.7"}: {}, {"langgraph-mcp", "1.5.2"}: {},
	{"adk", "0.6.5"}: {}, {"adk", "0.7.1"}: {}, {"adk", "0.11.0"}: {}, {"crewai", "1.0.0"}: {}, {"agno", "2.9.0"}: {}, {"agno", "3.1.10"}: {}, {"mastra", "1.1.2"}: {}, {"langgraph-server", "1.5.1"}: {}, {"langgraph-server-py", "0.16.7"}: {}, {"ag2", "1.2.1"}: {}, {"aegra", "0.6.0"}: {}, {"tanstack", "0.58.0"}: {},
}

// A demand is the state of a stack in onDemand. Once a test has needed the stack, it has the
// running server or the error.
type demand struct {
	installed, started sync.Once
	server             *server
	err                error
}

// need returns the server of a stack in onDemand. All tests share this server, and each test uses
// threads of its own. The server writes its files into the folder of its option --ledger.
func need(t *testing.T, framework, version string) *server {
	t.Helper()
	s := stack{framework, version}
	d := onDemand[s]
	if d == nil {
		t.Fatalf("%v is not in onDemand", s)
	}
	d.install(s)
	d.started.Do(func() {
		if d.err == nil {
			d.server, d.err = startServer(s, filepath.Join(shared.dir, s.framework+"-"+s.version))
		}
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.server
}

func (d *demand) install(s stack) {
	d.installed.Do(func() {
		var python string
		if python, d.err = requireTools(); d.err != nil {
			return
		}
		unlock, err := lockCache()
		if err != nil {
			d.err = err
			return
		}
		defer unlock()
		found, err := environment(python, s)
		if d.err = err; err == nil {
			shared.python.Store(s, found)
		}
	})
}

// installAhead installs, in the background, the stacks that later tests need. If the flag -run
// selects tests, it does nothing.
func installAhead() {
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" {
		return
	}
	go installBrowser() // a test that needs it reports the error
	go func() {
		for s, d := range onDemand {
			d.install(s)
		}
		installChats()
	}()
}
