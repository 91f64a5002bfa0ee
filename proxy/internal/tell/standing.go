package tell

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
)

// standingText returns the text about an answer that was refused because something else counts. The
// text says what counts, since when and by whom, and that the answer was not used. said are the
// refused answers. The text contains a name only if HOLDPOINT_SHOW_PRINCIPAL permits it.
func standingText(s *contract.Standing, said []Answer, now time.Time, shown principal.NameStyle) string {
	notUsed := noteUnused(said)
	by := func(name string) string {
		if name == "" || shown != principal.ShowName {
			return ""
		}
		return " by " + agui.Shorten(name)
	}
	switch s.State {
	case contract.KeptByBackend:
		return "The agent keeps the first answer to this question, and would act on that whatever is said now. " + notUsed +
			" You can give the first answer again, or cancel."
	case contract.ClosedUnanswered:
		return "This question was closed without an answer " + timeText(s.At, now) + placeOf(s.Door) + by(s.By) + ". " + notUsed
	case contract.ClosedByTime:
		return "Nobody answered this question in time, and it was closed " + timeText(s.At, now) + ". " + notUsed
	}
	var phrases []string
	count := map[string]int{}
	for _, a := range s.Answers {
		phrase := pastOf(a.Status, a.Verdict) + " " + timeText(a.At, now) + placeOf(a.Door) + by(a.By)
		if count[phrase]++; count[phrase] == 1 {
			phrases = append(phrases, phrase)
		}
	}
	var text string
	switch {
	case len(phrases) == 0 && s.State == contract.BeingCarried:
		return "Another answer is being carried out. " + notUsed
	case len(phrases) == 0:
		text = "This was answered " + timeText(s.At, now)
	case len(phrases) == 1 && count[phrases[0]] == 1:
		text = "This was " + phrases[0]
	case len(phrases) == 1:
		text = "These were " + phrases[0]
	default:
		for n, phrase := range phrases {
			was := " was "
			if count[phrase] > 1 {
				was = " were "
			}
			phrases[n] = fmt.Sprint(count[phrase]) + was + phrase
		}
		text = fmt.Sprintf("Of %d questions ", len(s.Answers)) + strings.Join(phrases, ", and ")
	}
	switch {
	case s.State == contract.BeingCarried:
		text += ", and that is being carried out"
	case s.Failed:
		text += ", and the agent's run ended with an error"
	}
	return text + ". " + notUsed
}

// An Answer is an answer of the request, as far as a text for people mentions it.
type Answer struct {
	Status  agui.Status
	Verdict string // "approved", "denied", or "" if neither is known
}

// noteUnused returns the sentence for a person that the answers in said were not used.
func noteUnused(said []Answer) string {
	noun := ""
	for _, one := range said {
		if is := nounOf(one); noun == "" || is == noun {
			noun = is
		} else {
			return "Your answers were not used."
		}
	}
	return "Your " + cmp.Or(noun, "answer") + " was not used."
}

func nounOf(a Answer) string {
	switch {
	case a.Status == agui.Cancelled:
		return "cancellation"
	case a.Verdict == agui.VerdictApproved:
		return "approval"
	case a.Verdict == agui.VerdictDenied:
		return "denial"
	}
	return "answer"
}

func pastOf(status agui.Status, says string) string {
	if status == agui.Cancelled {
		return "cancelled"
	}
	return cmp.Or(says, "answered")
}

// placeOf returns the phrase that says where an answer was given.
func placeOf(door string) string {
	switch door {
	case "desk":
		return " at the desk"
	case "", "chat":
		return " in this chat"
	}
	return " elsewhere"
}

// timeText returns a phrase with the time in UTC, because it is not known in which time zone the
// person is. If the day is today, the phrase does not contain it.
func timeText(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	switch {
	case at.IsZero():
		return "already"
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		return "at " + at.Format("15:04 UTC")
	}
	return "on " + at.Format("2 January 2006 at 15:04 UTC")
}
