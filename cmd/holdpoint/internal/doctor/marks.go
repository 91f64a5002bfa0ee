package doctor

import (
	"fmt"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/adk"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/agno"
	"holdpoint/translate/awsstrands"
	"holdpoint/translate/draft"
	"holdpoint/translate/kit"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/langgraphserver"
	"holdpoint/translate/phrases"
	"holdpoint/translate/requestapproval"
	"holdpoint/translate/standard"
	"holdpoint/translate/strands"
	"holdpoint/translate/superagent"
	"holdpoint/translate/toolcall"
)

// A Framework is the framework that made the answer, as far as the answer shows it.
type Framework struct {
	Name  string   `json:"name,omitempty"` // a heading of docs/support.md, "" if unknown
	Marks []string `json:"seen"`           // the marks by which it was recognized
	// Versions is the version, or the range of versions, that the answer shows. It is "" if the
	// answer shows no version; often a run that does not pause shows none.
	Versions string `json:"versions,omitempty"`
	// WhyUnanswerable is the reason why the framework's questions cannot be answered through
	// Holdpoint, or "" if they can be.
	WhyUnanswerable string `json:"-"`
}

// sections maps each dialect to the heading of its section in docs/support.md.
var sections = map[string]string{
	adk.Name:             "Google ADK",
	agentframework.Name:  "Microsoft Agent Framework",
	agno.Name:            "agno",
	awsstrands.Name:      "Strands Agents",
	draft.Name:           nameDraft,
	langgraph.Name:       "LangGraph",
	langgraphserver.Name: "LangGraph Server",
	phrases.Name:         namePhrases,
	requestapproval.Name: "Microsoft Agent Framework",
	standard.Name:        nameStandard,
	standard.MastraName:  "Mastra",
	strands.Name:         "Strands Agents",
	superagent.Name:      "superagent",
	toolcall.Name:        nameToolCall,
}

// A mark is something in an event that only one framework writes.
type mark struct {
	framework       string
	description     string
	matches         func(ev agui.Event) bool
	whyUnanswerable string // see Framework.WhyUnanswerable
}

// marks lists the marks that the recordings in testdata show. TestMarks counts how often they occur
// in these recordings.
var marks = []mark{
	{"LangGraph", signLangChain, isLangChain, ""},
	{"LangGraph", signLangGraphServer, isServerFrame, ""},
	{"LangGraph", signLangGraph, hasMetadata("langgraph"), ""},
	{"Microsoft Agent Framework", signAgentFramework, hasMetadata("agent_framework"), ""},
	{"Microsoft Agent Framework", "CUSTOM function_approval_request", isCustom("function_approval_request"), ""},
	{"Microsoft Agent Framework", "CUSTOM WorkflowInterruptEvent", isCustom("WorkflowInterruptEvent"), ""},
	{"Strands Agents", signStrands, isRaw("strands"), ""},
	{"pydantic-ai", "CUSTOM pydantic_ai_conversation_saved", isCustom("pydantic_ai_conversation_saved"), ""},
	{"AG2", signAG2, hasMetadata("ag2"), ""},
	{"Google ADK", signADK, hasMetadata("adk"), ""},
	{"CrewAI", signCrewAI, hasReason("crewai:human_feedback"), ""},
	{"CrewAI", signCrewAIEvent, announces(kit.CrewAI), ""},
	{"Mastra", signMastra, hasReason("mastra:tool_suspend"), ""},
	{"Mastra", signMastraEvent, announces(kit.Mastra), ""},
	{"agno", signAgno, isRaw("agno"), ""},
	{"TanStack AI", signTanStack, hasMetadata("tanstack:interruptBinding"), ""},
}

func isCustom(name string) func(agui.Event) bool {
	return func(ev agui.Event) bool { return ev.Type == agui.Custom && ev.Get("name").Str == name }
}

// announces returns a function that reports whether an event announces a question as the
// integration who does.
func announces(who kit.Announcer) func(agui.Event) bool {
	return func(ev agui.Event) bool { return kit.Announced(ev) == who }
}

func isRaw(source string) func(agui.Event) bool {
	return func(ev agui.Event) bool { return ev.Type == agui.Raw && ev.Get("source").Str == source }
}

func hasReason(reason string) func(agui.Event) bool {
	return func(ev agui.Event) bool {
		for _, i := range ev.Get("outcome.interrupts").Array() {
			if ev.Type == agui.RunFinished && i.Get("reason").Str == reason {
				return true
			}
		}
		return false
	}
}

func hasMetadata(key string) func(agui.Event) bool {
	return func(ev agui.Event) bool {
		for _, i := range ev.Get("outcome.interrupts").Array() {
			if _, has := i.Get("metadata").Map()[key]; ev.Type == agui.RunFinished && has {
				return true
			}
		}
		return false
	}
}

// langChain returns the name of the LangChain event that an adapter includes in its own event, or
// "" if there is none. The result python reports whether the adapter is the Python one.
func langChain(ev agui.Event) (name string, python bool) {
	for _, raw := range []string{"rawEvent", "event"} {
		if v := ev.Get(raw); v.IsObject() && (raw == "rawEvent" || ev.Type == agui.Raw) {
			if name := v.Get("event").Str; strings.HasPrefix(name, "on_") && v.Get("run_id").Exists() && v.Get("metadata").Exists() {
				return name, v.Get("parent_ids").Exists()
			}
		}
	}
	return "", false
}

