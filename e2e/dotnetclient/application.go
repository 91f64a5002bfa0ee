package dotnetclient

import "encoding/json"

// An Application is the program around a client. It keeps the conversation, and sends the whole
// conversation in each run.
type Application struct {
	Client
	// Options returns the options of a run. If it is nil, runs have no options. If the program
	// makes new options for each run, each run gets a new thread, unless the options set Thread.
	Options func() *Options
	// ToolAnswers: true means that the program sends each answer in a message of its own with the
	// role tool, as the sample of Agent Framework does. Otherwise one user message contains all
	// answers.
	ToolAnswers bool
	// DropsThrown: true means that the program keeps nothing of a run that threw. Real programs do
	// this if they add a response only after it has ended.
	DropsThrown bool
	// NewID returns the id of a message that the program adds. If NewID is nil, messages have no
	// id.
	NewID func() string

	Messages []*Message
}

// A Run is what one run of the program resulted in.
type Run struct {
	Questions []*ApprovalRequest
	Inputs    []*InputRequest
	Text      string   // all text of the response
	Results   []Result // results of tools in the response
	Failures  []Failure
	Thrown    error
}

// Say sends a user message.
func (a *Application) Say(words string) Run { return a.Send(NewMessage("user", Text{words})) }

// Answer sends an answer to each of the requests. approve(n) decides whether the n-th one is
// approved.
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

// Fill sends payload as the answer to a request for input.
func (a *Application) Fill(request *InputRequest, payload string) Run {
	return a.Send(NewMessage("user", &InputAnswer{request.ID, json.RawMessage(payload)}))
}

// Send adds the messages to the conversation, sends the conversation, and adds the response to it.
func (a *Application) Send(messages ...*Message) Run {
	for _, m := range messages {
		if a.NewID != nil {
			m.ID = a.NewID()
		}
	}
	a.Messages = append(a.Messages, messages...)
	return a.Again()
}

// Again sends the conversation without a new message, and adds the response to it.
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
