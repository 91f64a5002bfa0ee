//go:build unix && !linux

package servers

import "syscall"

func attributes(as *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

func children(int) []int { return nil }

func processesIn(string) []int { return nil }
