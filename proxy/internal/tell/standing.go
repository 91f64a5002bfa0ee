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
// text says what counts, since when and by whom, and that the answer was not used. answers are the
// refused answers. The text contains a name only if HOLDPOINT_SHOW_PRINCIPAL permits it.
func standingText(s *contract.Standing, answers []Answer, now time.Time, nameStyle principal.NameStyle) string {
	notUsed := noteUnused(answers)
	by := func(name string) string {
		if name == "" || nameStyle != principal.ShowName {
			return ""
		}
		return fmt.Sprintf(answerBy, agui.Shorten(name))
	}
	switch s.State {
	case contract.KeptByBackend:
		return fmt.Sprintf(standKept, notUsed)
	case contract.ClosedUnanswered:
		return fmt.Sprintf(standClosed, timeText(s.At, now)+placeOf(s.Door)+by(s.By), notUsed)
	case contract.ClosedByTime:
		return fmt.Sprintf(standClosedByTime, timeText(s.At, now), notUsed)
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
		return fmt.Sprintf(standCarried, notUsed)
	case len(phrases) == 0:
		text = fmt.Sprintf(standAnswered, timeText(s.At, now))
	case len(phrases) == 1 && count[phrases[0]] == 1:
		text = fmt.Sprintf(standOne, phrases[0])
	case len(phrases) == 1:
		text = fmt.Sprintf(standSame, phrases[0])
	default:
		for n, phrase := range phrases {
			was := standPartOne
			if count[phrase] > 1 {
				was = standPart
			}
			phrases[n] = fmt.Sprintf(was, count[phrase], phrase)
		}
		text = fmt.Sprintf(standParts, len(s.Answers), strings.Join(phrases, standJoin))
	}
	switch {
	case s.State == contract.BeingCarried:
		text += standGoesOn
	case s.Failed:
		text += standFailed
	}
	return text + ". " + notUsed
}

// An Answer is an answer of the request, as far as a text for people mentions it.
type Answer struct {
	Status  agui.Status
	Verdict string // "approved", "denied", or "" if neither is known
}

// noteUnused returns the sentence for a person that the given answers were not used.
func noteUnused(answers []Answer) string {
	noun := ""
	for _, one := range answers {
		if is := nounOf(one); noun == "" || is == noun {
			noun = is
		} else {
			return unusedAnswers
		}
	}
	return fmt.Sprintf(unusedAnswer, cmp.Or(noun, nounAnswer))
}

func nounOf(a Answer) string {
	switch {
	case a.Status == agui.Cancelled:
		return nounCancellation
	case a.Verdict == agui.VerdictApproved:
		return nounApproval
	case a.Verdict == agui.VerdictDenied:
		return nounDenial
	}
	return nounAnswer
}

func pastOf(status agui.Status, verdict string) string {
	if status == agui.Cancelled {
		return answerCancelled
	}
	return cmp.Or(verdict, answerAnswered)
}

// placeOf returns the phrase that says where an answer was given.
func placeOf(door string) string {
	switch door {
	case "desk":
		return answerAtDesk
	case "", "chat":
		return answerInChat
	}
	return answerElsewhere
}

// timeText returns a phrase with the time in UTC, because it is not known in which time zone the
// person is. If the day is today, the phrase does not contain it.
func timeText(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	switch {
	case at.IsZero():
		return timeUnknown
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		return at.Format(timeToday)
	}
	return at.Format(timeOtherDay)
}
