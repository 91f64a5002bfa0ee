package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"holdpoint/internal/variables"
)

// memorySettings has HOLDPOINT_MEMORY, and the bounds that are derived from it.
type memorySettings struct {
	Memory memoryLimit `env:"MEMORY" doc:"how much memory the process may use: a size, or off. Without it the value of GOMEMLIMIT counts, else nine tenths of the container's limit. HOLDPOINT_MAX_CONNECTIONS, STORE_BYTES, BODY_BYTES, MAX_REQUEST_BYTES, MAX_FRAME_BYTES and TRANSCRIPT_BYTES follow from it where they are not set, each at most its default (docs/operations.md#bounds-of-memory)"`

	limitOrigin string          // origin of the limit, if the variable is not set
	derived     map[string]bool // variables whose value is derived from the limit
	setsGoLimit bool            // GOMEMLIMIT is not set, so the method start sets Go's limit
}

// A memoryLimit is a number of bytes, or 0 for no limit. It can exceed the largest variables.Size.
type memoryLimit int64

// memoryOff is the value of HOLDPOINT_MEMORY that means no limit.
const memoryOff = "off"

// leastMemory is the smallest limit, in bytes, with which a process can serve runs.
const leastMemory = 32 << 20

// UnmarshalText reads a size, or memoryOff.
func (m *memoryLimit) UnmarshalText(text []byte) error {
	*m = 0
	if string(text) == memoryOff {
		return nil
	}
	n, err := variables.ParseSize(string(text), math.MaxInt64)
	if err == nil && n < leastMemory {
		err = errors.New(textMemory)
	}
	*m = memoryLimit(n)
	return err
}

// String returns the limit as HOLDPOINT_MEMORY would have it, or "" for no limit.
func (m memoryLimit) String() string {
	if m == 0 {
		return ""
	}
	return variables.Size(m).String()
}

// read sets the limit from HOLDPOINT_MEMORY, or else from GOMEMLIMIT, or else to nine tenths of the
// container's limit. The parameter container is the root of the file system from which the
// container's cgroups are read. If it is nil, they are not read.
func (s *memorySettings) read(environment map[string]string, container fs.FS) {
	// loadFor reads the group again, and reports its errors
	variables.Group{Prefix: prefix, Options: s}.Read(environment)
	s.setsGoLimit = environment["GOMEMLIMIT"] == ""
	if environment[prefix+"MEMORY"] != "" {
		return
	}
	if n, err := variables.ParseSize(environment["GOMEMLIMIT"], math.MaxInt64); err == nil {
		s.Memory, s.limitOrigin = memoryLimit(n), "GOMEMLIMIT"
	} else if n := containerLimit(container) / 10 * 9 &^ (1<<20 - 1); n > 0 {
		s.Memory, s.limitOrigin = memoryLimit(n), textNineTenths
	}
}

// start logs the limit and sets it in Go's runtime. The runtime then collects garbage more often
// when the memory in use comes near the limit.
func (s *memorySettings) start(logger *slog.Logger) {
	s.logStart(logger)
	if s.Memory > 0 && s.setsGoLimit {
		debug.SetMemoryLimit(int64(s.Memory))
	}
}

// logStart logs that the bounds which are not set are derived from the limit.
func (s *memorySettings) logStart(logger *slog.Logger) {
	if s.Memory > 0 {
		logger.Info(fmt.Sprintf("bounds of memory that are not set follow from %s (%s)", s.Memory, cmp.Or(s.limitOrigin, prefix+"MEMORY")))
	}
}

// originOf returns a text that says from which limit the value of a variable is derived. It returns
// "" if the variable is set or has its default.
func (s *memorySettings) originOf(name string) string {
	switch {
	case name == prefix+"MEMORY":
		return s.limitOrigin
	case s.derived[name]:
		return textOfLimit
	}
	return ""
}

const (
	// processBytes is the memory of a process without open streams.
	processBytes = 16 << 20
	// streamBytes is the memory of one waiting stream, rounded up.
	streamBytes = 64 << 10
)

// bounds returns the bounds that are derived from the limit. The keys of the map are the names of
// their variables without prefix. From the limit, bounds subtracts the memory that the process
// itself needs. Half of the rest is for waiting streams. One eighth is for request bodies, one
// eighth for a frame (which takes twice its size), one eighth for the store in memory, and one
// eighth for the conversations that 32 runs keep for snapshots. request is MAX_REQUEST_BYTES, or 0
// if that is not set. The bounds of bodies and frames are at least twice as large as request.
func (m memoryLimit) bounds(request int64) map[string]int64 {
	rest := max(int64(m)-processBytes, processBytes)
	return map[string]int64{
		"MAX_CONNECTIONS":   rest / 2 / streamBytes,
		"STORE_BYTES":       rest / 8,
		"BODY_BYTES":        max(rest/8, 2*request),
		"MAX_REQUEST_BYTES": rest / 32,
		"MAX_FRAME_BYTES":   max(rest/16, 2*request),
		"TRANSCRIPT_BYTES":  rest / 8 / 32,
	}
}

// withBounds returns the environment together with the bounds that are derived from the limit. It
// keeps the bounds that are set, and derives no bound that exceeds its default. The parameter
// defaults has all variables.
func (s *memorySettings) withBounds(environment map[string]string, defaults []variables.Variable) map[string]string {
	if s.Memory == 0 {
		return environment
	}
	// 0 if it is not set or not a valid size
	request, _ := variables.ParseSize(environment[prefix+"MAX_REQUEST_BYTES"], math.MaxInt32)
	bounds := s.Memory.bounds(request)
	environment, s.derived = maps.Clone(environment), map[string]bool{}
	for _, v := range defaults {
		n, has := bounds[strings.TrimPrefix(v.Name, prefix)]
		most, _ := variables.ParseSize(v.Default, math.MaxInt64)
		if !has || environment[v.Name] != "" || n >= most {
			continue
		}
		if strings.HasSuffix(v.Name, "_BYTES") {
			n &^= 1<<10 - 1 // round down to whole KiB, which are easier to read
		}
		environment[v.Name], s.derived[v.Name] = strconv.FormatInt(n, 10), true
	}
	return environment
}

// unlimited is the smallest value of a cgroup's limit that means no limit. Version 1 of cgroups has
// no word for it: it writes the largest number of pages.
const unlimited = 1 << 60

// containerLimit returns the smallest memory limit among the cgroups of this process and their
// parents, in bytes, or 0 if there is no limit. In a container, the path in /proc/self/cgroup may
// be a path of the host, which the container does not see. The container's own cgroup is then at
// the root.
func containerLimit(root fs.FS) (least int64) {
	if root == nil {
		return 0
	}
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0 // not Linux, or no cgroups
	}
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		mount, file := "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		switch {
		case number == "0" && controllers == "":
			mount, file = "sys/fs/cgroup", "memory.max"
		case controllers != "memory":
			continue
		}
		for group = path.Join("/", group); ; group = path.Dir(group) {
			text, _ := fs.ReadFile(root, path.Join(mount, group, file))
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && n > 0 && n < unlimited && (least == 0 || n < least) {
				least = n
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
