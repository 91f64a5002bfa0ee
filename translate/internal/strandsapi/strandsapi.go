// Package strandsapi is what the two dialects of Strands share, strands and aws-strands: what an
// interrupt's id tells, what a hook or a tool can read of an answer, what a person is asked, and
// how a dropped interrupt looks.
//
// It reads no event stream and sends nothing.
//
// Facts: strands-agents (Python) 1.40 to 1.62, @strands-agents/sdk, and ag_ui_strands up to 0.2.5.
// Sources stand where they are used.
package strandsapi
