//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalWidth reports whether f is a terminal. It returns the terminal's number of columns, or 0
// if the terminal does not report it. It asks for the window size, because the mode of /dev/null is
// like the mode of a terminal.
func terminalWidth(f *os.File) (columns int, isTerminal bool) {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
}
