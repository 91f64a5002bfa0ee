// Package kit has the code that dialects share. It reads answers and messages, writes bodies and
// histories, and handles options and the interrupt outcome. A dialect need not use it.
//
// The package knows nothing of runs and claims, which belong to the package proxy. It names a
// backend only if several dialects must recognize that backend.
package kit
