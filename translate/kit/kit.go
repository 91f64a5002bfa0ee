// Package kit is what dialects share: reading answers and messages, writing bodies and histories, options, and the
// interrupt outcome. A dialect may do without any of it.
//
// It does not know what a run or a claim is; proxy does. A name of one backend is here only where several dialects
// have to know it.
package kit
