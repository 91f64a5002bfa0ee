package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdpoint/store"
)

var errNoNote = errors.New("store: a note must have an id and a text, and a number of those that are kept")

// remember applies the step store.Remember.
func remember(rec *store.Record, now time.Time, n store.Note, most int) error {
	switch {
	case n.ID == "" || len(n.Text) == 0 || most < 1 || most > store.MaxNotes:
		return errNoNote
	case len(n.Text) > store.MaxNoteBytes:
		return fmt.Errorf(textNoteTooLong, len(n.Text), store.MaxNoteBytes)
	}
	n.ID, n.Text, n.At = strings.Clone(n.ID), slices.Clone(n.Text), now
	list := make([]store.Note, 1, len(rec.Notes)+1)
	list[0] = n
	for _, one := range rec.Notes {
		if one.ID != n.ID {
			list = append(list, one)
		}
	}
	rec.Notes = list[:min(len(list), most)]
	return nil
}
