package tell

import (
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/client"
	"holdpoint/store"
)

// RefusalOf returns the Refusal for a RUN_ERROR. aftermath says what became of the answers.
func RefusalOf(failed agui.Event, aftermath Aftermath) *client.Refusal {
	code := agui.Code(failed.Get("code").Str)
	return &client.Refusal{
		Code: code, Text: textFor(code, aftermath), Detail: agui.Shorten(failed.Get("message").Str),
		MayHaveRun: aftermath == MayHaveRun || code == agui.ResumeInDoubt,
	}
}

// RefusalFor returns the Refusal of a request that was refused before anything was sent to the
// backend. standing describes the answer or the end that counts instead of the request's answers;
// it is nil if there is none. answers are the refused answers, now is the time of the record, and
// nameStyle is the operator's setting HOLDPOINT_SHOW_PRINCIPAL.
func RefusalFor(runError *agui.RunError, standing *contract.Standing, answers []Answer, now time.Time, nameStyle principal.NameStyle) *client.Refusal {
	why := RefusalOf(runError.Event(), NothingDone)
	switch {
	case standing != nil:
		why.Text = standingText(standing, answers, now, nameStyle)
		why.StandingAnswers = slices.Clone(standing.Answers)
		for n := range why.StandingAnswers {
			if nameStyle != principal.ShowName {
				why.StandingAnswers[n].By = ""
			}
		}
	case runError.Code == agui.ResumeConflict:
		why.Text = contradictionText
	}
	return why
}

// aftermathOf returns what became of the answers of a pause that ended in the given way.
func aftermathOf(how store.EndKind) Aftermath {
	switch how {
	case store.Doubtful:
		return MayHaveRun
	case store.Lost:
		return NothingDone
	}
	return AnswersDelivered
}
