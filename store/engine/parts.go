package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// An openedRow is a record, with what the engine knows about its row. If the body was not read, the
// record has no pause, no doubt and no results.
type openedRow struct {
	store.Record
	bodyAt      int64 // the revision with which the body was written, 0 if there is no body
	opened, due time.Time
	forgetAt    time.Time
}

// head is the part of a record that changes often, in its stored form.
type head struct {
	Version   int              `json:"version"`
	Owner     string           `json:"owner,omitempty"`
	State     store.State      `json:"state,omitempty"`
	Token     string           `json:"token,omitempty"`
	Digest    string           `json:"digest,omitempty"`
	Lease     time.Time        `json:"lease,omitzero"`
	Occupants []store.Occupant `json:"busy,omitempty"`
	Body      int64            `json:"body,omitempty"`
	Opened    time.Time        `json:"opened,omitzero"`
	Due       time.Time        `json:"due,omitzero"`
	ForgetAt  time.Time        `json:"gone,omitzero"`
	// The outbox is in the head, so that sent notices can be removed without writing the body. The
	// disadvantage is that each renewal of a claim writes the outbox too.
	Outbox *store.Outbox `json:"outbox,omitempty"`
}

// body is the part of a record that changes rarely, in its stored form, without snapshots.
type body struct {
	Pause   *agui.Pause     `json:"pause,omitempty"`
	Doubt   *store.Result   `json:"doubt,omitempty"`
	Results []*store.Result `json:"results,omitempty"`
	Notes   []store.Note    `json:"notes,omitempty"`
}

// ErrNewer means that the record contains something that this version of Holdpoint does not know.
// This version would lose it by writing the record back.
var ErrNewer = errors.New("store: the record was written by a newer version of Holdpoint")

// open decodes a row. Its errors wrap store.ErrUnread.
func (s *Store) open(key store.Key, row Row, withBody bool) (openedRow, error) {
	o, err := s.read(key, row, withBody)
	if err != nil {
		return openedRow{}, fmt.Errorf("%w: %w", store.ErrUnread, err)
	}
	return o, nil
}

func (s *Store) read(key store.Key, row Row, withBody bool) (openedRow, error) {
	if row.Revision == 0 {
		return openedRow{}, nil
	}
	plain, err := s.keys.Load().open(sealContext(key, "head"), row.Head)
	if err != nil {
		return openedRow{}, err
	}
	var h head
	if err := decode(plain, &h); err != nil {
		return openedRow{}, err
	}
	if h.Version > store.Version {
		return openedRow{}, fmt.Errorf(textFormat, ErrNewer, h.Version, store.Version)
	}
	o := openedRow{bodyAt: h.Body, opened: h.Opened, due: h.Due, forgetAt: h.ForgetAt}
	o.Version, o.Owner, o.State, o.Token, o.Digest, o.Lease, o.Occupants = h.Version, h.Owner, h.State, h.Token, h.Digest, h.Lease, h.Occupants
	o.Outbox = h.Outbox
	if o.Outbox != nil && len(o.Outbox.Notices) == 0 {
		return openedRow{}, errors.New(textEmptyOutbox)
	}
	if !withBody || h.Body == 0 {
		return o, nil
	}
	b, ok := s.known.get(key, h.Body, row.Body)
	if !ok {
		plain, err = s.keys.Load().open(sealContext(key, "body", strconv.FormatInt(h.Body, 10)), row.Body)
		if err != nil {
			return openedRow{}, err
		}
		if err := decode(plain, &b); err != nil {
			return openedRow{}, err
		}
		s.known.put(key, h.Body, row.Body, b)
	}
	o.Pause, o.Doubt, o.Results, o.Notes = b.Pause, b.Doubt, b.Results, b.Notes
	if (o.State == store.None) != (o.Pause == nil) {
		return openedRow{}, errors.New(textStateAndPause)
	}
	return o, nil
}

// decode decodes a part of a record. If the part has an unknown key, it was written by a newer
// version of Holdpoint.
func decode(plain []byte, part any) error {
	d := json.NewDecoder(bytes.NewReader(plain))
	d.DisallowUnknownFields()
	err := d.Decode(part)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return errors.New(textBehindRecord)
	}
	if json.Valid(plain) {
		return fmt.Errorf("%w: %w", ErrNewer, err)
	}
	return errors.New(textRecordNotJSON)
}

func (s *Store) sealHead(key store.Key, o *openedRow) ([]byte, error) {
	plain, err := encode(head{
		Version: o.Version, Owner: o.Owner, State: o.State, Token: o.Token, Digest: o.Digest, Lease: o.Lease, Occupants: o.Occupants,
		Body: o.bodyAt, Opened: o.opened, Due: o.due, ForgetAt: o.forgetAt, Outbox: o.Outbox,
	})
	if err != nil {
		return nil, err
	}
	return s.keys.Load().seal(sealContext(key, "head"), plain)
}

func (s *Store) sealBody(key store.Key, o *openedRow) ([]byte, error) {
	plain, err := encode(body{Pause: o.Pause, Doubt: o.Doubt, Results: o.Results, Notes: o.Notes})
	if err != nil {
		return nil, err
	}
	return s.keys.Load().seal(sealContext(key, "body", strconv.FormatInt(o.bodyAt, 10)), plain)
}

// maxDepth is how deep encoding/json reads nested values. When it writes, it applies this limit to
// each json.RawMessage alone. So it writes records that it cannot read.
const maxDepth = 10_000

// encode encodes a part of a record. It does not use json.Marshal, because that escapes HTML
// characters and would change the bytes of JSON in the record. It returns an error if decode could
// not read the text.
func encode(part any) ([]byte, error) {
	text, err := agui.Marshal(part)
	if err == nil && len(text) > 2*maxDepth && agui.DeeperThan(text, maxDepth) {
		err = fmt.Errorf(textNestedTooDeep, maxDepth)
	}
	if err != nil {
		return nil, fmt.Errorf(textNotWritten, err)
	}
	return text, nil
}

func snapshotName(r rules.Ref) string { return string(r.At) + "-" + r.PauseID }

func (s *Store) sealSnapshots(key store.Key, name string, snapshots store.Snapshots) ([]byte, error) {
	plain, err := encode(snapshots)
	if err != nil {
		return nil, err
	}
	return s.keys.Load().seal(sealContext(key, "snapshots", name), plain)
}

func (s *Store) openSnapshots(key store.Key, name string, sealed []byte) (store.Snapshots, error) {
	var shown store.Snapshots
	plain, err := s.keys.Load().open(sealContext(key, "snapshots", name), sealed)
	if err == nil {
		err = decode(plain, &shown)
	}
	return shown, err
}
