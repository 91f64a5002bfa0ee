// Package langgraphapi is what a LangGraph graph asks and takes for an answer, whatever carries it:
// an AG-UI adapter (translate/langgraph) or LangGraph's own server.
//
//   - A Native is one interrupt of a graph. Publish makes of each the interrupts that a client
//     sees, by the shape of its value: tool reviews, Agent Inbox requests, CopilotKit's.
//   - Answers reads what a client sends. Groups, Value and MapOf make of it what interrupt()
//     returns, in LangGraph's own map of ids. What is not an approval never becomes one.
//   - A Trail shows by LangGraph's stream of events which calls run at once in one task. The answer
//     to one of them may reach another.
//
// It does not know how questions come or how answers travel.
package langgraphapi
