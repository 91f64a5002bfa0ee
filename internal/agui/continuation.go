package agui

import "encoding/json"

// A Continuation has all that is needed to continue a paused run without its client.
type Continuation struct {
	// Input is the run input of the paused run, without messages and answers. It is nil if only the
	// chat can continue the run. ChatOnlyReasons then has the reason.
	Input json.RawMessage `json:"input,omitempty"`
	// Query is the query of the client's request.
	Query string `json:"query,omitempty"`
	// Home is the process of the agent that received the question, if only this process knows the
	// question (proxy.OtherDoors). Otherwise it is "".
	Home string `json:"home,omitempty"`
	// ChatOnlyReasons are the reasons why only the chat can continue the run.
	ChatOnlyReasons []ChatOnlyReason `json:"lacks,omitempty"`
}

// A ChatOnlyReason is a reason why only the chat can send the answer.
type ChatOnlyReason string

// The reasons why only the chat can send the answer:
//
//   - NoCredentials: the run had credentials, and these are not stored.
//   - NoTools: the run declared tools, and only the chat can run their calls.
//   - NoMessages: some messages of the run are unknown.
//   - NoInput: the input of the run is too large to be stored, or the store is not encrypted.
//   - NoForm: the client gets the backend's own form, so it would not learn of the answer.
//   - NoStore: the store may lose a claim but keep an earlier decision.
//   - NoHome: only one process of the agent knows the question, but it is unknown which one.
//   - NoOrigin: the record is from a version of Holdpoint that did not store continuations.
const (
	NoCredentials ChatOnlyReason = "credentials"
	NoTools       ChatOnlyReason = "tools"
	NoMessages    ChatOnlyReason = "messages"
	NoInput       ChatOnlyReason = "input"
	NoForm        ChatOnlyReason = "client"
	NoStore       ChatOnlyReason = "store"
	NoHome        ChatOnlyReason = "home"
	NoOrigin      ChatOnlyReason = "record"
)
