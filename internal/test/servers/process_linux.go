package servers

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// attributes returns those of a server's process: who runs it (nil: who runs the test), and the
// signal that it gets when the test process dies.
func attributes(as *syscall.Credential, end syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as, Pdeathsig: end}
}

// children returns the processes whose parent is pid. PostgreSQL gives each of its processes a
// group of its own, so a signal to the group would not reach them.
func children(pid int) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …; a name may hold anything.
		_, rest, ok := strings.Cut(string(b)[strings.LastIndexByte(string(b), ')')+1:], " ")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, child)
		}
	}
	return found
}

// within returns the processes that work in a folder or below it. A server's folder is its own.
func within(dir string) []int {
	var found []int
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, path := range links {
		at, err := os.Readlink(path)
		if err != nil || at != dir && !strings.HasPrefix(at, dir+string(filepath.Separator)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
