// Package langgraphapi translates the questions of a LangGraph graph, and the answers to them. It
// is used for graphs behind an AG-UI adapter (translate/langgraph) and behind LangGraph's own
// server.
//
//   - A Native is one interrupt of a graph. Publish makes from it the interrupts that a client
//     gets. How it does this depends on the value of the Native: a tool review, an Agent Inbox
//     request, a question of CopilotKit.
//   - Answers reads what a client sends. Groups, Value and MapOf turn the answers into the
//     values that interrupt() returns, in LangGraph's map from ids to values. Only an answer
//     that approves becomes an approval.
//   - A TaskTrace reads LangGraph's stream of events. It finds out which tool calls run at the
//     same time in one task. The answer to one of these calls may reach another one.
//
// The package does not know how questions and answers are transported.
package langgraphapi
