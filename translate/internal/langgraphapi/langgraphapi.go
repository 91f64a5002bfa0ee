// Package langgraphapi translates the questions of a LangGraph graph and the answers to them. It is
// used for graphs behind an AG-UI adapter (translate/langgraph) and behind LangGraph's own server.
//
//   - A Native is one interrupt of a graph. Publish makes the interrupts that a client sees from
//     it, by the shape of its value: tool reviews, Agent Inbox requests, CopilotKit's questions.
//   - Answers reads what a client sends. Groups, Value and MapOf turn the answers into the values
//     that interrupt() returns, in LangGraph's map of ids. Only an approval becomes an approval.
//   - A TaskTrace finds in LangGraph's stream of events which calls run at once in one task. The
//     answer to one of these calls may reach another one.
//
// It does not know how questions and answers are transported.
package langgraphapi
