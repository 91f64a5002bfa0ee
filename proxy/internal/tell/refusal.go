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

// RefusalOf returns the Refusal for a RUN_ERROR, with the outcome of the answers.
func RefusalOf(failed agui.Event, became Aftermath) *client.Refusal {
	code := agui.Code(failed.Get("code").Str)
	return &client.Refusal{
		Code: code, Text: textFor(code, became), Detail: agui.Cut(failed.Get("message").Str),
		MayHaveRun: became == MayHaveRun || code == agui.ResumeInDoubt,
	}
}

// Why returns the Refusal of a request that was refused before anything was sent. stands is what
// counts in place of its answers, nil if nothing does. answers are the refused answers, now is the
// time of the record, and shown says which names may be shown.
func Why(refused *agui.RunError, stands *contract.Standing, answers []Answer, now time.Time, shown principal.NameStyle) *client.Refusal {
	why := RefusalOf(refused.Event(), NothingDone)
	switch {
	case stands != nil:
		why.Text = standingText(stands, answers, now, shown)
		why.Stands = slices.Clone(stands.Answers)
		for n := range why.Stands {
			if shown != principal.ShowName {
				why.Stands[n].By = ""
			}
		}
	case refused.Code == agui.ResumeConflict:
		why.Text = contradictionText
	}
	return why
}

// aftermathOf returns the outcome of the answers of a pause that ended in this way.
func aftermathOf(how store.How) Aftermath {
	switch how {
	case store.Doubtful:
		return MayHaveRun
	case store.Lost:
		return NothingDone
	}
	return Delivered
}
