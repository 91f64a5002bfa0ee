//go:build deploy

package deploy

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These types have the parts of a compose file that the tests read. compose-go has made paths
// absolute and expanded short forms.
type (
	composition struct {
		Services map[string]service
		Networks map[string]struct{ Internal, External bool }
		Volumes  map[string]struct{ External bool }
	}
	service struct {
		Build           struct{ Context, Dockerfile string }
		Environment     map[string]string
		Ports           []published
		Networks        map[string]any
		NetworkMode     string `json:"network_mode"`
		Volumes         []struct{ Type, Source, Target string }
		DependsOn       map[string]struct{ Condition string } `json:"depends_on"`
		Healthcheck     *struct{ Test []string }
		ReadOnly        bool `json:"read_only"`
		Privileged      bool
		CapDrop         []string `json:"cap_drop"`
		CapAdd          []string `json:"cap_add"`
		SecurityOpt     []string `json:"security_opt"`
		StopGracePeriod string   `json:"stop_grace_period"`
	}
	published struct {
		HostIP    string `json:"host_ip"`
		Target    int
		Published string
	}
)

// composeFiles returns the paths of the files in compose/, one for each stack (agent, Holdpoint and
// page).
func composeFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("compose/*.yaml")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d files in compose/ (%v)", len(paths), err)
	}
	return paths
}

// resolve parses the compose file with compose-go, the library of Docker Compose.
func resolve(t *testing.T, path string) composition {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(path)) // the program resolves paths in its working folder; Docker Compose resolves them in the folder of the file
	var c composition
	if err := json.Unmarshal([]byte(must(t, "COMPOSE", "-format", "json", path)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestComposeFiles: each stack in compose/ must be valid for Docker Compose. Only Holdpoint may
// reach the agent. Holdpoint must be restricted and have enough time to end. Each service must wait
// for the services that it needs.
func TestComposeFiles(t *testing.T) {
	for _, path := range composeFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := resolve(t, path)
			if names := slices.Sorted(maps.Keys(c.Services)); !slices.Equal(names, []string{"agent", "holdpoint", "page"}) {
				t.Fatalf("the services are %v", names)
			}
			checkReach(t, c)
			checkOrder(t, c)
			checkAddresses(t, c)
			checkHoldpoint(t, c)
			for name, s := range c.Services {
				if s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.CapAdd != nil || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
					t.Errorf("%s has more rights than it needs: %+v", name, s)
				}
			}
		})
	}
}

// checkReach checks that the agent publishes no port and shares its networks only with Holdpoint.
// The page may be published to this machine only.
func checkReach(t *testing.T, c composition) {
	t.Helper()
	agent := c.Services["agent"]
	if len(agent.Ports) != 0 {
		t.Errorf("the agent's port is published: %v", agent.Ports)
	}
	for network := range agent.Networks {
		if !c.Networks[network].Internal || c.Networks[network].External {
			t.Errorf("the agent's network %s leads out", network)
		}
		for name, s := range c.Services {
			if _, in := s.Networks[network]; in && name != "agent" && name != "holdpoint" {
				t.Errorf("%s reaches the agent by the network %s", name, network)
			}
		}
	}
	if len(c.Services["holdpoint"].Ports) != 0 {
		t.Errorf("Holdpoint is published, and asks for no login: %v", c.Services["holdpoint"].Ports)
	}
	for name, s := range c.Services {
		if s.NetworkMode != "" || len(s.Networks) == 0 {
			t.Errorf("%s is in networks that the file does not say", name)
		}
		for network := range s.Networks {
			if _, ok := c.Networks[network]; !ok {
				t.Errorf("%s is in a network %s, which nobody declares", name, network)
			}
		}
	}
	if ports := c.Services["page"].Ports; len(ports) != 1 || ports[0].HostIP != "127.0.0.1" {
		t.Errorf("the page, which has no login, is published as %v", ports)
	}
}

