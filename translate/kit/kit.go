// Package kit is what dialects share: reading answers and messages, writing bodies and histories,
// options, and the interrupt outcome. A dialect may do without any of it.
//
// It does not know what a run or a claim is; proxy does. It has the name of one backend only if
// several dialects must know it.
package kit
