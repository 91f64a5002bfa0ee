package agui

import "encoding/json"

// A Continuation has what is needed to continue a paused run without its client.
type Continuation struct {
	// Input is the run input of the paused run, without messages and answers. If it is nil,
	// ChatOnlyReasons has the reason.
	Input json.RawMessage `json:"input,omitempty"`
	// Query is the query of the client's request.
	Query string `json:"query,omitempty"`
	// Home is the process that received the question, if only the agent connected to it knows the
	// question (proxy.OtherDoors).
	Home string `json:"home,omitempty"`
	// ChatOnlyReasons are the reasons why only the chat can continue.
	ChatOnlyReasons []ChatOnlyReason `json:"lacks,omitempty"`
}

// A ChatOnlyReason is a reason why an answer can be sent only from the chat.
type ChatOnlyReason string

// The reasons. NoCredentials: the run had credentials, which are not stored. NoTools: it declared
// tools, whose calls only the chat can answer. NoMessages: some of its messages are not known.
// NoInput: its input is too large to be stored, or the store is not encrypted. NoForm: the client
// is shown the backend's own form, so it would not learn of the answer. NoStore: the store may lose
// a claim and keep an earlier decision. NoHome: the question exists only in one process of the
// agent, and it is not known in which. NoOrigin: the record is from a version that did not store
// continuations.
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
