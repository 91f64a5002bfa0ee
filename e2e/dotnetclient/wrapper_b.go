package dotnetclient

import (
	"encoding/json"

	"holdpoint/e2e/netjson"
)

// A WrapperB is a port of ApprovalAGUIChatClient, the client of the SDK's sample
// Step04_HumanInLoop. It wraps another client, and stores nothing. For each request, it makes the
// calls of request_approval and their results from the approval requests and answers in the
// conversation.
type WrapperB struct{ Client }

// Stream sends the conversation through the wrapped client.
func (w WrapperB) Stream(messages []*Message, options *Options, yield func(Update)) error {
	return streamRequests(w.Client, w.outgoing(messages), options, yield, func(r *ApprovalRequest, call *Call) { r.Call.ID = call.ID })
}

// outgoing returns the conversation as the server's wrapper reads it. If a message with an answer
// has other contents, they stay a message, and the result follows it.
func (w WrapperB) outgoing(messages []*Message) []*Message {
	var list []*Message
	for _, m := range messages {
		var rest, results []Content
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *ApprovalRequest:
				payload := netjson.New("approval_id", c.ID, "function_name", c.Call.Name, "function_arguments", c.Call.Arguments,
					"message", "Approve execution of '"+c.Call.Name+"'?")
				rest = append(rest, &Call{ID: c.Call.ID, Name: requestApproval, Arguments: netjson.Text(netjson.New("request", payload)), Informational: true})
			case *ApprovalAnswer:
				results = append(results, Result{c.Call.ID, json.RawMessage(netjson.Text(netjson.New("approval_id", c.ID, "approved", c.Approved)))})
			default:
				rest = append(rest, c)
			}
		}
		if len(rest) > 0 || results == nil {
			list = append(list, &Message{Role: m.Role, ID: m.ID, Contents: rest})
		}
		if results != nil {
			list = append(list, &Message{Role: "tool", Contents: results})
		}
	}
	return list
}
