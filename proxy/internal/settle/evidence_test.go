package settle_test

import (
	"testing"

	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// The tables below use these exchanges.
var (
	prepares = translate.Out{Path: "/prepare"}
	answers  = translate.Out{Resumes: true}
	nothing  = translate.Out{None: true}
)

// An exchange is a request to the backend, with its Out. connected is true if it got a connection
// to the backend.
type exchange struct {
	out       translate.Out
	connected bool
}

// evidenceOf returns the Evidence after these exchanges.
func evidenceOf(list ...exchange) (e settle.Evidence) {
	for _, one := range list {
		e = e.Next(&one.out)
		e.Connected = one.connected
	}
	return e
}

func TestEvidence(t *testing.T) {
	for situation, c := range map[string]struct {
		exchanges      []exchange
		sent, onlyHere bool
	}{
		"nothing was begun":                                            {},
		"the answers found no connection":                              {[]exchange{{answers, false}}, false, true},
		"the answers may have gone out":                                {[]exchange{{answers, true}}, true, true},
		"a preparing exchange went out":                                {[]exchange{{prepares, true}}, false, false},
		"the answers follow a preparing exchange":                      {[]exchange{{prepares, true}, {answers, true}}, true, true},
		"the answers find no connection after a preparing exchange":    {[]exchange{{prepares, true}, {answers, false}}, false, true},
		"an exchange follows the answers":                              {[]exchange{{answers, true}, {prepares, true}}, true, false},
		"an exchange follows answers that found no connection":         {[]exchange{{answers, false}, {prepares, true}}, false, false},
		"a second exchange with answers finds no connection":           {[]exchange{{answers, true}, {answers, false}}, true, false},
		"a second exchange with answers follows one that was not sent": {[]exchange{{answers, false}, {answers, true}}, true, true},
		"an exchange that is not sent":                                 {[]exchange{{nothing, false}}, false, false},
		"the question was answered, and then nothing is sent":          {[]exchange{{answers, true}, {nothing, false}}, true, false},
	} {
		t.Run(situation, func(t *testing.T) {
			e := evidenceOf(c.exchanges...)
			if e.MayHaveSent() != c.sent || e.OnlyHere() != c.onlyHere || e.Exchanges != len(c.exchanges) {
				t.Errorf("sent %t, only here %t, %d exchanges; want %t, %t, %d", e.MayHaveSent(), e.OnlyHere(), e.Exchanges, c.sent, c.onlyHere, len(c.exchanges))
			}
		})
	}
}

func TestGivesBack(t *testing.T) {
	const finished, errored = `{"type":"RUN_FINISHED"}`, `{"type":"RUN_ERROR"}`
	unreached, reached := []exchange{{answers, false}}, []exchange{{answers, true}}
	behind := []exchange{{answers, true}, {answers, true}}
	for situation, c := range map[string]struct {
		exchanges []exchange
		finish    string
		became    translate.Fate
		back      bool
	}{
		"the backend is not reached":                                 {unreached, errored, translate.Finished, true},
		"a preparing exchange fails":                                 {[]exchange{{prepares, true}}, errored, translate.Finished, true},
		"the backend ends the run before it has the answers":         {[]exchange{{prepares, true}}, finished, translate.Finished, false},
		"the backend has carried the answers out":                    {reached, finished, translate.Finished, false},
		"the backend fails with the answers":                         {reached, errored, translate.Finished, false},
		"the backend refuses the answers":                            {reached, errored, translate.Untouched, true},
		"the backend refuses a later answer":                         {behind, errored, translate.Untouched, false},
		"an exchange without answers is refused after the answers":   {[]exchange{{answers, true}, {prepares, true}}, errored, translate.Untouched, false},
		"the answers are refused after a preparing exchange":         {[]exchange{{prepares, true}, {answers, true}}, errored, translate.Untouched, true},
		"the backend does not know its question":                     {reached, errored, translate.Lost, false},
		"the backend does not know its question, by what it told":    {unreached, errored, translate.Lost, false},
		"the backend does not say what it did":                       {reached, errored, translate.InDoubt, false},
		"nothing is to be sent":                                      {[]exchange{{nothing, false}}, errored, translate.Finished, false},
		"the dialect fails before the answers went out":              {unreached, errored, settle.Failed, true},
		"the dialect fails, and nothing was to be sent":              {[]exchange{{nothing, false}}, errored, settle.Failed, true},
		"the dialect fails after the answers went out":               {reached, errored, settle.Failed, false},
		"the dialect fails in an exchange that follows the answers":  {[]exchange{{answers, true}, {nothing, false}}, errored, settle.Failed, false},
		"the dialect fails, and the backend has refused the answers": {reached, finished, settle.Failed, false},
	} {
		t.Run(situation, func(t *testing.T) {
			result := store.Result{EndKind: store.Finished, Finish: []byte(c.finish)}
			if back := settle.GivesBack(evidenceOf(c.exchanges...), &result, c.became); back != c.back {
				t.Errorf("given back: %t, want %t", back, c.back)
			}
		})
	}
}
