// Package agui is the wire vocabulary of AG-UI: event types, the run input, interrupts, answers and
// run errors. It also has the functions by which the rest of Holdpoint looks into an event.
//
// It deliberately has no struct for each event. Events stay the bytes that the backend sent,
// because a struct loses what it does not know and changes what it does (big numbers, key order).
// Small structs exist only for what Holdpoint itself writes.
//
// The specification is AG-UI 1.0 (https://docs.ag-ui.com, spec/1.x) and its page on interrupts.
package agui
