package contract

import (
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestQuestionThatCanOnlyBeCancelled tests questions with CancelOnly. Holdpoint does not know the
// content of such a question, or does not know what became of it.
func TestQuestionThatCanOnlyBeCancelled(t *testing.T) {
	lost, other := interrupt("x", ""), interrupt("y", "")
	lost.CancelOnly = true
	open := func(list ...agui.Interrupt) store.Record {
		return store.Record{Now: testNow, State: store.Open, Pause: testPause(list...)}
	}
	for name, c := range map[string]struct {
		record   store.Record
		answers  []agui.Answer
		messages []string
		do       Act
		code     agui.Code
		fresh    int
	}{
		"cancelled":                  {record: open(lost), answers: []agui.Answer{cancelled("x")}, do: Resume},
		"cancelled beside a message": {record: open(lost), answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser, newUser}, do: Resume, fresh: 1},
		"approved":                   {record: open(lost), answers: []agui.Answer{resolved("x", `{"approved":true}`)}, do: Refuse, code: agui.InvalidPayload},
		"any payload":                {record: open(lost), answers: []agui.Answer{resolved("x", "")}, do: Refuse, code: agui.InvalidPayload},
		"a new message cancels it":   {record: open(lost), messages: []string{oldUser, newUser}, do: Resume, fresh: 1},
		"not if another waits":       {record: open(lost, other), messages: []string{oldUser, newUser}, do: Refuse, code: agui.PendingInterrupts},
		"a reload is told it again":  {record: open(lost), messages: []string{oldUser}, do: TellAgain},
		"the other one can be answered": {
			record: open(lost, other), answers: []agui.Answer{cancelled("x"), resolved("y", "true")}, do: Resume,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Judge(&Case{Input: agui.RunInput{Messages: messages(c.messages...), HasResume: c.answers != nil}, Answers: c.answers, Record: c.record, Valid: validate})
			if r.Do != c.do || len(r.NewMessages) != c.fresh || (r.Refusal == nil) != (c.code == "") || r.Refusal != nil && (r.Refusal.Code != c.code || !r.AsksAgain) {
				t.Fatalf("%+v", r)
			}
			for _, a := range r.Answers {
				if a.ID == "x" && a.Status != agui.Cancelled {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}

// TestCancelEndsWhatKeepsAnAnswer tests a backend that keeps the first answer to a question, and
// ends its waiting run when it gets a cancel. A cancel must reach this backend as a cancel, in
// whatever form the client sent it. Of all other answers, only the kept answer may be sent.
func TestCancelEndsWhatKeepsAnAnswer(t *testing.T) {
	ends := func(r store.Record) store.Record {
		if r.Pause != nil {
			r.Pause.CancelEnds = true
		}
		for _, result := range r.Results {
			result.Pause.CancelEnds = true
		}
		return r
	}
	back := func(how store.EndKind) store.Record { return ends(comesBack(how, endedBadly)) }
	expired := back(store.Finished)
	expired.Pause.Interrupts[0].Object = interrupt("x2", `,"expiresAt":"`+testNow.Add(-time.Minute).Format(time.RFC3339)+`"`).Object
	reopened := ends(endedRecord(store.Finished, endedBadly))
	reopened.State, reopened.Pause = store.Open, testPause(interrupt("x", ""))
	reopened.Pause.KeepsFirstAnswer, reopened.Pause.CancelEnds = true, true
	for name, c := range map[string]struct {
		record   store.Record
		answers  []agui.Answer
		messages []string
		carry    bool
		do       Act
		end      bool
		fresh    int
	}{
		"cancelled":                    {record: back(store.Finished), answers: []agui.Answer{cancelled("x2")}, do: Resume, end: true},
		"cancelled behind a doubt":     {record: back(store.Doubtful), answers: []agui.Answer{cancelled("x2")}, do: Resume, end: true},
		"cancelled beside a message":   {record: back(store.Finished), answers: []agui.Answer{cancelled("x2")}, messages: []string{oldUser, newUser}, do: Resume, end: true, fresh: 1},
		"cancelled at the desk":        {record: back(store.Finished), answers: []agui.Answer{cancelled("x2")}, carry: true, do: Resume, end: true},
		"expired, and a message":       {record: expired, messages: []string{oldUser, newUser}, do: Resume, end: true, fresh: 1},
		"denied":                       {record: back(store.Finished), answers: []agui.Answer{resolved("x2", "false")}, do: Refuse},
		"approved again":               {record: back(store.Finished), answers: []agui.Answer{resolved("x2", "true")}, do: Resume},
		"a message alone":              {record: back(store.Finished), messages: []string{oldUser, newUser}, do: Refuse},
		"cancelled after a good end":   {record: ends(comesBack(store.Finished, endedWell)), answers: []agui.Answer{cancelled("x2")}, do: Resume},
		"cancelled right behind it":    {record: ends(endedRecord(store.Finished, endedBadly)), answers: []agui.Answer{cancelled("x")}, do: Reopen},
		"with a message":               {record: ends(endedRecord(store.Finished, endedBadly)), answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser, newUser}, do: Reopen},
		"and then":                     {record: reopened, answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser, newUser}, do: Resume, end: true, fresh: 1},
		"cancelled where nothing ends": {record: comesBack(store.Finished, endedBadly), answers: []agui.Answer{cancelled("x2")}, do: EmptyRun},
	} {
		t.Run(name, func(t *testing.T) {
			q := Case{
				Input: agui.RunInput{Messages: messages(c.messages...), HasResume: c.answers != nil}, Answers: c.answers, Record: c.record,
				ForwardsCancel: func(*agui.Pause) bool { return true }, Valid: validate,
			}
			if c.carry {
				q.Carry = c.record.Pause.ID
			}
			if r := Judge(&q); r.Do != c.do || r.EndOnly != c.end || len(r.NewMessages) != c.fresh {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestCancelOfADoubt: a pause is in doubt, and the client cancels it. If the backend reads a cancel
// as a denial, Holdpoint must send the cancel to the backend.
func TestCancelOfADoubt(t *testing.T) {
	two := endedRecord(store.Doubtful, endedBadly)
	two.Results[0].Pause = testPause(interrupt("x", ""), interrupt("y", ""))
	two.Results[0].IDs = []string{"x", "y"}
	tomb := endedRecord(store.Doubtful, "")
	tomb.Results[0].Tombstone, tomb.Results[0].Pause = true, nil
	next := endedRecord(store.Doubtful, "")
	next.State, next.Pause = store.Open, testPause(interrupt("z", ""))
	for name, c := range map[string]struct {
		record  store.Record
		answers []agui.Answer
		never   bool // the backend does not read a cancel as a denial
		do      Act
	}{
		"a cancel":                   {record: endedRecord(store.Doubtful, endedBadly), answers: []agui.Answer{cancelled("x")}, do: Reopen},
		"of a backend that takes it": {record: endedRecord(store.Doubtful, endedBadly), answers: []agui.Answer{cancelled("x")}, never: true, do: EmptyRun},
		"an answer":                  {record: endedRecord(store.Doubtful, endedBadly), answers: []agui.Answer{resolved("x", "false")}, do: Refuse},
		"the same answer":            {record: endedRecord(store.Doubtful, endedBadly), answers: []agui.Answer{resolved("x", "true")}, do: Refuse},
		"both cancelled":             {record: two, answers: []agui.Answer{cancelled("y"), cancelled("x")}, do: Reopen},
		"one of two":                 {record: two, answers: []agui.Answer{cancelled("x")}, do: EmptyRun},
		"one of two is no cancel":    {record: two, answers: []agui.Answer{cancelled("x"), resolved("y", "true")}, do: Refuse},
		"it ended":                   {record: endedRecord(store.Finished, endedBadly), answers: []agui.Answer{cancelled("x")}, do: EmptyRun},
		"it ended well":              {record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{cancelled("x")}, do: Refuse},
		"it is lost":                 {record: endedRecord(store.Lost, ""), answers: []agui.Answer{cancelled("x")}, do: EmptyRun},
		"it is hardly known":         {record: tomb, answers: []agui.Answer{cancelled("x")}, do: EmptyRun},
		"another is open":            {record: next, answers: []agui.Answer{cancelled("x")}, do: TellAgain},
	} {
		t.Run(name, func(t *testing.T) {
			frees := func(*agui.Pause) bool { return !c.never }
			r := Judge(&Case{Input: agui.RunInput{HasResume: true}, Answers: c.answers, Record: c.record, ForwardsCancel: frees, Valid: validate})
			if r.Do != c.do || (r.Do == Reopen) != (r.Replay != nil) {
				t.Fatalf("%+v", r)
			}
		})
	}
}

// TestUnusedAnswerIsReported: a request has a new message, and repeats an answer whose run failed,
// is in doubt or is lost. Holdpoint must send the message to the backend, and must tell the client
// that the answer was not used.
func TestUnusedAnswerIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		record  store.Record
		answers []agui.Answer
		code    agui.Code
	}{
		"in doubt":       {endedRecord(store.Doubtful, endedBadly), []agui.Answer{resolved("x", "true")}, agui.ResumeInDoubt},
		"in an error":    {endedRecord(store.Finished, endedBadly), []agui.Answer{resolved("x", "true")}, agui.ResumeConflict},
		"lost":           {endedRecord(store.Lost, endedBadly), []agui.Answer{resolved("x", "true")}, agui.BackendLostInterrupt},
		"well":           {endedRecord(store.Finished, endedWell), []agui.Answer{resolved("x", "true")}, ""},
		"it is a cancel": {endedRecord(store.Finished, endedBadly), []agui.Answer{cancelled("x")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Judge(&Case{Input: agui.RunInput{HasResume: true, Messages: messages(oldUser, newUser)}, Answers: c.answers, Record: c.record, Valid: validate})
			if r.Do != Pass || (r.AnswersUnused == nil) != (c.code == "") || r.AnswersUnused != nil && r.AnswersUnused.Code != c.code {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestAnswerToADoubtWithAnotherQuestionOpen: a pause is in doubt, and a question of a later pause
// is open. The client answers the first pause. It must get the refusal together with the open
// question. The open question alone would look as if the answer had been accepted.
func TestAnswerToADoubtWithAnotherQuestionOpen(t *testing.T) {
	for name, test := range map[string]struct {
		how    store.EndKind
		finish string
		code   agui.Code
	}{
		"in doubt": {store.Doubtful, "", agui.ResumeInDoubt},
		"lost":     {store.Lost, "", agui.BackendLostInterrupt},
		"failed":   {store.Finished, endedBadly, agui.ResumeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			record := endedRecord(test.how, test.finish)
			record.State, record.Pause = store.Open, testPause(interrupt("z", ""))
			list := messages(oldUser, newUser)
			record.Pause.SeenMessages = append(record.Pause.SeenMessages, agui.NewSeenMessage(list[1]))
			r := Judge(&Case{Input: agui.RunInput{Messages: list, HasResume: true}, Answers: []agui.Answer{resolved("x", "true")}, Record: record, Valid: validate})
			if r.Do != Refuse || r.Refusal.Code != test.code || !r.AsksAgain {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestMessageThatWouldLockTheThread: a pause is in doubt, and a message would lock the thread. The
// pause must be reopened once, so that it is cancelled before the message is sent.
func TestMessageThatWouldLockTheThread(t *testing.T) {
	cancelledSince := endedRecord(store.Doubtful, endedBadly)
	cancelledSince.Results = append([]*store.Result{{PauseID: "p2", EndKind: store.Finished, Pause: testPause(interrupt("y", ""))}}, cancelledSince.Results...)
	tomb := endedRecord(store.Doubtful, "")
	tomb.Results[0].Tombstone, tomb.Results[0].Pause = true, nil
	for name, c := range map[string]struct {
		record store.Record
		locks  bool
		do     Act
	}{
		"in doubt":                      {endedRecord(store.Doubtful, endedBadly), true, Reopen},
		"in doubt, and nothing locks":   {endedRecord(store.Doubtful, endedBadly), false, Pass},
		"it ended":                      {endedRecord(store.Finished, endedBadly), true, Pass},
		"it was cancelled since":        {cancelledSince, true, Pass},
		"it is hardly known":            {tomb, true, Pass},
		"a thread without any question": {store.Record{Now: testNow}, true, Pass},
	} {
		t.Run(name, func(t *testing.T) {
			locks := func(*agui.Pause) bool { return c.locks }
			r := Judge(&Case{Input: agui.RunInput{Messages: messages(oldUser, newUser)}, Record: c.record, LocksThread: locks, Valid: validate})
			if r.Do != c.do || (r.Do == Reopen) != (r.Replay != nil) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestQuestionThatOnlyAClientKnows: the client names a question that no record has. If the backend
// is known, Holdpoint must send a cancel of this question. It must also cancel the question before
// it sends a message that would lock the thread. No other request may reopen the question.
func TestQuestionThatOnlyAClientKnows(t *testing.T) {
	named := testPause(interrupt("x", ""), interrupt("y", ""))
	for name, c := range map[string]struct {
		record   store.Record
		answers  []agui.Answer
		messages []string
		locks    bool
		named    *agui.Pause
		do       Act
		asks     int
	}{
		"a message that would lock":        {messages: []string{oldUser, newUser}, locks: true, named: named, do: Reopen, asks: 2},
		"a message":                        {messages: []string{oldUser, newUser}, named: named, do: Pass},
		"a message, and nothing is named":  {messages: []string{oldUser, newUser}, locks: true, do: Pass},
		"a cancel":                         {answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser, assistant}, named: named, do: Reopen, asks: 1},
		"a cancel of both, with a message": {answers: []agui.Answer{cancelled("x"), cancelled("y")}, messages: []string{oldUser, newUser}, named: named, do: Reopen, asks: 2},
		"a cancel beside another's":        {answers: []agui.Answer{cancelled("x"), cancelled("z")}, messages: []string{oldUser, assistant}, named: named, do: EmptyRun},
		"an approval":                      {answers: []agui.Answer{resolved("x", "true")}, messages: []string{oldUser}, locks: true, named: named, do: Refuse},
		"a denial":                         {answers: []agui.Answer{resolved("x", "false")}, messages: []string{oldUser}, locks: true, named: named, do: Refuse},
		"another question is open":         {record: store.Record{Now: testNow, State: store.Open, Pause: testPause(interrupt("z", ""))}, answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser}, locks: true, named: named, do: TellAgain},
	} {
		t.Run(name, func(t *testing.T) {
			if c.record.Now.IsZero() {
				c.record.Now = testNow
			}
			r := Judge(&Case{
				Input: agui.RunInput{HasResume: len(c.answers) > 0, Messages: messages(c.messages...)}, Answers: c.answers, Record: c.record,
				LocksThread: func(*agui.Pause) bool { return c.locks }, NamedPause: c.named, Valid: validate,
			})
			if r.Do != c.do {
				t.Fatalf("%+v", r)
			}
			if r.Do == Reopen && len(r.Replay.Pause.Interrupts) != c.asks {
				t.Errorf("opens %+v", r.Replay.Pause.Interrupts)
			}
		})
	}
}

// TestCancelThatIsNotSent: Holdpoint does not send a cancel to the backend, although the backend
// may still wait. The person must be told that the cancel was not sent.
func TestCancelThatIsNotSent(t *testing.T) {
	tomb := endedRecord(store.Doubtful, "")
	tomb.Results[0].Tombstone, tomb.Results[0].Pause = true, nil
	for name, c := range map[string]struct {
		record   store.Record
		messages []string
		do       Act
		code     agui.Code
	}{
		"nobody knows the question":            {store.Record{Now: testNow}, []string{oldUser, assistant}, EmptyRun, agui.UnknownInterruptID},
		"it is in doubt":                       {endedRecord(store.Doubtful, endedBadly), []string{oldUser}, EmptyRun, agui.ResumeInDoubt},
		"it is hardly known":                   {tomb, []string{oldUser, assistant}, EmptyRun, ""},
		"it ended in an error, which was told": {endedRecord(store.Finished, endedBadly), []string{oldUser}, EmptyRun, ""},
		"its backend has lost it":              {endedRecord(store.Lost, ""), []string{oldUser}, EmptyRun, ""},
		"a message beside it is answered":      {store.Record{Now: testNow}, []string{oldUser, newUser}, Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Judge(&Case{Input: agui.RunInput{HasResume: true, Messages: messages(c.messages...)}, Answers: []agui.Answer{cancelled("x")}, Record: c.record, Valid: validate})
			if r.Do != c.do || (r.AnswersUnused == nil) != (c.code == "") || r.AnswersUnused != nil && r.AnswersUnused.Code != c.code {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestPassesHere: a request names a question of another thread, and the record of that thread lets
// the request pass. Then the record of the request's own thread must judge the request too. The own
// thread may be locked, or may have an end that its chat has not seen.
func TestPassesHere(t *testing.T) {
	unseen := endedRecord(store.Finished, endedWell)
	unseen.Results[0].EndUnseen = true
	late := agui.Errorf(agui.ResumeConflict, "too late")
	decided := store.Record{Now: testNow, State: store.Open, Pause: testPause(interrupt("x", ""))}
	decided.Pause.Decisions = []agui.Decision{{Question: "x", Status: agui.Resolved, Payload: []byte("true")}}
	for name, c := range map[string]struct {
		own  store.Record
		do   Act
		miss bool
	}{
		"nothing was asked there":         {store.Record{Now: testNow}, Pass, false},
		"its question has ended":          {endedRecord(store.Finished, endedWell), Pass, false},
		"its question was decided for it": {unseen, Pass, true},
		"its question ended in doubt":     {endedRecord(store.Doubtful, endedBadly), Reopen, false},
		"and nothing is new there":        {unseen, Replay, false},
		"its question is decided":         {decided, Resume, false},
	} {
		t.Run(name, func(t *testing.T) {
			list := []string{oldUser, assistant, newUser}
			if c.do == Replay {
				list = list[:1]
			}
			there := Ruling{Do: Pass, OmittedParts: OmitArray, AnswersUnused: late}
			r := PassesHere(&Case{
				Input: agui.RunInput{HasResume: true, Messages: messages(list...)}, Answers: []agui.Answer{cancelled("x")}, Record: c.own,
				LocksThread: func(*agui.Pause) bool { return true }, Valid: validate,
			}, there)
			if r.Do != c.do || (r.MissedEnd != nil) != c.miss || r.Do != Resume && c.miss != (len(r.NewMessages) > 0) {
				t.Fatalf("%+v", r)
			}
			if r.Do == Resume && r.AnswersUnused != late {
				t.Errorf("it looks as if the answers had been taken: %+v", r)
			}
			if r.Do == Pass && (r.OmittedParts != there.OmittedParts || r.AnswersUnused != late) {
				t.Errorf("what was ruled there is lost: %+v", r)
			}
		})
	}
}