// checkOrder checks that each service starts only when the service that it needs is healthy.
// Compose stops services in the reverse order, so the agent ends after the streams of Holdpoint.
func checkOrder(t *testing.T, c composition) {
	t.Helper()
	for name, needs := range map[string]string{"page": "holdpoint", "holdpoint": "agent"} {
		if got := c.Services[name].DependsOn; len(got) != 1 || got[needs].Condition != "service_healthy" {
			t.Errorf("%s waits for %v", name, got)
		}
	}
	for name, s := range c.Services {
		if s.Healthcheck == nil || len(s.Healthcheck.Test) < 2 || s.Healthcheck.Test[0] != "CMD" {
			t.Errorf("%s has no healthcheck that needs no shell", name)
		}
	}
}

// checkAddresses checks each variable that gives one service the address of another. The address
// must name the other service and a port on which that service listens. The two services must share
// a network.
func checkAddresses(t *testing.T, c composition) {
	t.Helper()
	for _, tt := range []struct{ from, variable, to, port string }{
		{"page", "AGENT_URL", "holdpoint", "7080"},
		{"holdpoint", "HOLDPOINT_UPSTREAM", "agent", "8000"},
	} {
		from, to := c.Services[tt.from], c.Services[tt.to]
		u, err := url.Parse(from.Environment[tt.variable])
		if err != nil || u.Scheme != "http" || u.Hostname() != tt.to || u.Port() != tt.port {
			t.Errorf("%s of %s is %q (%v)", tt.variable, tt.from, from.Environment[tt.variable], err)
		}
		if !slices.Contains(dockerfile(t, to).ports(), tt.port) {
			t.Errorf("the image of %s does not say that it listens on %s", tt.to, tt.port)
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(from.Networks)), func(n string) bool { _, both := to.Networks[n]; return both }) {
			t.Errorf("%s and %s share no network", tt.from, tt.to)
		}
	}
	page := c.Services["page"]
	for _, p := range page.Ports {
		if !slices.Contains(dockerfile(t, page).ports(), strconv.Itoa(p.Target)) {
			t.Errorf("port %d of the page is published, where nobody listens", p.Target)
		}
	}
}

// checkHoldpoint checks the service holdpoint. It may write only to its volume, must have enough
// time to end, and must accept its settings.
func checkHoldpoint(t *testing.T, c composition) {
	t.Helper()
	h := c.Services["holdpoint"]
	if !h.ReadOnly {
		t.Error("its root file system can be written")
	}
	if !slices.Equal(h.Healthcheck.Test, []string{"CMD", "/holdpoint", "healthcheck", "ready"}) {
		t.Errorf("its healthcheck is %q", h.Healthcheck.Test)
	}
	var drain time.Duration
	for _, name := range []string{"HOLDPOINT_DRAIN_DELAY", "HOLDPOINT_DRAIN_TIMEOUT"} {
		d, err := time.ParseDuration(h.Environment[name])
		if err != nil {
			t.Error(err)
		}
		drain += d
	}
	if grace, err := time.ParseDuration(h.StopGracePeriod); err != nil || grace < drain+5*time.Second {
		t.Errorf("stop_grace_period is %q (%v), and it may take %s and 5s to end", h.StopGracePeriod, err, drain)
	}
	file, ok := strings.CutPrefix(h.Environment["HOLDPOINT_STORE"], "bolt://")
	if !ok || len(h.Volumes) != 1 || h.Volumes[0].Type != "volume" || filepath.ToSlash(filepath.Dir(file)) != h.Volumes[0].Target {
		t.Errorf("the store %s is on no volume: %v", h.Environment["HOLDPOINT_STORE"], h.Volumes)
	} else if _, ok := c.Volumes[h.Volumes[0].Source]; !ok {
		t.Errorf("there is no volume %s", h.Volumes[0].Source)
	}
	// A new volume gets the owner of the folder that the image has at the volume's path. If the
	// image has no such folder, root owns the volume, and Holdpoint cannot write to it.
	if !slices.ContainsFunc(dockerfile(t, h).values("COPY"), func(args string) bool {
		return strings.Contains(args, "--chown=65532:65532 ") && strings.HasSuffix(args, " "+h.Volumes[0].Target)
	}) {
		t.Errorf("the image has no folder %s of the user 65532", h.Volumes[0].Target)
	}
	checkConfiguration(t, h.Environment)
}

