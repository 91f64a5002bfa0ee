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

// memorySettings are the variable of all memory.
type memorySettings struct {
	Memory memoryLimit `env:"MEMORY" doc:"how much memory the process may take: a size, or off. Without it the value of GOMEMLIMIT, else nine tenths of the container's limit. From it follow HOLDPOINT_MAX_CONNECTIONS, STORE_BYTES, BODY_BYTES, MAX_REQUEST_BYTES, MAX_FRAME_BYTES and TRANSCRIPT_BYTES where they are not set, each at most its default (docs/operations.md#bounds-of-memory)"`

	from     string          // what says it, if the variable does not
	followed map[string]bool // the variables that follow from it
	setGo    bool            // GOMEMLIMIT does not say when Go is to collect
}

// A memoryLimit is a number of bytes, 0 without a limit. It may be more than a variables.Size.
type memoryLimit int64

// memoryOff is the value for no limit.
const memoryOff = "off"

// leastMemory is what a process needs to serve anybody.
const leastMemory = 32 << 20

// UnmarshalText reads a size or off.
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

// String returns the form that is read.
func (m memoryLimit) String() string {
	if m == 0 {
		return ""
	}
	return variables.Size(m).String()
}

// read reads the variable, and where it says nothing what GOMEMLIMIT or the container says. The
// container is the root of the file system, nil if it is not to be asked.
func (s *memorySettings) read(environment map[string]string, container fs.FS) {
	variables.Group{Prefix: prefix, Options: s}.Read(environment) // load reads it once more, for the errors
	s.setGo = environment["GOMEMLIMIT"] == ""
	if environment[prefix+"MEMORY"] != "" {
		return
	}
	if n, err := variables.ParseSize(environment["GOMEMLIMIT"], math.MaxInt64); err == nil {
		s.Memory, s.from = memoryLimit(n), "GOMEMLIMIT"
	} else if n := containerLimit(container) / 10 * 9 &^ (1<<20 - 1); n > 0 {
		s.Memory, s.from = memoryLimit(n), "nine tenths of the container's limit"
	}
}

// start has Go collect more often near the limit, and says what follows from it.
func (s *memorySettings) start(logger *slog.Logger) {
	s.logStart(logger)
	if s.Memory > 0 && s.setGo {
		debug.SetMemoryLimit(int64(s.Memory))
	}
}

// logStart says that bounds follow from a limit.
func (s *memorySettings) logStart(logger *slog.Logger) {
	if s.Memory > 0 {
		logger.Info(fmt.Sprintf("bounds of memory that are not set follow from %s (%s)", s.Memory, cmp.Or(s.from, prefix+"MEMORY")))
	}
}

// origin says what the value of a variable follows from, "" if it is set or has its default.
func (s *memorySettings) origin(name string) string {
	switch {
	case name == prefix+"MEMORY":
		return s.from
	case s.followed[name]:
		return "of the limit of memory"
	}
	return ""
}

const (
	// processBytes is what a process takes without any stream.
	processBytes = 16 << 20
	// streamBytes is what a stream takes that waits, rounded up.
	streamBytes = 64 << 10
)

// bounds returns the bounds that follow from the limit, by the names of their variables without the
// prefix. What the process itself needs is taken off. Of the rest, half is for streams that wait,
// and an eighth each for bodies, for one frame (it takes twice its size), for the store in memory,
// and for what 32 runs keep for snapshots. request is MAX_REQUEST_BYTES if that is set: bodies and
// frames are at least twice that.
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

// fill returns the environment with the bounds that follow from the limit. A bound that is set
// stays, and none is more than its default.
func (s *memorySettings) fill(environment map[string]string, defaults []variables.Variable) map[string]string {
	if s.Memory == 0 {
		return environment
	}
	request, _ := variables.ParseSize(environment[prefix+"MAX_REQUEST_BYTES"], math.MaxInt32) // 0 if it is not set, or wrong
	bounds := s.Memory.bounds(request)
	environment, s.followed = maps.Clone(environment), map[string]bool{}
	for _, v := range defaults {
		n, has := bounds[strings.TrimPrefix(v.Name, prefix)]
		most, _ := variables.ParseSize(v.Default, math.MaxInt64)
		if !has || environment[v.Name] != "" || n >= most {
			continue
		}
		if strings.HasSuffix(v.Name, "_BYTES") {
			n &^= 1<<10 - 1 // whole KiB are easier to read
		}
		environment[v.Name], s.followed[v.Name] = strconv.FormatInt(n, 10), true
	}
	return environment
}

// unlimited is a limit that means none: version 1 of cgroups writes the largest number of pages.
const unlimited = 1 << 60

// containerLimit returns the least limit that cgroups set to the memory of this process, 0 if there
// is none. A limit holds for all groups below its own. Within a container the group's path may be
// that of the host, which is not there: the container's own group is at the root then.
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
