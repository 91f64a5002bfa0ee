package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/translate/dialects"
)

const upstream = "HOLDPOINT_UPSTREAM=http://localhost:8000/agent"

func TestDefaults(t *testing.T) {
	c, err := load([]string{upstream}, dialects.All())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range c.settings() {
		got[strings.TrimPrefix(s.name, prefix)] = s.value
	}
	want := map[string]string{
		"UPSTREAM": "http://localhost:8000/agent", "LISTEN": ":7080", "DIALECT": "auto", "CLIENT": "auto",
		"STORE": "memory://", "STORE_ENTRIES": "100000", "INTERRUPT_TTL": "0", "PAUSE_RETENTION": "720h",
		"REPLAY_TTL": "24h", "MAX_REQUEST_BYTES": "16MiB", "MAX_FRAME_BYTES": "32MiB", "TRANSCRIPT_BYTES": "4MiB",
		"STREAM_IDLE_TIMEOUT": "1h", "HEARTBEAT": "15s", "UPSTREAM_HEADERS_FILE": "", "PRESERVE_HOST": "false",
		"LOG_LEVEL": "info", "LOG_FORMAT": "auto", "CANCEL": "", "TOOLS": "",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q by default, want %q", name, got[name], value)
		}
	}
	if c.runs.MaxFrameBytes != 32<<20 || c.agent.Client != proxy.ClientAuto || c.runs.StreamIdleTimeout != time.Hour {
		t.Errorf("typed values: %+v", c)
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct{ name, set, want string }{
		{"a path and a query of the upstream", "UPSTREAM=https://x.example:8443/a%2Fb?tenant=1", "https://x.example:8443/a%2Fb?tenant=xxxxx"},
		{"an address of IPv6", "UPSTREAM=http://[::1]:8000", "http://[::1]:8000"},
		{"any free port", "LISTEN=127.0.0.1:0", "127.0.0.1:0"},
		{"plain bytes", "MAX_FRAME_BYTES=1048576", "1MiB"},
		{"bytes that no unit divides", "MAX_FRAME_BYTES=1000001", "1000001"},
		{"a decimal unit", "MAX_FRAME_BYTES=8MB", "8000000"},
		{"a binary unit", "MAX_FRAME_BYTES=16 MiB", "16MiB"},
		{"a unit of Kubernetes", "MAX_FRAME_BYTES=4Mi", "4MiB"},
		{"no heartbeat", "HEARTBEAT=0", "0"},
		{"a compound duration", "REPLAY_TTL=1h30m", "1h30m"},
		{"a dialect", "DIALECT=langgraph", "langgraph"},
		{"an empty value is the default", "HEARTBEAT=", "15s"},
		{"a switch", "PRESERVE_HOST=1", "true"},
		{"a JSON object for cancel", `CANCEL={"approved":false}`, `{"approved":false}`},
		{"a JSON string for cancel", `CANCEL="no"`, `"no"`},
		{"null for cancel", `CANCEL=null`, `null`},
		{"an origin", "CORS_ORIGINS=https://app.example.com", "https://app.example.com"},
		{"an origin with capitals, which a browser does not send", "CORS_ORIGINS=https://App.example.com", "https://app.example.com"},
		{"several origins", "CORS_ORIGINS=http://localhost:3000; http://[::1]:3000;https://*.example.com;capacitor://localhost", "http://localhost:3000;http://[::1]:3000;https://*.example.com;capacitor://localhost"},
		{"origins with commas", "CORS_ORIGINS=https://a.example, https://b.example,", "https://a.example;https://b.example"},
		{"all origins", "CORS_ORIGINS=*", "*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load([]string{upstream, prefix + tt.set}, dialects.All())
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(tt.set, "=")
			for _, s := range c.settings() {
				if s.name == prefix+name && s.value != tt.want {
					t.Errorf("%s is shown as %q, want %q", name, s.value, tt.want)
				}
			}
		})
	}
}

