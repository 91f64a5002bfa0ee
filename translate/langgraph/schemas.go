package langgraph

import (
	"encoding/json"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/langgraphapi"
)

// readSchemas notes the response_schema of the questions in a RAW event of this kind. The adapter
// leaves the schema out of the interrupt outcome, so without CUSTOM events only RAW events have it
// (RAN 0.0.47, outcomeonly). A chunk of the graph's stream is {"__interrupt__":[..]}, or
// [namespace, {"__interrupt__":[..]}].
func (run *run) readSchemas(kind string, ev agui.Event) {
	if kind != "on_chain_stream" || agui.Index(ev.JSON, schemaKey, underscore) < 0 || !ev.Valid() {
		return
	}
	event := agui.View(ev.JSON).Get("event")
	chunk := event.Get("data.chunk")
	if chunk.IsArray() {
		chunk = chunk.Get("1")
	}
	for _, i := range chunk.Get("__interrupt__").Array() {
		id, schema := i.Get("id").Str, langgraphapi.ObjectOf(i.Get("response_schema"))
		if id == "" || schema == "" || len(schema) > maxSchema || len(run.schemas) == langgraphapi.MaxAsked {
			continue
		}
		if run.schemas == nil {
			run.schemas = map[string]json.RawMessage{}
		}
		run.schemas[strings.Clone(id)] = json.RawMessage(strings.Clone(schema))
	}
}

// schemaKey is the key of a question's schema. Most events do not contain it. underscore is the
// index of its underscore, which is rare in the text of events.
const (
	schemaKey  = `"response_schema"`
	underscore = len(`"response`)
)

// maxSchema is the maximum number of bytes of a schema that is kept.
const maxSchema = 64 << 10
