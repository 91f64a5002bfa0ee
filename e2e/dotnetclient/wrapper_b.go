package dotnetclient

import (
	"encoding/json"

	"holdpoint/e2e/netjson"
)

// A WrapperB is a port of ApprovalAGUIChatClient, the client of the SDK's sample
// Step04_HumanInLoop. It wraps another client, and stores nothing. In each request to the server,
// it replaces the conversation's requests for approval with calls of request_approval, and the
// answers with the results of these calls.
type WrapperB struct{ Client }

// Stream sends the conversation through the wrapped client.
func (w WrapperB) Stream(messages []*Message, options *Options, yield func(Update)) error {
	return streamRequests(w.Client, w.outgoing(messages), options, yield, func(r *ApprovalRequest, call *Call) { r.Call.ID = call.ID })
}

// outgoing returns the conversation in the form that the server's wrapper reads. If a message has
// an answer and other contents, the other contents stay in the message, and the result of the
// answer follows in a message of its own.
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
