// Package agui has the vocabulary of AG-UI's wire format: event types, the run input, interrupts,
// answers and run errors. It also has the functions with which the rest of Holdpoint reads and
// edits events.
//
// On purpose it has no struct for each event. An event stays the bytes that the backend sent,
// because a struct loses unknown members and changes known ones (big numbers, the order of keys).
// Small structs exist only for events that Holdpoint itself writes.
//
// The specification is AG-UI 1.0 (https://docs.ag-ui.com, spec/1.x) and its page on interrupts.
package agui
