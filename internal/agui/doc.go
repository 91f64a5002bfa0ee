// Package agui is the wire vocabulary of AG-UI: event types, the run input, interrupts, answers and
// run errors. It also has the functions with which the rest of Holdpoint reads and edits events.
//
// It deliberately has no struct for each event. Events stay the bytes that the backend sent,
// because a struct loses unknown members and changes known ones (big numbers, key order). Small
// structs exist only for events that Holdpoint itself writes.
//
// The specification is AG-UI 1.0 (https://docs.ag-ui.com, spec/1.x) and its page on interrupts.
package agui
