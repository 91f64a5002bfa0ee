package dotnetclient

import (
	"encoding/json"
	"slices"

	"holdpoint/e2e/netjson"
)

const requestApproval = "request_approval"

// A WrapperA is a port of ServerFunctionApprovalClientAgent, the client of Agent Framework's sample
// Step04_HumanInLoop. It wraps another client. It shows a call of request_approval as an approval
// request, and sends the answer as the result of that call. Its code is the same in all versions.
type WrapperA struct{ Client }

// Stream sends the conversation through the wrapped client.
func (w WrapperA) Stream(messages []*Message, options *Options, yield func(Update)) error {
	return streamRequests(w.Client, w.outgoing(messages), options, yield, func(r *ApprovalRequest, call *Call) { r.original = call })
}

// streamRequests runs the wrapped client. It yields each call of request_approval as an approval
// request. made is called with the request and that call, to complete the request.
func streamRequests(c Client, messages []*Message, options *Options, yield func(Update), made func(*ApprovalRequest, *Call)) error {
	var failed error
	err := c.Stream(messages, options, func(u Update) {
		u.Contents = slices.Clone(u.Contents)
		for n, content := range u.Contents {
			call, ok := content.(*Call)
			if !ok || call.Name != requestApproval {
				continue
			}
			request, err := requested(call)
			if err != nil {
				failed = err
				return
			}
			made(request, call)
			u.Contents[n] = request
		}
		if failed == nil {
			yield(u)
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// outgoing returns the conversation in the form that the server's wrapper reads. If the
// conversation answers a request for approval, outgoing removes the request's original call. In
// later runs the wrapped client handles this request.
func (w WrapperA) outgoing(messages []*Message) []*Message {
	var list []*Message
	open := map[string]*ApprovalRequest{}
	for _, m := range messages {
		var contents []Content
		changed := false
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *ApprovalRequest:
				if c.original != nil {
					open[c.ID] = c
					contents, changed = append(contents, c.original), true
					continue
				}
			case *ApprovalAnswer:
				if request := open[c.ID]; request != nil {
					contents, changed = append(contents, Result{c.ID, json.RawMessage(netjson.Text(netjson.New("approval_id", c.ID, "approved", c.Approved)))}), true
					delete(open, c.ID)
					request.original = nil
					continue
				}
			case *Call:
				if c.Name == requestApproval {
					changed = true
					continue
				}
			}
			contents = append(contents, c)
		}
		switch {
		case !changed:
			list = append(list, m)
		case len(contents) > 0:
			list = append(list, &Message{Role: m.Role, ID: m.ID, Contents: contents})
		}
	}
	return list
}

// requested turns a call of request_approval into an approval request.
func requested(call *Call) (*ApprovalRequest, error) {
	var arguments struct {
		Request *struct {
			ID        string          `json:"approval_id"`
			Name      string          `json:"function_name"`
			Arguments json.RawMessage `json:"function_arguments"`
		}
	}
	if json.Unmarshal(call.Arguments, &arguments) != nil || arguments.Request == nil {
		return nil, throw("InvalidOperationException", "Invalid request_approval tool call")
	}
	r := arguments.Request
	if isNull(r.Arguments) {
		r.Arguments = nil
	}
	return &ApprovalRequest{ID: r.ID, Call: &Call{ID: r.ID, Name: r.Name, Arguments: r.Arguments}}, nil
}
