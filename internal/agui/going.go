package agui

import "encoding/json"

// Continuation is what it takes to go on with a pause without the client that asked.
type Continuation struct {
	// Input is the run input of the run that paused, without messages and answers. nil: it is not
	// kept, and Lacks says why.
	Input json.RawMessage `json:"input,omitempty"`
	// Query of the client's request.
	Query string `json:"query,omitempty"`
	// Home is the process that saw the question, where its agent alone holds it (proxy.OtherDoors).
	Home string `json:"home,omitempty"`
	// Lacks says why only the chat can go on.
	Lacks []Lack `json:"lacks,omitempty"`
}

// A Lack is a reason for which an answer waits for the chat.
type Lack string

// NoCredentials: the run came with credentials, which are not kept. NoTools: it declared tools,
// whose calls only the chat can answer. NoMessages: its messages are not known whole, or not any
// more. NoInput: its input is too large to be kept, or the store is not sealed. NoForm: nothing is
// made for the client, so it would never learn of it. NoStore: the store may forget a claim and
// keep the decision before it. NoHome: the agent that asked holds the question in its process, and
// nobody knows which that is. NoOrigin: it was asked before such things were kept.
const (
	NoCredentials Lack = "credentials"
	NoTools       Lack = "tools"
	NoMessages    Lack = "messages"
	NoInput       Lack = "input"
	NoForm        Lack = "client"
	NoStore       Lack = "store"
	NoHome        Lack = "home"
	NoOrigin      Lack = "record"
)
