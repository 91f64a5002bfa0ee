// Package strandsapi has the code that strands and aws-strands, the two dialects of Strands, share.
// It parses the ids of interrupts, writes answers in the form that a hook or a tool reads, writes
// the question that the person reads, and detects a question that the backend dropped.
//
// It does not read event streams, and does not send anything.
//
// Facts: strands-agents (Python) 1.40 to 1.62, @strands-agents/sdk, and ag_ui_strands up to 0.2.5.
// The comments name the source of each fact.
package strandsapi