// TestComposeRefuses: the program that parses the files of TestComposeFiles must report errors in a
// compose file. It does not check that names refer to existing services, networks and volumes. The
// functions above check that.
func TestComposeRefuses(t *testing.T) {
	text, err := os.ReadFile("compose/langgraph.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"a key that does not exist", "read_only:", "readonly:", "readonly"},
		{"a condition that does not exist", "agent: {condition: service_healthy}", "agent: {condition: service_ready}", "condition"},
		{"a time without a unit", "stop_grace_period: 25s", "stop_grace_period: 25", "stop_grace_period"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "compose.yaml")
			if strings.Count(string(text), tt.from) != 1 {
				t.Fatalf("%q is there %d times", tt.from, strings.Count(string(text), tt.from))
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), tt.from, tt.to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, stderr, err := run(t, "COMPOSE", path); err == nil || !strings.Contains(stderr, tt.want) {
				t.Errorf("compose-go said %v: %s", err, stderr)
			}
		})
	}
}

// An instruction is a line of a Dockerfile: its first word, such as COPY, and the rest.
type instruction struct{ word, args string }

type instructions []instruction

// values returns the arguments of each instruction that begins with the word.
func (list instructions) values(word string) []string {
	var values []string
	for _, i := range list {
		if i.word == word {
			values = append(values, i.args)
		}
	}
	return values
}

// ports returns the ports that the image exposes.
func (list instructions) ports() []string {
	return strings.Fields(strings.Join(list.values("EXPOSE"), " "))
}

// dockerfile parses the Dockerfile that builds a service.
func dockerfile(t *testing.T, s service) instructions {
	t.Helper()
	path := s.Build.Dockerfile
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Build.Context, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list instructions
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if word, args, ok := strings.Cut(strings.TrimSpace(line), " "); ok && word != "#" {
			list = append(list, instruction{word, strings.Join(strings.Fields(args), " ")})
		}
	}
	return list
}

// TestImagesOfCompose: the images of agent and page must name their base images with registry and
// tag, copy only files that exist, and run as an unprivileged user.
func TestImagesOfCompose(t *testing.T) {
	full := regexp.MustCompile(`^[\w-]+(\.[\w-]+)+/\S+:\S+$`)
	for _, path := range composeFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := resolve(t, path)
			for _, name := range []string{"agent", "page"} {
				s := c.Services[name]
				list, bases := dockerfile(t, s), map[string]string{}
				for _, arg := range list.values("ARG") {
					k, v, _ := strings.Cut(arg, "=")
					bases["${"+k+"}"] = v
				}
				for _, from := range list.values("FROM") {
					if base := bases[strings.Fields(from)[0]]; !full.MatchString(base) {
						t.Errorf("%s: the base %q of %q is not named in full", name, base, from)
					}
				}
				copied := 0
				for _, args := range list.values("COPY") {
					files := strings.Fields(args)
					if strings.HasPrefix(files[0], "--from=") {
						continue
					}
					for _, f := range files[:len(files)-1] {
						copied++
						if _, err := os.Stat(filepath.Join(s.Build.Context, f)); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
				}
				var command []string
				if cmd := list.values("CMD"); len(cmd) != 1 || json.Unmarshal([]byte(cmd[0]), &command) != nil || copied == 0 {
					t.Errorf("%s: the command is %q, and %d files are copied", name, cmd, copied)
				}
				if user := list.values("USER"); !slices.Equal(user, []string{"65532:65532"}) {
					t.Errorf("%s: the user is %q", name, user)
				}
			}
		})
	}
}
