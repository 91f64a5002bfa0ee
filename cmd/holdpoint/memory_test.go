package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"holdpoint/translate/dialects"
)

// cgroups returns a file system with these files, each with a line feed appended. The keys of files
// are paths.
func cgroups(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return root
}

// container returns the files of a container whose memory limit is the given number of bytes. The
// files are those of cgroup version 2.
func container(bytes int64) fstest.MapFS {
	return cgroups(map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": fmt.Sprint(bytes)})
}

func TestContainerLimit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroups":                         {nil, 0},
		"version 2, in a container":          {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "134217728"}, 128 << 20},
		"version 2, without a limit":         {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "max"}, 0},
		"version 2, of a service":            {map[string]string{"proc/self/cgroup": "0::/system.slice/a.service", "sys/fs/cgroup/system.slice/a.service/memory.max": "67108864"}, 64 << 20},
		"version 2, less above":              {map[string]string{"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "max", "sys/fs/cgroup/a/memory.max": "67108864"}, 64 << 20},
		"version 2, more above":              {map[string]string{"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "67108864", "sys/fs/cgroup/a/memory.max": "134217728"}, 64 << 20},
		"version 2, outside of its own root": {map[string]string{"proc/self/cgroup": "0::/../x", "sys/fs/cgroup/memory.max": "134217728"}, 128 << 20},
		"version 1":                          {map[string]string{"proc/self/cgroup": "5:cpu:/\n4:memory:/docker/x\n0::/", "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "134217728"}, 128 << 20},
		"version 1, with the host's path":    {map[string]string{"proc/self/cgroup": "4:memory:/docker/x", "sys/fs/cgroup/memory/memory.limit_in_bytes": "134217728"}, 128 << 20},
		"version 1, without a limit":         {map[string]string{"proc/self/cgroup": "4:memory:/", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 0},
		"not a limit":                        {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "-1"}, 0},
	} {
		if got := containerLimit(cgroups(c.files)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := containerLimit(nil); got != 0 {
		t.Errorf("no file system: %d", got)
	}
}

// settingsShown returns the values that `holdpoint check -all` prints, and the settings. The keys
// are the names of the variables without HOLDPOINT_.
func settingsShown(t *testing.T, root fstest.MapFS, set ...string) (map[string]string, *settings) {
	t.Helper()
	s, err := loadFor(append([]string{upstream}, set...), dialects.All(), false, root)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, one := range s.settings() {
		shown[strings.TrimPrefix(one.name, prefix)] = one.String()
	}
	return shown, s
}

// TestBoundsFollowFromMemory: the limit of memory comes from HOLDPOINT_MEMORY, from GOMEMLIMIT or
// from the container. Each bound that is not set must follow from the limit. A bound that is set
// must keep its value.
func TestBoundsFollowFromMemory(t *testing.T) {
	const follows = " (of the limit of memory)"
	type values = map[string]string
	for name, c := range map[string]struct {
		root fstest.MapFS
		set  []string
		want values
	}{
		"nothing": {nil, nil, values{
			"MEMORY": "(none)", "MAX_CONNECTIONS": "20000 (default)", "STORE_BYTES": "512MiB (default)", "BODY_BYTES": "256MiB (default)",
			"MAX_REQUEST_BYTES": "16MiB (default)", "MAX_FRAME_BYTES": "32MiB (default)", "TRANSCRIPT_BYTES": "4MiB (default)",
		}},
		"the variable": {nil, []string{"HOLDPOINT_MEMORY=128MiB"}, values{
			"MEMORY": "128MiB", "MAX_CONNECTIONS": "896" + follows, "STORE_BYTES": "14MiB" + follows, "BODY_BYTES": "14MiB" + follows,
			"MAX_REQUEST_BYTES": "3584KiB" + follows, "MAX_FRAME_BYTES": "7MiB" + follows, "TRANSCRIPT_BYTES": "448KiB" + follows,
		}},
		"GOMEMLIMIT":               {container(1 << 30), []string{"GOMEMLIMIT=128MiB"}, values{"MEMORY": "128MiB (GOMEMLIMIT)", "BODY_BYTES": "14MiB" + follows}},
		"GOMEMLIMIT of many bytes": {nil, []string{"GOMEMLIMIT=1TiB"}, values{"MEMORY": "1024GiB (GOMEMLIMIT)", "BODY_BYTES": "256MiB (default)"}},
		"GOMEMLIMIT is off":        {container(1 << 30), []string{"GOMEMLIMIT=off"}, values{"MEMORY": "921MiB (nine tenths of the container's limit)"}},
		"a container": {container(1 << 30), nil, values{
			"MEMORY": "921MiB (nine tenths of the container's limit)", "MAX_CONNECTIONS": "7240" + follows, "MAX_FRAME_BYTES": "32MiB (default)",
		}},
		"the variable before others": {container(1 << 30), []string{"GOMEMLIMIT=128MiB", "HOLDPOINT_MEMORY=256MiB"}, values{"MEMORY": "256MiB", "BODY_BYTES": "30MiB" + follows}},
		"off":                        {container(1 << 27), []string{"GOMEMLIMIT=128MiB", "HOLDPOINT_MEMORY=off"}, values{"MEMORY": "(none)", "BODY_BYTES": "256MiB (default)"}},
		"much memory":                {container(1 << 40), nil, values{"MAX_CONNECTIONS": "20000 (default)", "STORE_BYTES": "512MiB (default)", "TRANSCRIPT_BYTES": "4MiB (default)"}},
		"hardly any": {container(20 << 20), nil, values{
			"MEMORY": "18MiB (nine tenths of the container's limit)", "MAX_CONNECTIONS": "128" + follows, "BODY_BYTES": "2MiB" + follows,
		}},
		"what is set stays": {container(1 << 27), []string{"HOLDPOINT_BODY_BYTES=256MiB", "HOLDPOINT_MAX_CONNECTIONS=9"}, values{
			"BODY_BYTES": "256MiB (default)", "MAX_CONNECTIONS": "9", "MAX_FRAME_BYTES": "6336KiB" + follows,
		}},
		"room for the largest request, twice": {container(1 << 27), []string{"HOLDPOINT_MAX_REQUEST_BYTES=15MiB"}, values{
			"MAX_REQUEST_BYTES": "15MiB", "BODY_BYTES": "30MiB" + follows, "MAX_FRAME_BYTES": "30MiB" + follows,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			shown, _ := settingsShown(t, c.root, c.set...)
			for of, want := range c.want {
				if shown[of] != want {
					t.Errorf("%s is shown as %q, want %q", of, shown[of], want)
				}
			}
		})
	}
}

// TestBoundsFitMemory: all derived bounds together must fit into the limit of memory. The sum
// includes the process, its streams and bodies, one frame, the store with the notices of the
// webhook, and 32 transcripts.
func TestBoundsFitMemory(t *testing.T) {
	for _, mib := range []int64{32, 64, 100, 128, 256, 500, 920, 1 << 10, 4 << 10, 64 << 10} {
		_, s := settingsShown(t, nil, fmt.Sprintf("HOLDPOINT_MEMORY=%dMiB", mib))
		const stream = 60_800 // bytes, measured: see docs/operations.md
		sum := int64(processBytes) + int64(s.front.Connections)*stream + int64(s.runs.BodyBytes) + 2*int64(s.runs.MaxFrameBytes) +
			int64(s.store.Bytes)*9/8 + 32*int64(s.runs.TranscriptBytes)
		if sum > mib<<20 {
			t.Errorf("%d MiB: the bounds are %d MiB together", mib, sum>>20)
		}
		if s.runs.MaxFrameBytes < s.runs.MaxRequestBytes {
			t.Errorf("%d MiB: %+v", mib, s.runs)
		}
	}
}

func TestBadMemory(t *testing.T) {
	for value, want := range map[string]string{
		"much": `HOLDPOINT_MEMORY "much": not a size, want whole bytes or a unit such as 16MiB or 8MB`,
		"1MiB": `HOLDPOINT_MEMORY "1MiB": want at least 32MiB, or off`,
		"0":    `HOLDPOINT_MEMORY "0": must be at least 1 byte`,
	} {
		_, err := load([]string{upstream, "HOLDPOINT_MEMORY=" + value}, dialects.All())
		if err == nil || err.Error() != "config: "+want {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// TestCheckShowsMemory: check must print where the limit of memory comes from. check -all must also
// print which bounds are derived from the limit.
func TestCheckShowsMemory(t *testing.T) {
	environ := []string{upstream, "GOMEMLIMIT=128MiB"}
	stdout, stderr, code := holdpoint(t, environ, "check")
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "bounds of memory that are not set follow from 128MiB (GOMEMLIMIT)\n") || strings.Contains(stdout, prefix+"BODY_BYTES") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	stdout, _, _ = holdpoint(t, environ, "check", "-all")
	shown := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{"HOLDPOINT_MEMORY 128MiB (GOMEMLIMIT)", "HOLDPOINT_BODY_BYTES 14MiB (of the limit of memory)"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
}

// TestMemoryTable compares the table of bounds in docs/operations.md with the bounds that the code
// derives. With -update it writes the table between the two lines `<!-- bounds of memory -->`.
func TestMemoryTable(t *testing.T) {
	const file, marker = "../../docs/operations.md", "<!-- bounds of memory -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), marker)
	if len(parts) != 3 {
		t.Fatalf("%s: want two markers %s", file, marker)
	}
	limits := []string{"128MiB", "256MiB", "920MiB", "2GiB", "off"}
	want := "\n| | " + strings.Join(limits, " | ") + " |\n|---|" + strings.Repeat("---:|", len(limits)) + "\n"
	for _, name := range slices.Sorted(maps.Keys(memoryLimit(0).bounds(0))) {
		want += "| `" + prefix + name + "` |"
		for _, limit := range limits {
			shown, _ := settingsShown(t, nil, "HOLDPOINT_MEMORY="+limit)
			value, _, _ := strings.Cut(shown[name], " ")
			want += " " + value + " |"
		}
		want += "\n"
	}
	want += "\n"
	if parts[1] == want {
		return
	}
	if !*update {
		t.Fatalf("%s: between the markers must stand (go test ./cmd/holdpoint -run MemoryTable -update)\n%s", file, want)
	}
	parts[1] = want
	if err := os.WriteFile(file, []byte(strings.Join(parts, marker)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGoIsToldTheLimit: at start, Holdpoint sets the memory limit of Go's runtime to
// HOLDPOINT_MEMORY, unless GOMEMLIMIT is set.
func TestGoIsToldTheLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		set  []string
		want int64
	}{
		{nil, before},
		{[]string{"HOLDPOINT_MEMORY=3GiB", "GOMEMLIMIT=2GiB"}, before}, // Go's runtime reads GOMEMLIMIT itself
		{[]string{"HOLDPOINT_MEMORY=3GiB"}, 3 << 30},
	} {
		_, s := settingsShown(t, nil, c.set...)
		s.memory.start(slog.New(slog.DiscardHandler))
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%q: %d, want %d", c.set, got, c.want)
		}
	}
}
