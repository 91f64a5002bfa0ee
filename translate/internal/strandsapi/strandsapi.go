// Package strandsapi is what the dialects of Strands share, strands and aws-strands: what an interrupt's id tells, what a
// hook or a tool can read of an answer, what a person is asked, and how a dropped interrupt looks.
//
// Facts: strands-agents (Python) 1.40 to 1.62 and @strands-agents/sdk; ag_ui_strands up to 0.2.5. Sources stand where they
// are used. It reads no event stream and sends nothing.
package strandsapi
