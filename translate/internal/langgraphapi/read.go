package langgraphapi

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Interpret implements translate.Interpreter. It reads the decisions on reviews: {"type":..}, a
// list of them, or {"decisions":[..]} with one for each action. If the decision is a text that
// replaces the result of the call, it is neither a yes nor a no: the call does not run, but nobody
// denied it.
func Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading) {
	// the index of an action, and the number of actions of its review
	type place struct{ at, of int }
	places := map[string]place{}
	for _, g := range Groups(p, nil) {
		if g.Shape == Elicitation {
			readForms(p, g, answers, read)
		} else if g.IsReview() {
			for n, at := range g.At {
				places[p.Interrupts[at].ID] = place{n, len(g.At)}
			}
		}
	}
	var whole *byte // the payload of decisions; the answers to one review may share it
	var decisions []string
	for n, a := range answers {
		at, asked := places[a.ID]
		if !asked || a.Status != agui.Resolved || len(a.Payload) == 0 {
			continue
		}
		if whole != &a.Payload[0] {
			whole, decisions = &a.Payload[0], decisionsIn(a.Payload)
		}
		switch {
		case len(decisions) == at.of:
			read[n] = readingOf(decisions[at.at], read[n])
		case len(decisions) == 1:
			read[n] = readingOf(decisions[0], read[n])
		}
	}
}

// readForms sets the meaning of the answers to the questions of an MCP server. The content of a
// form is neither a yes nor a no, whatever the names of its members are.
func readForms(p agui.Pause, g Group, answers []agui.Answer, read []agui.Reading) {
	for _, at := range g.At {
		i := p.Interrupts[at]
		if string(i.Schema()) == kit.ApprovalSchema {
			continue
		}
		for n, a := range answers {
			if a.ID == i.ID && a.Status == agui.Resolved {
				if read[n] = (agui.Reading{}); string(a.Payload) == decline {
					read[n].Meaning = agui.Denies
				}
			}
		}
	}
}

// decisionsIn returns the types of the decisions in the payload. It returns nil if the payload is
// not in the form of decisions.
func decisionsIn(payload json.RawMessage) []string {
	m, isObject := Members(payload)
	list := []json.RawMessage{payload}
	if m["decisions"] != nil || !isObject {
		if list = nil; json.Unmarshal(payload, &list) != nil && json.Unmarshal(m["decisions"], &list) != nil {
			return nil
		}
	}
	var types []string
	for _, one := range list {
		of, _ := Members(one)
		kind, ok := Text(of["type"])
		if !ok {
			return nil
		}
		types = append(types, kind)
	}
	return types
}

func readingOf(decision string, known agui.Reading) agui.Reading {
	switch decision {
	case "approve", "accept":
		return agui.Reading{Meaning: agui.Approves}
	case "edit":
		return agui.Reading{Meaning: agui.Approves, Edited: true}
	case "reject", "ignore":
		return agui.Reading{Meaning: agui.Denies}
	case "respond", "response":
		return agui.Reading{}
	}
	return known
}
