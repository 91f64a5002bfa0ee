package dotnetclient

import "encoding/json"

// An Application is the program around a client: it keeps the conversation, and sends all of it in
// each run.
type Application struct {
	Client
	// Options returns the options of a run. If it is nil, runs have none. A program that makes new
	// options for each run gets a new thread for each run, unless it sets Thread.
	Options func() *Options
	// ToolAnswers sends each answer in its own message with the role tool, as the sample of Agent
	// Framework does. Otherwise all answers are in one message of the user.
	ToolAnswers bool
	// DropsThrown keeps nothing of a run that threw, as a program that adds a response after it has
	// ended.
	DropsThrown bool
	// NewID returns the MessageId for each message that the program adds. If it is nil, messages
	// have no id.
	NewID func() string

	Messages []*Message
}

// A Run is the result of one run.
type Run struct {
	Questions []*ApprovalRequest
	Inputs    []*InputRequest
	Text      string   // all text of the response
	Results   []Result // results of tools
	Failures  []Failure
	Thrown    error
}

// Say sends a message of the person.
func (a *Application) Say(words string) Run { return a.Send(NewMessage("user", Text{words})) }

// Answer answers the n-th request by approve(n), and sends the answers.
func (a *Application) Answer(requests []*ApprovalRequest, approve func(n int) bool) Run {
	var messages []*Message
	var all []Content
	for n, r := range requests {
		answer := &ApprovalAnswer{ID: r.ID, Approved: approve(n), Call: r.Call}
		all = append(all, answer)
		messages = append(messages, NewMessage("tool", answer))
	}
	if !a.ToolAnswers {
		messages = []*Message{NewMessage("user", all...)}
	}
	return a.Send(messages...)
}

// Fill answers a request for input.
func (a *Application) Fill(request *InputRequest, payload string) Run {
	return a.Send(NewMessage("user", &InputAnswer{request.ID, json.RawMessage(payload)}))
}

// Send adds messages to the conversation, sends it, and adds the response.
func (a *Application) Send(messages ...*Message) Run {
	for _, m := range messages {
		if a.NewID != nil {
			m.ID = a.NewID()
		}
	}
	a.Messages = append(a.Messages, messages...)
	return a.Again()
}

// Again sends the conversation again, and adds the response.
func (a *Application) Again() Run {
	var options *Options
	if a.Options != nil {
		options = a.Options()
	}
	var run Run
	var updates []Update
	run.Thrown = a.Stream(a.Messages, options, func(u Update) {
		updates = append(updates, u)
		for _, c := range u.Contents {
			switch c := c.(type) {
			case *ApprovalRequest:
				run.Questions = append(run.Questions, c)
			case *InputRequest:
				run.Inputs = append(run.Inputs, c)
			case Text:
				run.Text += c.Text
			case Result:
				run.Results = append(run.Results, c)
			case Failure:
				run.Failures = append(run.Failures, c)
			}
		}
	})
	if run.Thrown == nil || !a.DropsThrown {
		a.Messages = append(a.Messages, Messages(updates)...)
	}
	return run
}