func TestBadValues(t *testing.T) {
	for _, tt := range []struct{ set, want string }{
		{"UPSTREAM=", `HOLDPOINT_UPSTREAM is not set, want the address of the backend, such as http://localhost:8000/agent`},
		{"UPSTREAM=backend:8080", `HOLDPOINT_UPSTREAM "backend:8080": scheme missing, want http:// or https://, such as http://localhost:8000/agent`},
		{"UPSTREAM=ftp://x", `HOLDPOINT_UPSTREAM "ftp://x": scheme "ftp" is not supported, want http:// or https://`},
		{"UPSTREAM=http://:8000", `HOLDPOINT_UPSTREAM "http://:8000": host missing, want something like http://localhost:8000/agent`},
		{"UPSTREAM=http://x:70000", `HOLDPOINT_UPSTREAM "http://x:70000": port "70000" is out of range, want 1 to 65535`},
		{"UPSTREAM=http://x/#a", `HOLDPOINT_UPSTREAM "http://x/#a": a fragment (#) is never sent to a server, leave it out`},
		{"UPSTREAM=http://me:hush@x", `HOLDPOINT_UPSTREAM "http://xxxxx@x": an address has no user and password here; put a line such as Authorization: Basic ... into the file of HOLDPOINT_UPSTREAM_HEADERS_FILE`},
		{"UPSTREAM=http://me:hu sh@x y", `HOLDPOINT_UPSTREAM "http://xxxxx@x y": not an address, want something like http://localhost:8000/agent`},
		{"UPSTREAM=me:hush@x", `HOLDPOINT_UPSTREAM "xxxxx@x": scheme missing, want http:// or https://, such as http://localhost:8000/agent`},
		{"UPSTREAM=ftp://x?key=hush", `HOLDPOINT_UPSTREAM "ftp://x?xxxxx": scheme "ftp" is not supported, want http:// or https://`},
		{"UPSTREAM=http://localhost:7080/agent", `HOLDPOINT_UPSTREAM "http://localhost:7080/agent": this is where Holdpoint itself listens (HOLDPOINT_LISTEN :7080), want the backend's address`},
		{"LISTEN=7080", `HOLDPOINT_LISTEN "7080": want host:port, such as :7080`},
		{"LISTEN=:http", `HOLDPOINT_LISTEN ":http": port "http" is out of range, want 0 to 65535`},
		{"LISTEN=localhost", `HOLDPOINT_LISTEN "localhost": want host:port, such as :7080 or 127.0.0.1:7080`},
		{"DIALECT=langraph", `HOLDPOINT_DIALECT "langraph": want one of `},
		{"CLIENT=all", `HOLDPOINT_CLIENT "all": want one of auto, outcome, both, native`},
		{"STORE=etcd://:hush@cache:6379", `HOLDPOINT_STORE "etcd://xxxxx@cache:6379": no such store, want one such as memory://, bolt:///var/lib/holdpoint/state.db, redis://redis.internal:6379`},
		{"STORE=redis://:hush@cache:6379?db=1", `HOLDPOINT_STORE "redis://xxxxx@cache:6379?xxxxx": db is not a parameter`},
		{"STORE_PASSWORD_FILE=/none", `HOLDPOINT_STORE_PASSWORD_FILE "/none": a store of memory:// has no password: leave this out`},
		{"STORE_REPLICAS=1", `HOLDPOINT_STORE_REPLICAS "1": only Redis has it: leave it out. PostgreSQL waits for the standbys of its own synchronous_standby_names, and the other stores have no replicas`},
		{"STORE_REPLICAS=-1", `HOLDPOINT_STORE_REPLICAS "-1": want a whole number from 1 to 2147483647`},
		{"BODY_BYTES=16MiB", `HOLDPOINT_BODY_BYTES "16MiB": want at least twice HOLDPOINT_MAX_REQUEST_BYTES, 32MiB`},
		{"ADDRESS_SHARE=0%", `HOLDPOINT_ADDRESS_SHARE "0%": not a share, want 1% to 100%`},
		{"ADDRESS_SHARE=10", `HOLDPOINT_ADDRESS_SHARE "10": not a share, want 1% to 100%`},
		{"STORE_ENTRIES=0", `HOLDPOINT_STORE_ENTRIES "0": want a whole number from 1 to 2147483647`},
		{"STORE_ENTRIES=many", `HOLDPOINT_STORE_ENTRIES "many": want a whole number from 1 to 2147483647`},
		{"INTERRUPT_TTL=-1h", `HOLDPOINT_INTERRUPT_TTL "-1h": must not be negative`},
		{"PAUSE_RETENTION=30d", `HOLDPOINT_PAUSE_RETENTION "30d": not a duration, want a number with a unit, such as 15s, 1h30m or 0`},
		{"PAUSE_RETENTION=0", `HOLDPOINT_PAUSE_RETENTION "0": want more than 0, such as 720h`},
		{"REPLAY_TTL=0", `HOLDPOINT_REPLAY_TTL "0": want more than 0, such as 24h`},
		{"MAX_FRAME_BYTES=8 parsecs", `HOLDPOINT_MAX_FRAME_BYTES "8 parsecs": not a size, want whole bytes or a unit such as 16MiB or 8MB`},
		{"MAX_FRAME_BYTES=-8", `HOLDPOINT_MAX_FRAME_BYTES "-8": must be at least 1 byte`},
		{"MAX_FRAME_BYTES=4GiB", `HOLDPOINT_MAX_FRAME_BYTES "4GiB": must be at most 2147483647 bytes`},
		{"MAX_FRAME_BYTES=99999999999999999999", `HOLDPOINT_MAX_FRAME_BYTES "99999999999999999999": must be at most 2147483647 bytes`},
		{"HEARTBEAT=500ms", `HOLDPOINT_HEARTBEAT "500ms": want at least 1s, or 0 for none`},
		{"HEARTBEAT=15", `HOLDPOINT_HEARTBEAT "15": not a duration, want a number with a unit, such as 15s, 1h30m or 0`},
		{"PRESERVE_HOST=yes", `HOLDPOINT_PRESERVE_HOST "yes": want true or false`},
		{"CORS_ORIGINS=app.example.com", `HOLDPOINT_CORS_ORIGINS "app.example.com": scheme missing, want something like https://app.example.com`},
		{"CORS_ORIGINS=https://me:hush@app.example.com", `HOLDPOINT_CORS_ORIGINS "https://xxxxx@app.example.com": an origin has no path, query or user, leave out what begins at "@"`},
		{"LOG_LEVEL=loud", `HOLDPOINT_LOG_LEVEL "loud": want one of debug, info, warn, error`},
		{"CANCEL={no", `HOLDPOINT_CANCEL "{no": `},
		{`CANCEL={"approved":true}`, `HOLDPOINT_CANCEL "{\"approved\":true}": it could be taken for an approval; want for example false`},
		{"TOOLS=delete_*", `HOLDPOINT_TOOLS "delete_*": "delete_*" has no kind, want delete_*=approval, delete_*=input or delete_*=external`},
		{"TOOLS=delete_*=ask", `HOLDPOINT_TOOLS "delete_*=ask": "ask" is not a kind, want approval, input or external`},
		{"TOOLS=a=input;a=external", `HOLDPOINT_TOOLS "a=input;a=external": "a" has two kinds, input and external`},
		{"TOOLS=[=input", `HOLDPOINT_TOOLS "[=input": "[" is not a pattern`},
		{"DIALECT=tool-call", `HOLDPOINT_TOOLS is not set, and dialect tool-call needs it: what an unanswered call of a tool asks for, if the stream does not show it`},
		{"TOOL_CALL_ASK=delete_*;a", `HOLDPOINT_TOOL_CALL_ASK is not a variable of Holdpoint any more: it is HOLDPOINT_TOOLS=name=approval;name=approval now`},
		{"DIALECT=phrases", `HOLDPOINT_PHRASES_ASK is not set, and dialect phrases needs it: phrases that ask for a confirmation`},
		{"PHRASES_ASK=;", `HOLDPOINT_PHRASES_ASK ";": want phrases, such as default or default;soll ich`},
		{"PHRASES_ASK=default;?", `HOLDPOINT_PHRASES_ASK "default;?": the phrase "?" has fewer than 3 letters, and would be found everywhere`},
		{"PHRASES_YES=!", `HOLDPOINT_PHRASES_YES "!": want words that a model reads as a yes`},
		{"PHRASES_NO=yes, PLEASE  proceed", `HOLDPOINT_PHRASES_NO "yes, PLEASE  proceed": it could be taken for an approval; want for example "No. Do not do it."`},
		{"PHRASES_NO=-", `HOLDPOINT_PHRASES_NO "-": it has no words, and a model may take that as permission; want for example "No. Do not do it."`},
		{"DIALECT=superagent", `HOLDPOINT_SUPERAGENT_AGENT_ID is not set, and dialect superagent needs it: agent of every run, as GET /api/v1/agents of the backend lists it`},
		{"STRANDS_FILE=*=bool", `HOLDPOINT_STRANDS_FILE "*=bool": want the name of a file, not its content`},
		{`STRANDS_FILE={"text":true}`, `HOLDPOINT_STRANDS_FILE "{\"text\":true}": want the name of a file, not its content`},
		{"AWS_STRANDS_RULES_FILE=/nowhere/r.json", `HOLDPOINT_AWS_STRANDS_RULES_FILE "/nowhere/r.json": open /nowhere/r.json: `},
		{"UPSTREAM=http://x:1/a,http://y:2/b", `HOLDPOINT_UPSTREAM "http://x:1/a,http://y:2/b": want one address, such as http://localhost:8000/agent; each further agent is a route of its own (docs/routes.md)`},
		{"UPSTREEM=http://x", `HOLDPOINT_UPSTREEM is not a variable of Holdpoint, did you mean HOLDPOINT_UPSTREAM?`},
		{"LANGRAPH_CANCEL=1", `HOLDPOINT_LANGRAPH_CANCEL is not a variable of Holdpoint, did you mean HOLDPOINT_CANCEL?`},
		{"UPSTREAM_HEADERS_FILE=Authorization: hush", `HOLDPOINT_UPSTREAM_HEADERS_FILE: want the name of a file, not the headers themselves`},
		{"UPSTREAM_HEADERS_FILE=/nowhere/h", `HOLDPOINT_UPSTREAM_HEADERS_FILE: open /nowhere/h: `},
	} {
		t.Run(tt.set, func(t *testing.T) {
			_, err := load([]string{upstream, prefix + tt.set}, dialects.All())
			if err == nil {
				t.Fatal("taken")
			}
			if got := err.Error(); !strings.HasPrefix(got, "config: "+tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant config: %s", got, tt.want)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("a secret is in the error: %v", err)
			}
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, err := load([]string{"HOLDPOINT_LISTEN=x", "HOLDPOINT_HEARTBEAT=1", "HOLDPOINT_CLIENT=?", "HOLDPOINT_B=1", "HOLDPOINT_A=1"}, dialects.All())
	if err == nil {
		t.Fatal("taken")
	}
	var names []string
	for line := range strings.Lines(err.Error()) {
		names = append(names, strings.Fields(line)[1])
	}
	want := []string{"HOLDPOINT_CLIENT", "HOLDPOINT_HEARTBEAT", "HOLDPOINT_UPSTREAM", "HOLDPOINT_LISTEN", "HOLDPOINT_A", "HOLDPOINT_B"}
	if !slices.Equal(names, want) {
		t.Errorf("errors about %q, want %q\n%v", names, want, err)
	}
}

func TestNamesThatKubernetesInjects(t *testing.T) {
	for name, ignored := range map[string]bool{
		"HOLDPOINT_SERVICE_HOST": true, "HOLDPOINT_SERVICE_PORT": true, "HOLDPOINT_SERVICE_PORT_HTTP": true, "HOLDPOINT_PORT": true,
		"HOLDPOINT_PORT_7080_TCP": true, "HOLDPOINT_PORT_7080_TCP_PROTO": true, "HOLDPOINT_PORT_7080_TCP_ADDR": true,
		"HOLDPOINT_ADMIN_SERVICE_HOST": true, "HOLDPOINT_ADMIN_SERVICE_PORT_METRICS": true, "HOLDPOINT_X_PORT": true,
		"HOLDPOINT_X_PORT_7080_TCP_ADDR": true,
		"HOLDPOINT_SERVICE":              false, "HOLDPOINT_LISTENPORT": false, "HOLDPOINT_PORTS": false, "HOLDPOINT_PORT_HTTP": false,
	} {
		c, err := load([]string{upstream, name + "=tcp://10.0.0.1:7080"}, dialects.All())
		if got := err == nil && slices.Contains(c.ignored, name); got != ignored {
			t.Errorf("%s ignored: %v, want %v (%v)", name, got, ignored, err)
		}
	}
}

func TestHeadersFile(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "headers")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	load := func(file string) (*settings, error) {
		return load([]string{upstream, "HOLDPOINT_UPSTREAM_HEADERS_FILE=" + file}, dialects.All())
	}

	file := write("\xef\xbb\xbf# for the backend\r\n\r\nauthorization: Bearer hush:hush\r\nX-Team:  a \nX-Team: b\n")
	c, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.agent.headers.Get("Authorization") != "Bearer hush:hush" || !slices.Equal(c.agent.headers["X-Team"], []string{"a", "b"}) {
		t.Errorf("headers are %v", c.agent.headers)
	}
	for _, s := range c.settings() {
		if strings.Contains(s.value, "hush") {
			t.Errorf("%s shows a secret: %s", s.name, s.value)
		}
		if s.name == "HOLDPOINT_UPSTREAM_HEADERS_FILE" && s.value != file+" (Authorization, X-Team)" {
			t.Errorf("shown as %q", s.value)
		}
	}

	file = write(strings.Join([]string{
		"X-Good: hush", "Connection: hush", "te: hush", "Content-Length: hush", "HOST: hush", "Content-Encoding: hush",
		"Accept-Encoding: hush", "hush", " X-Folded: hush", "X Space: hush", "X-Space : hush", "X-Empty: ", "X-Control: hu\x00sh",
	}, "\n"))
	_, err = load(file)
	if err == nil {
		t.Fatal("taken")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 12 {
		t.Errorf("got %d errors, want 12:\n%v", len(lines), err)
	}
	for i, line := range lines {
		if where := file + ":" + []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"}[i] + ": "; !strings.HasPrefix(line, "config: HOLDPOINT_UPSTREAM_HEADERS_FILE: "+where) {
			t.Errorf("%q does not begin with the place %s", line, where)
		}
		if strings.Contains(line, "hush") || strings.Contains(line, "hu\x00sh") {
			t.Errorf("a value is in the error: %q", line)
		}
	}
}

// TestRemovedVariables: if a variable of an earlier release is set, Holdpoint must report an error
// that says what to set instead. No such variable may also be a variable of this release.
func TestRemovedVariables(t *testing.T) {
	known := map[string]bool{}
	for _, v := range all() {
		known[v.Name] = true
	}
	for name, remedy := range removedVariables {
		for _, name := range []string{prefix + name, prefix + "ROUTES_0_" + name} {
			_, stderr, code := holdpoint(t, []string{
				"HOLDPOINT_ROUTES_0_PATH=/a", "HOLDPOINT_ROUTES_0_NAME=a", "HOLDPOINT_ROUTES_0_UPSTREAM=http://localhost:8000", name + "=x",
			}, "check")
			if want := "config: " + name + " is not a variable of Holdpoint any more: " + remedy + "\n"; code != exitMisuse || stderr != want {
				t.Errorf("exit %d, got  %s\nwant %s", code, stderr, want)
			}
			if known[name] {
				t.Errorf("%s exists", name)
			}
		}
	}
}

// TestShareOfAStoreThatHasNone: HOLDPOINT_ADDRESS_SHARE limits how much of a store one client
// address may use, but only stores in memory know this limit. If another store is configured, the
// limit does not apply to questions, and both check and the log must warn of this.
func TestShareOfAStoreThatHasNone(t *testing.T) {
	const note = "HOLDPOINT_ADDRESS_SHARE bounds the bodies that are being read, and not the questions"
	for _, tt := range []struct {
		store, share string
		told         bool
	}{
		{"bolt://" + filepath.ToSlash(t.TempDir()) + "/state.db", "10%", true},
		{"bolt://" + filepath.ToSlash(t.TempDir()) + "/state.db", "", false},
		{"memory://", "10%", false},
	} {
		environ := []string{upstream, "HOLDPOINT_STORE=" + tt.store, "HOLDPOINT_ADDRESS_SHARE=" + tt.share}
		stdout, _, code := holdpoint(t, environ, "check")
		if code != 0 || strings.Contains(stdout, "warning: "+note) != tt.told {
			t.Errorf("%s, %q: exit %d, %s", tt.store, tt.share, code, stdout)
		}
		c, err := load(environ, dialects.All())
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		p := &program{settings: c, logger: slog.New(slog.NewTextHandler(&log, nil))}
		s, err := p.openStore(t.Context(), newEvents(c, nil))
		if err != nil {
			t.Fatal(err)
		}
		s.Stop()
		if strings.Contains(log.String(), note) != tt.told {
			t.Errorf("%s, %q: the log is %s", tt.store, tt.share, log.String())
		}
	}
}

// TestCheckTellsWhatIsOpen: check and the log must warn of each request that
// HOLDPOINT_LANGGRAPH_SERVER_ALLOW allows.
func TestCheckTellsWhatIsOpen(t *testing.T) {
	environ := []string{
		upstream, "HOLDPOINT_DIALECT=langgraph-server", "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT=agent",
		"HOLDPOINT_LANGGRAPH_SERVER_ALLOW=PUT /store/items\nDELETE /threads/*",
	}
	stdout, _, code := holdpoint(t, environ, "check")
	for _, request := range []string{"PUT /store/items", "DELETE /threads/*"} {
		want := "warning: any client can make this request to LangGraph's server [variable HOLDPOINT_LANGGRAPH_SERVER_ALLOW request " + request + "]"
		if code != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q in %s", code, want, stdout)
		}
	}
	_, stderr, code := holdpoint(t, append(environ, "HOLDPOINT_LANGGRAPH_SERVER_ALLOW=POST /threads/*/runs"), "check")
	if code != exitMisuse || !strings.Contains(stderr, "HOLDPOINT_LANGGRAPH_SERVER_ALLOW") || !strings.Contains(stderr, "without Holdpoint") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// Tokens of callers of the desk (the web page of approvers).
const (
	deskToken  = "d5e7a3f0c1b2948576aabbccddeeff00"
	otherToken = "00ffeeddccbbaa6758492b1c0f3a7e5d"
)

// TestEachSecretMayBeInAFile: for each variable with a secret, there must be a second variable with
// the suffix _FILE, whose value is the name of a file with the secret. It must be an error to set
// both variables, and to name a missing or an empty file. The error must name the variable. No
// output may contain a part of the secret.
func TestEachSecretMayBeInAFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const sealed = "bolt:///x.db"
	for name, secret := range map[string]struct {
		value string
		with  []string
	}{
		"STORE_PASSWORD": {"hushhush", []string{"STORE=redis://a@127.0.0.1:1"}},
		"STORE_KEYS":     {"k1:aHVzaGh1c2hodXNoaHVzaGh1c2hodXNoaHVzaGh1c2g=", []string{"STORE=" + sealed}},
		"WEBHOOK_URL":    {"https://hush.example/hook", nil},
		"WEBHOOK_SECRET": {"whsec_aHVzaGh1c2hodXNoaHVzaGh1c2hodXNoaHVzaGh1c2g=", []string{"WEBHOOK_URL=https://x.example/"}},
		"DESK_TOKEN":     {"hushhushhushhushhushhushhushhush", []string{"DESK_LISTEN=127.0.0.1:0"}},
		"PRINCIPAL_KEY":  {"hushhushhushhushhushhushhushhush", []string{byHeader, byPeers}},
	} {
		environ := []string{upstream, "HOLDPOINT_LISTEN=127.0.0.1:7080"}
		for _, v := range secret.with {
			environ = append(environ, prefix+v)
		}
		good := prefix + name + "_FILE=" + file(name, "\n"+secret.value+" \n")
		for _, tt := range []struct {
			set  []string
			want string // a part of the error; "" means no error
		}{
			{[]string{prefix + name + "=" + secret.value}, ""},
			{[]string{good}, ""},
			{[]string{good, prefix + name + "=" + secret.value}, prefix + name + "_FILE"},
			{[]string{prefix + name + "_FILE=" + file("empty", "\n")}, prefix + name + "_FILE"},
			{[]string{prefix + name + "_FILE=" + dir + "/none"}, prefix + name + "_FILE"},
		} {
			stdout, stderr, code := holdpoint(t, append(slices.Clone(environ), tt.set...), "check", "-all")
			if (code == exitOK) != (tt.want == "") || !strings.Contains(stderr, tt.want) {
				t.Errorf("%s, %q: exit %d, %s", name, tt.set, code, stderr)
			}
			if strings.Contains(stdout+stderr, "hush") || strings.Contains(stdout+stderr, "aHVz") {
				t.Errorf("%s, %q: the secret is told:\n%s%s", name, tt.set, stdout, stderr)
			}
		}
	}
	// Each variable with a secret must also exist with the suffix _FILE.
	known := map[string]bool{}
	for _, v := range all() {
		known[v.Name] = true
	}
	for _, g := range newSettings(dialects.All()).groups() {
		for f := range reflect.ValueOf(g.Options).Elem().Fields() {
			if f.Type == reflect.TypeFor[variables.Secret]() && !known[prefix+f.Tag.Get("env")+"_FILE"] {
				t.Errorf("%s has no file", f.Tag.Get("env"))
			}
		}
	}
}