func isLangChain(ev agui.Event) bool {
	name, _ := langChain(ev)
	return name != ""
}

// isServerFrame reports whether the event includes the frame of a LangGraph Server from which it
// was made. The events of the TypeScript adapter include that frame.
func isServerFrame(ev agui.Event) bool {
	name := ev.Get("rawEvent.event").Str
	return (name == "events" || name == "messages" || name == "values") && ev.Get("rawEvent.id").Exists() && ev.Get("rawEvent.data").Exists()
}

// frameworkOf returns the framework to which the dialect belongs, with the marks of that framework
// in the answer. If the dialect is "" or that of package standard, the marks alone decide.
func frameworkOf(dialect string, received *stream) Framework {
	f := Framework{Marks: []string{}}
	if dialect != "" {
		f.Name = sections[dialect]
		if dialect != standard.Name {
			f.Marks = append(f.Marks, fmt.Sprintf(signDialect, dialect))
		}
	}
	for _, m := range marks {
		for _, ev := range received.events {
			if !m.matches(ev) {
				continue
			}
			if f.Name == "" || f.Name == m.framework || dialect == standard.Name && len(f.Marks) == 0 {
				f.Name, f.Marks = m.framework, append(f.Marks, m.description)
				f.WhyUnanswerable = m.whyUnanswerable
			}
			break
		}
	}
	switch f.Name {
	case "LangGraph":
		f.Versions = langGraphVersions(received)
	case "Microsoft Agent Framework":
		f.Versions = agentFrameworkVersions(dialect, received)
	default:
		f.Versions = outcomeVersions(f.Name, received)
	}
	return f
}

// testedVersions maps a framework to the versions from which an outcome with its mark was recorded.
// An answer without such an outcome does not show a version.
var testedVersions = map[string]string{
	"Google ADK": adapterADK,
	"CrewAI":     adapterCrewAI,
	"Mastra":     adapterMastra,
	"AG2":        adapterAG2,
}

// announcedVersions maps a framework to the versions from which runs were recorded that announce a
// question but have no outcome with it.
var announcedVersions = map[string]string{
	"CrewAI": adapterCrewAIEvent,
	"Mastra": adapterMastraEvent,
}

// outcomeVersions returns the versions of a framework whose versions can be told apart only by a
// question: by an outcome with interrupts, or by an announcement without such an outcome.
func outcomeVersions(framework string, received *stream) string {
	shown := ""
	for _, ev := range received.events {
		switch {
		case ev.Type == agui.RunFinished && len(ev.Get("outcome.interrupts").Array()) > 0:
			return testedVersions[framework]
		case ev.Type == agui.Custom && kit.Announced(ev) != kit.NoDialect:
			shown = announcedVersions[framework]
		}
	}
	return shown
}

// langGraphVersions derives the version of the adapter from the position of the event that
// announces the question. Adapters up to 0.0.42 announce the question before the last snapshot, and
// adapters from 0.0.43 on after the last snapshot. Only the latter have the outcome.
func langGraphVersions(received *stream) string {
	python, typescript, asked, snapshot, outcome := false, false, -1, -1, false
	for i, ev := range received.events {
		if name, is := langChain(ev); name != "" && is {
			python = true
		}
		typescript = typescript || isServerFrame(ev)
		switch ev.Type {
		case agui.Custom:
			if ev.Get("name").Str == agui.OnInterrupt {
				asked = i
			}
		case agui.StateSnapshot, agui.MessagesSnapshot:
			snapshot = i
		case agui.RunFinished:
			outcome = outcome || hasMetadata("langgraph")(ev)
		}
	}
	name := adapterUnknown
	switch {
	case typescript:
		name = "@ag-ui/langgraph (TypeScript)"
	case python:
		name = "ag-ui-langgraph (Python)"
	}
	switch {
	case outcome, asked > snapshot && snapshot >= 0:
		return fmt.Sprintf(versionFrom43, name)
	case asked >= 0 && asked < snapshot:
		return fmt.Sprintf(versionTo42, name)
	case python || typescript:
		return fmt.Sprintf(versionUnknown, name)
	}
	return ""
}

// agentFrameworkVersions derives the version from the event that has the question. The framework
// has changed this event several times.
func agentFrameworkVersions(dialect string, received *stream) string {
	custom, confirm, list, outcome := false, false, false, false
	for _, ev := range received.events {
		switch ev.Type {
		case agui.Custom:
			custom = custom || isCustom("function_approval_request")(ev)
		case agui.CallStart:
			confirm = confirm || ev.Get("toolCallName").Str == "confirm_changes"
		case agui.RunFinished:
			list = list || ev.Get("interrupt").IsArray()
			outcome = outcome || hasMetadata("agent_framework")(ev)
		}
	}
	const python = "agent-framework-ag-ui (Python) "
	switch {
	case dialect == requestapproval.Name:
		return adapterDotNet
	case outcome:
		return python + versionFromRC8
	case list:
		return python + "1.0.0b260225 to 1.0.0rc7"
	case custom && confirm:
		return python + versionB260114
	case custom:
		return python + versionToB260219
	}
	return ""
}
