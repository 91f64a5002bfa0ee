package tell

import (
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
)

// TestStandingText: a person answers too late, and Holdpoint shows a text. The text must say which
// decision counts, when and where it was made, and by whom if names are shown. It must also say
// that the person's own answer was not used. It must omit the day only if the day is today, and
// each time must have its zone.
func TestStandingText(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	at := time.Date(2026, 11, 27, 12, 4, 30, 0, time.FixedZone("", 3600))
	yes := contract.StandingAnswer{ID: "a", Status: agui.Resolved, Verdict: "approved", At: at, Door: "desk", By: "Maria"}
	no := contract.StandingAnswer{ID: "b", Status: agui.Resolved, Verdict: "denied", At: at, Door: "desk", By: "Maria"}
	chat := contract.StandingAnswer{ID: "a", Status: agui.Resolved, Verdict: "approved", At: at, Door: "chat"}
	free := contract.StandingAnswer{ID: "a", Status: agui.Resolved, At: at.AddDate(0, 0, -1), Door: "chat"}
	cancelled := contract.StandingAnswer{ID: "a", Status: agui.Cancelled, At: at, Door: "chat"}
	denial, approval := Answer{agui.Resolved, "denied"}, Answer{agui.Resolved, "approved"}
	answers := func(list ...contract.StandingAnswer) contract.Standing {
		return contract.Standing{At: at, Answers: list}
	}
	failed, carried, waiting := answers(chat), answers(yes), answers(yes)
	failed.Failed, carried.State, waiting.State = true, contract.BeingCarried, contract.DecidedElsewhere
	for name, c := range map[string]struct {
		stands contract.Standing
		said   []Answer
		shown  principal.NameStyle
		want   string
	}{
		"denied, and approved at the desk":   {answers(yes), []Answer{denial}, principal.ShowHash, "This was approved at 11:04 UTC at the desk. Your denial was not used."},
		"by whom":                            {answers(yes), []Answer{denial}, principal.ShowName, "This was approved at 11:04 UTC at the desk by Maria. Your denial was not used."},
		"names are not shown":                {answers(yes), []Answer{denial}, principal.ShowNone, "This was approved at 11:04 UTC at the desk. Your denial was not used."},
		"approved, and approved in the chat": {answers(chat), []Answer{approval}, "", "This was approved at 11:04 UTC in this chat. Your approval was not used."},
		"yesterday, by an answer":            {answers(free), []Answer{{Status: agui.Resolved}}, "", "This was answered on 26 November 2026 at 11:04 UTC in this chat. Your answer was not used."},
		"cancelled":                          {answers(cancelled), []Answer{{Status: agui.Cancelled}}, "", "This was cancelled at 11:04 UTC in this chat. Your cancellation was not used."},
		"two, the same":                      {answers(yes, yes), []Answer{denial, denial}, "", "These were approved at 11:04 UTC at the desk. Your denial was not used."},
		"two, not the same":                  {answers(yes, no), []Answer{denial, approval}, "", "Of 2 questions 1 was approved at 11:04 UTC at the desk, and 1 was denied at 11:04 UTC at the desk. Your answers were not used."},
		"it failed":                          {failed, []Answer{denial}, "", "This was approved at 11:04 UTC in this chat, and the agent's run ended with an error. Your denial was not used."},
		"on its way":                         {carried, []Answer{denial}, "", "This was approved at 11:04 UTC at the desk, and that is being carried out. Your denial was not used."},
		"on its way, from the chat":          {contract.Standing{State: contract.BeingCarried}, []Answer{denial}, "", "Another answer is being carried out. Your denial was not used."},
		"decided, and not carried yet":       {waiting, []Answer{denial}, "", "This was approved at 11:04 UTC at the desk. Your denial was not used."},
		"the backend keeps another":          {contract.Standing{State: contract.KeptByBackend}, []Answer{denial}, "", "The agent keeps the first answer to this question, and would act on that whatever is said now. Your denial was not used. You can give the first answer again, or cancel."},
		"freed at the desk":                  {contract.Standing{State: contract.ClosedUnanswered, At: at, Door: "desk", By: "Maria"}, []Answer{approval}, principal.ShowName, "This question was closed without an answer at 11:04 UTC at the desk by Maria. Your approval was not used."},
		"nobody came":                        {contract.Standing{State: contract.ClosedByTime, At: at.AddDate(0, -1, 0), Door: "retention"}, []Answer{approval}, "", "Nobody answered this question in time, and it was closed on 27 October 2026 at 11:04 UTC. Your approval was not used."},
		"nobody knows the answer any more":   {contract.Standing{At: at.AddDate(0, 0, -2)}, []Answer{approval}, "", "This was answered on 25 November 2026 at 11:04 UTC. Your approval was not used."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := standingText(&c.stands, c.said, now, c.shown); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
