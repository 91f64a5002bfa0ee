package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A pauseSelection is the pause for which the answers of a request are read. The first attempt to
// judge the request fixes it, and later attempts use the same pause.
type pauseSelection struct {
	pauseID string // "" if no pause was known
	fixed   bool
	// Holdpoint itself sent the request, only to send the decisions about this pause; see
	// contract.Case.
	carriesPause bool
}

// fixPause sets the pause in the first attempt to judge the request. In later attempts it does
// nothing.
func (f *pauseSelection) fixPause(pauseID string) {
	if !f.fixed {
		f.pauseID, f.fixed = pauseID, true
	}
}

// carry makes the request one that sends the decisions about the pause with the given id.
func (f *pauseSelection) carry(pauseID string) {
	*f = pauseSelection{pauseID: pauseID, fixed: true, carriesPause: true}
}

// toCarry returns the id of the pause whose decisions the request sends, "" for a client's request.
func (f *pauseSelection) toCarry() string {
	if f.carriesPause {
		return f.pauseID
	}
	return ""
}

// find returns the pause that contains the ids which a request names, open or ended. If no pause
// contains them, find returns the open pause, or else the pause that ended last, or else nil. If a
// pause was already fixed, only that pause can be returned: a question that was opened since then
// cannot be the one that the request answers, because the request arrived before it.
func (f *pauseSelection) find(rec *store.Record, ids []string) (p *agui.Pause, ended bool) {
	if f.pauseID != "" {
		if rec.Pause != nil && rec.Pause.ID == f.pauseID {
			return rec.Pause, false
		}
		for _, result := range rec.Results {
			if result.PauseID == f.pauseID && result.Pause != nil {
				return result.Pause, true
			}
		}
		return nil, false
	}
	if rec.Pause != nil && slices.ContainsFunc(ids, func(id string) bool { return rec.Pause.Interrupt(id) != nil }) {
		return rec.Pause, false
	}
	known := store.Record{Results: slices.DeleteFunc(slices.Clone(rec.Results), func(r *store.Result) bool { return r.Pause == nil })}
	if result := known.ResultOf(ids...); result != nil {
		return result.Pause, true
	}
	if rec.Pause != nil {
		return rec.Pause, false
	}
	if len(rec.Results) > 0 && rec.Results[0].Pause != nil {
		return rec.Results[0].Pause, true
	}
	return nil, false
}
