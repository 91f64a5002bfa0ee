package rules

import (
	"encoding/json"
	"testing"
	"time"

	"holdpoint/store"
)

func TestOutbox(t *testing.T) {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	var rec store.Record
	if Post(&rec, now, nil) != 0 || rec.Outbox != nil || !Notify(&rec).IsZero() || Format(&rec) != 0 {
		t.Fatal("without notices there is an outbox")
	}
	large := store.Notice{ID: "large", Body: make(json.RawMessage, store.MaxNoticeBytes+1)}
	if lost := Post(&rec, now, []store.Notice{large}); lost != 1 || rec.Outbox != nil {
		t.Fatalf("a large notice: %d lost, outbox %v", lost, rec.Outbox)
	}
	Post(&rec, now, []store.Notice{{ID: "one"}, {ID: "two"}, {ID: "one"}})
	before := *rec.Outbox
	if len(before.Notices) != 2 || !Notify(&rec).Equal(now) || Format(&rec) != store.Version {
		t.Fatalf("the outbox is %+v, format %d", before, Format(&rec))
	}
	// No step may write into the memory that a loaded record refers to.
	loaded := rec
	if taken, _ := takeNotices(&rec, now, time.Minute); len(taken) != 2 {
		t.Errorf("took %v", taken)
	}
	if taken, _ := takeNotices(&rec, now.Add(time.Minute-1), time.Minute); taken != nil {
		t.Errorf("took %v within the hold", taken)
	}
	if taken, _ := takeNotices(&rec, now.Add(time.Minute), time.Minute); len(taken) != 2 {
		t.Errorf("took %v after the hold", taken)
	}
	applySent(&rec, now, store.Sent{IDs: []string{"one"}, Wait: time.Hour})
	Post(&rec, now, []store.Notice{{ID: "three"}})
	if len(rec.Outbox.Notices) != 2 || !rec.Outbox.Due.Equal(now.Add(time.Hour)) {
		t.Errorf("after a new notice: %+v", rec.Outbox)
	}
	if o := loaded.Outbox; len(o.Notices) != 2 || o.Notices[0].ID != "one" || !o.Due.Equal(now) {
		t.Errorf("the loaded record has changed: %+v", o)
	}
	// A record with notices to send is kept until the notices are too old, and no longer.
	if gone := ForgetTime(&rec, now, Policy{}); !gone.Equal(now.Add(store.NoticeAge)) {
		t.Errorf("gone at %v", gone)
	}
	if GiveUpNotices(&rec, now.Add(store.NoticeAge-1)) != 0 || GiveUpNotices(&rec, now.Add(store.NoticeAge)) != 2 || rec.Outbox != nil {
		t.Errorf("what is overdue stays: %+v", rec.Outbox)
	}
}
