package langgraphserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/translate/kit"
)

// oneLine returns JSON text without line breaks. Servers before 1.0 write JSON over many lines.
func oneLine(raw string) string {
	if !strings.ContainsAny(raw, "\n\r") {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return raw
	}
	return b.String()
}

// fromLangChain returns the messages of a MESSAGES_SNAPSHOT. list are the server's messages. They
// are translated by the rules of the TypeScript adapter (utils.ts, langchainMessagesToAgui). A
// message without an id gets an id that begins with prefix.
func fromLangChain(list []gjson.Result, prefix string) []byte {
	out := []byte{'['}
	add := func(m []byte) { out = kit.AppendElement(out, append(m, '}')) }
	for n, m := range list {
		id := m.Get("id").Str
		if id == "" {
			id = prefix + "-m" + strconv.Itoa(n)
		}
		o := kit.AppendText([]byte{'{'}, "id", id)
		content := m.Get("content")
		switch m.Get("type").Str {
		case "human":
			o = kit.AppendText(o, "role", "user")
			if content.IsArray() {
				o = kit.AppendMember(o, `"content"`, string(partsOf(content)))
			} else {
				o = kit.AppendText(o, "content", contentOf(content))
			}
		case "ai", "AIMessageChunk", "generic":
			reasoningOf(content, id, add)
			o = kit.AppendText(o, "role", "assistant")
			o = kit.AppendText(o, "content", contentOf(content))
			if calls := m.Get("tool_calls"); calls.IsArray() {
				o = kit.AppendMember(o, `"toolCalls"`, string(callsOf(calls)))
			}
		case "system":
			o = kit.AppendText(o, "role", "system")
			o = kit.AppendText(o, "content", contentOf(content))
		case "tool":
			o = kit.AppendText(o, "role", "tool")
			o = kit.AppendText(o, "content", contentOf(content))
			o = kit.AppendText(o, "toolCallId", m.Get("tool_call_id").Str)
			if m.Get("status").Str == "error" {
				o = kit.AppendText(o, "error", "error")
			}
		default:
			continue
		}
		add(o)
	}
	return append(out, ']')
}

// contentOf returns the text of a content. If the content is a string, that is the string.
// Otherwise it is the text of the first text block.
func contentOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	text := ""
	if content.IsArray() {
		content.ForEach(func(_, b gjson.Result) bool {
			if b.Type == gjson.String {
				text = b.Str
			} else if b.Get("type").Str == "text" {
				text = b.Get("text").Str
			}
			return text == ""
		})
	}
	return text
}

func callsOf(calls gjson.Result) []byte {
	out := []byte{'['}
	for _, c := range calls.Array() {
		f := kit.AppendText(kit.AppendText([]byte{'{'}, "name", c.Get("name").Str), "arguments", argsOf(c.Get("args")))
		o := kit.AppendText(kit.AppendText([]byte{'{'}, "id", c.Get("id").Str), "type", "function")
		o = append(kit.AppendMember(o, `"function"`, string(append(f, '}'))), '}')
		out = kit.AppendElement(out, o)
	}
	return append(out, ']')
}

// argsOf returns a call's arguments as JSON text.
func argsOf(args gjson.Result) string {
	switch {
	case args.Type == gjson.String:
		return args.Str
	case args.IsObject():
		var b bytes.Buffer
		if json.Compact(&b, []byte(args.Raw)) == nil {
			return b.String()
		}
		return args.Raw
	}
	return "{}"
}

// partsOf returns the AG-UI content for a user's content with several blocks.
func partsOf(content gjson.Result) []byte {
	out := []byte{'['}
	for _, b := range content.Array() {
		var o []byte
		switch b.Get("type").Str {
		case "text":
			o = kit.AppendText([]byte(`{"type":"text"`), "text", b.Get("text").Str)
		case "image_url":
			url := b.Get("image_url.url").Str
			url = cmp.Or(url, b.Get("image_url").Str)
			if url == "" {
				continue
			}
			source := []byte(`{"type":"url"`)
			if head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ","); ok && strings.HasPrefix(url, "data:") {
				mime, _, _ := strings.Cut(head, ";")
				source = kit.AppendText(kit.AppendText([]byte(`{"type":"data"`), "value", data), "mimeType", mime)
			} else {
				source = kit.AppendText(source, "value", url)
			}
			o = kit.AppendMember([]byte(`{"type":"image"`), `"source"`, string(append(source, '}')))
		default:
			continue
		}
		out = kit.AppendElement(out, append(o, '}'))
	}
	return append(out, ']')
}

// reasoningOf calls add with a reasoning message for each reasoning block of a content.
func reasoningOf(content gjson.Result, id string, add func([]byte)) {
	if !content.IsArray() {
		return
	}
	for n, b := range content.Array() {
		if b.Get("type").Str != "reasoning" {
			continue
		}
		text := reasoningText(b)
		own, secret := b.Get("id").Str, b.Get("encrypted_content").Str
		if own == "" && text == "" && secret == "" {
			continue
		}
		if own == "" {
			own = id + "-reasoning-" + strconv.Itoa(n)
		}
		o := kit.AppendText(kit.AppendText([]byte{'{'}, "id", own), "role", "reasoning")
		o = kit.AppendText(o, "content", text)
		if secret != "" {
			o = kit.AppendText(o, "encryptedValue", secret)
		}
		add(o)
	}
}

// reasoningText returns the text of a reasoning block. Each model provider has its own form of
// block.
func reasoningText(b gjson.Result) string {
	var parts []string
	for _, s := range b.Get("summary").Array() {
		if t := s.Get("text").Str; t != "" {
			parts = append(parts, t)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n")
	}
	return kit.FirstText(b, "reasoning", "thinking", "reasoning_content.text", "text")
}
