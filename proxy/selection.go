package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A pauseSelection is the pause that the answers of a request are read for. The first attempt to
// judge the request fixes it.
type pauseSelection struct {
	pauseID string // "" if no pause was known
	fixed   bool
	carries bool // Holdpoint itself sent the request, to carry this pause only; see contract.Case
}

// fix sets the pause in the first attempt, and does nothing in later ones.
func (f *pauseSelection) fix(pauseID string) {
	if !f.fixed {
		f.pauseID, f.fixed = pauseID, true
	}
}

// carry makes the request carry the decisions of a pause.
func (f *pauseSelection) carry(pauseID string) {
	*f = pauseSelection{pauseID: pauseID, fixed: true, carries: true}
}

// toCarry returns the id of the pause that the request carries, "" for a client's request.
func (f *pauseSelection) toCarry() string {
	if f.carries {
		return f.pauseID
	}
	return ""
}

// find returns the pause whose ids a request names, open or ended. If the ids name no pause, it is
// the open one, else the one that ended last, else nil. A fixed pause takes precedence, because a
// question that was opened since was asked after the request arrived.
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
