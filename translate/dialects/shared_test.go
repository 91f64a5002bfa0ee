package dialects

import (
	"strings"
	"testing"

	"holdpoint/translate/adk"
	"holdpoint/translate/agno"
	"holdpoint/translate/auto"
	"holdpoint/translate/draft"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/langgraphserver"
	"holdpoint/translate/toolcall"
)

// optionsOf returns the options of a dialect of the list.
func optionsOf[O any](t *testing.T, l List, name string) O {
	t.Helper()
	for _, e := range l {
		if e.Name == name {
			return *e.Options.(*O)
		}
	}
	t.Fatalf("no dialect %s", name)
	panic("unreachable")
}

// TestShared checks that each dialect that reads HOLDPOINT_TOOLS or HOLDPOINT_CANCEL gets its part
// of the value, and that a list made by WithPrefix has its own values.
func TestShared(t *testing.T) {
	list := All()
	const prefix = "HOLDPOINT_ROUTES_7_"
	other := list.WithPrefix(prefix)
	for _, errs := range [][]error{
		list.Read(map[string]string{"HOLDPOINT_TOOLS": "delete_*=approval; send=input;run_*=external;a=b=approval", "HOLDPOINT_CANCEL": "false"}),
		other.Read(map[string]string{"HOLDPOINT_TOOLS": "x=approval", prefix + "TOOLS": "y=external"}),
		list.Check(auto.Name), other.Check(auto.Name),
	} {
		if errs != nil {
			t.Fatal(errs)
		}
	}
	for what, c := range map[string]struct{ got, want string }{
		"tool-call":        {optionsOf[toolcall.Options](t, list, toolcall.Name).Ask.String(), "delete_*;a=b"},
		"draft":            {optionsOf[draft.Options](t, list, draft.Name).ApprovalTools.String(), "delete_*;a=b"},
		"agno's input":     {optionsOf[agno.Options](t, list, agno.Name).Input.String(), "send"},
		"agno's external":  {optionsOf[agno.Options](t, list, agno.Name).External.String(), "run_*"},
		"adk":              {optionsOf[adk.Options](t, list, adk.Name).Ask.String(), "run_*"},
		"langgraph":        {optionsOf[langgraph.Options](t, list, langgraph.Name).Cancel.String(), "false"},
		"langgraph-server": {optionsOf[langgraphserver.Options](t, list, langgraphserver.Name).Cancel.String(), "false"},
		"draft's cancel":   {optionsOf[draft.Options](t, list, draft.Name).Cancel.String(), "false"},
		"another list":     {optionsOf[toolcall.Options](t, other, toolcall.Name).Ask.String(), ""},
		"another's adk":    {optionsOf[adk.Options](t, other, adk.Name).Ask.String(), "y"},
		"another's cancel": {optionsOf[langgraph.Options](t, other, langgraph.Name).Cancel.String(), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s has %q, want %q", what, c.got, c.want)
		}
	}
}

// TestSharedCancel checks that a HOLDPOINT_CANCEL that could be a yes is exactly one error,
// whatever dialect is named. null is a denial for LangGraph. The backends of draft ignore null and
// use their default, which may be a yes, so draft must refuse it.
func TestSharedCancel(t *testing.T) {
	for _, c := range []struct{ cancel, name, want string }{
		{"true", langgraph.Name, "it could be taken for an approval"},
		{"true", draft.Name, "it could be taken for an approval"},
		{"true", auto.Name, "it could be taken for an approval"},
		{`{"approved":true}`, adk.Name, "it could be taken for an approval"},
		{"null", langgraph.Name, ""},
		{"null", langgraphserver.Name, ""},
		{"null", auto.Name, ""},
		{"null", draft.Name, "it is empty, and a backend may take that as permission"},
		{`""`, langgraph.Name, "it is empty"},
		{"false", draft.Name, ""},
	} {
		list := All()
		errs := list.Read(map[string]string{"HOLDPOINT_CANCEL": c.cancel, "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": "a"})
		errs = append(errs, list.Check(c.name)...)
		if c.want == "" && errs != nil || c.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), `HOLDPOINT_CANCEL "`) || !strings.Contains(errs[0].Error(), c.want)) {
			t.Errorf("%s with %s: %v, want %q", c.name, c.cancel, errs, c.want)
		}
		if _, err := list.New(c.name, nil); c.want == "" && err != nil {
			t.Errorf("%s with %s: %v", c.name, c.cancel, err)
		}
		if got := optionsOf[draft.Options](t, list, draft.Name).Cancel.String(); c.cancel == "null" && got != "" {
			t.Errorf("the draft's backends would get %s", got)
		}
	}
}
