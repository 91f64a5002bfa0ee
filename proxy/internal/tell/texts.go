package tell

import "holdpoint/internal/agui"

// An Aftermath is what became of the answers of a stream that failed.
type Aftermath int

const (
	HandedOn    Aftermath = iota // the backend has them, and has ended its run
	NothingDone                  // the backend did nothing, or was not asked
	MayHaveRun                   // nobody knows
	GoesOn                       // the backend is at it still
)

// consequences are the sentences that say it.
var consequences = map[Aftermath]string{
	NothingDone: " Nothing was done.",
	MayHaveRun:  " What was approved may or may not have been done. Please check before you ask for it again.",
	GoesOn:      " It may still be at work. Please look again later.",
}

// wholeTexts are the texts for refusals that say all that there is to say.
var wholeTexts = map[agui.Code]string{
	agui.PendingInterrupts:    "Please answer the open question first. Your message was not handed on.",
	agui.PartialResume:        "Please answer all open questions. Nothing was done.",
	agui.UnknownInterruptID:   "This question is not open any more. Nothing was done with the answer.",
	agui.ResumeConflict:       "There is another answer to this question already. Nothing was done with this one.",
	agui.ResumeInProgress:     "An answer is being carried out. Please wait until that has ended.",
	agui.ResumeInDoubt:        "The agent got the answer, and nobody knows what became of it." + consequences[MayHaveRun],
	agui.InvalidPayload:       "The answer does not have the form that the question asks for. Nothing was done. Please answer again.",
	agui.ApprovalAmbiguous:    "One answer could count for several actions here, so nothing was done.",
	agui.InterruptExpired:     "The time for an answer is over, so nothing was done. The question can only be cancelled.",
	agui.ApprovalUncertain:    "It is not certain what a yes would carry out, so nothing was done.",
	agui.BackendLostInterrupt: "The agent does not know this question any more. Nothing was done with the answer. Please ask it again.",
	agui.ClientLeft:           "The connection was closed before this was handed on. Nothing was done. Please send it again.",
	agui.ThreadForbidden:      "This conversation is somebody else's. Nothing was done.",
}

// contradictionText is that of a request whose answers contradict each other.
const contradictionText = "Two different answers to one question came together, so nothing was done. Please answer again."

// beginnings are texts that need a word on what became of the answers behind them.
var beginnings = map[agui.Code]string{
	agui.ThreadBusy:          "Another run of this conversation is not over yet.",
	agui.MessagesNotTaken:    "The agent does not take a message of this kind.",
	agui.StoreUnavailable:    "What this conversation waits for cannot be looked up at the moment. Please try again later.",
	agui.AuditUnavailable:    "An answer cannot be written down at the moment. Please try again later.",
	agui.StoreFull:           "The agent has another question, and there is no room to keep it. Please try again later.",
	agui.PauseTooLarge:       "The agent has another question, and it is too large to be shown.",
	agui.UpstreamUnreachable: "The agent cannot be reached.",
	agui.UpstreamStatus:      "The agent's server turned the request down.",
	agui.UpstreamEOF:         "The connection to the agent broke off.",
	agui.UpstreamIdle:        "The agent has not said anything for a long time.",
	agui.FrameTooLarge:       "The agent has sent more at once than can be shown.",
	agui.UnsupportedEncoding: "The agent's reply cannot be read.",
	agui.ProxyDraining:       "The service is being restarted. Please try again in a moment.",
	agui.InternalError:       "Something went wrong between this page and the agent.",
}

// NeedsAftermath reports whether the text of a code says nothing of what became of the answers by
// itself.
func NeedsAftermath(code agui.Code) bool { _, ok := beginnings[code]; return ok }

// textFor returns what a person is told of a code. A code that is not known is the backend's own.
func textFor(code agui.Code, became Aftermath) string {
	if text, ok := wholeTexts[code]; ok {
		return text
	}
	text, ok := beginnings[code]
	if !ok {
		text = "The agent has ended with an error."
	}
	return text + consequences[became]
}
