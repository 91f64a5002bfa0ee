package dotnetclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"holdpoint/e2e/netjson"
)

// A Client is a port of .NET's interface IChatClient. Stream sends a conversation, and calls yield
// with each update of the response. It returns an error if the client throws.
type Client interface {
	Stream(messages []*Message, options *Options, yield func(Update)) error
}

// Options are a port of .NET's ChatOptions. An application makes them for each run, or keeps them
// for all runs.
type Options struct {
	Thread string // ConversationId
	Tools  []Tool
	noted  string // the thread that the SDK's client has stored in these options
}

// A Tool is a tool of the client. If Run is nil, the tool is declared but not run.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage
	Run               func(arguments json.RawMessage) any // returns a string or a json.RawMessage
}

func (o *Options) tool(name string) *Tool {
	if o == nil {
		return nil
	}
	at := slices.IndexFunc(o.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return &o.Tools[at]
}

// declarations returns the tools as a request declares them, or nil if there are none.
func (o *Options) declarations() []netjson.Object {
	if o == nil {
		return nil
	}
	var list []netjson.Object
	for _, t := range o.Tools {
		list = append(list, netjson.New("name", t.Name, "description", t.Description, "parameters", t.Parameters))
	}
	return list
}

// A Connection is where a client sends its requests, and by which HTTP client.
type Connection struct {
	URL  string
	HTTP *http.Client
}

// post sends a body as the real clients do. It calls each with each event of the response, until
// each returns an error or the response ends.
func (c Connection) post(body netjson.Object, each func(event) error) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.URL, bytes.NewReader(netjson.Escaped(body)))
	if err != nil {
		return err
	}
	req.ContentLength = -1
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "") // neither client sends a User-Agent
	response, err := c.HTTP.Do(req)
	if err != nil {
		return throw("HttpRequestException", err.Error())
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return throw("HttpRequestException", fmt.Sprintf("Response status code does not indicate success: %d (%s).", response.StatusCode, http.StatusText(response.StatusCode)))
	}
	return readEvents(response.Body, each)
}

// called returns a tool call in the format of a request's message. If the call has no arguments,
// the text null is written for them.
func called(c *Call, null string) netjson.Object {
	arguments := null
	if c.Arguments != nil {
		arguments = string(netjson.Escaped(c.Arguments))
	}
	return netjson.New("id", c.ID, "type", "function", "function", netjson.New("name", c.Name, "arguments", arguments))
}
