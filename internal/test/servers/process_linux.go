package servers

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// attributes returns the attributes of a server's process. as is its user (nil: the user of the
// test). end is the signal that it gets when the test process dies.
func attributes(as *syscall.Credential, end syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as, Pdeathsig: end}
}

// children returns the ids of the processes whose parent is pid. A signal to a process group would
// not reach them, because PostgreSQL gives each of its processes a group of its own.
func children(pid int) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // this process has ended
		}
		// The line has the form "pid (name) state ppid …", and name may contain any characters.
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

// processesIn returns the ids of the processes whose working folder is dir or inside dir. They
// belong to one server, because each server has a folder of its own.
func processesIn(dir string) []int {
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
