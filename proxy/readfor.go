package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A pauseSelection says which pause the answers of a request are read for. The first attempt to
// judge the request fixes it.
type pauseSelection struct {
	pauseID string // "" if none was known
	fixed   bool
	carries bool // a request of Holdpoint's own is to carry that pause, and nothing else; see contract.Case
}

// fix keeps the pause that the first attempt was for.
func (f *pauseSelection) fix(pauseID string) {
	if !f.fixed {
		f.pauseID, f.fixed = pauseID, true
	}
}

// carry makes the request one that carries a pause.
func (f *pauseSelection) carry(pauseID string) {
	*f = pauseSelection{pauseID: pauseID, fixed: true, carries: true}
}

// toCarry returns the id of the pause that the request is to carry, "" for a client's request.
func (f *pauseSelection) toCarry() string {
	if f.carries {
		return f.pauseID
	}
	return ""
}

// find returns the pause whose ids a request names, open or ended. It is the open one if the ids
// name no pause, then the one that ended last, then nil. A pause that is fixed stays: a question
// that is open by then was asked after the request came, and the request cannot answer it.
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
