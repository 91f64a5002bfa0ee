package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"holdpoint/cmd/holdpoint/internal/injector"
	"holdpoint/internal/variables"
)

// This file prints the reference of the variables. docs/configuration.md has the same reference.
// Both are made from the struct tags of the settings, and a test compares them.

// defaultText returns the default of v as the reference prints it.
func defaultText(v variables.Variable) string {
	switch {
	case v.Name == prefix+"UPSTREAM":
		return "required"
	case v.Default == "":
		return "none"
	}
	return v.Default
}

// description returns the description of v, with its possible values.
func description(v variables.Variable) string {
	if v.Values == nil {
		return v.Doc
	}
	return v.Doc + ". Values: " + strings.Join(v.Values, ", ")
}

// optionsTopic is the name of the last help topic, which has the options of dialects.
const optionsTopic = "dialects"

// reference returns all topics of the reference: the topics of the proxy and the desk, and the
// topic of the injector.
func (s *settings) reference() []topic {
	return append(s.topics(), topic{injectTopic, topicInjector, []any{&injector.Settings{}}})
}

// referenceVariables returns the variables of all topics in the reference.
func (s *settings) referenceVariables() []variables.Variable {
	return slices.Concat(s.variables(), injectVariables())
}

// injectVariables returns the variables that only `holdpoint inject` reads.
func injectVariables() []variables.Variable {
	return variables.Group{Prefix: prefix, Options: &injector.Settings{}}.Variables()
}

// topicWords returns the names of all topics that `holdpoint -h` accepts.
func topicWords(s *settings) []string {
	var words []string
	for _, t := range s.reference() {
		words = append(words, t.word)
	}
	return append(words, optionsTopic)
}

// printUsage prints the output of `holdpoint -h`: the commands, the variables that a beginner
// needs, and the topics.
func printUsage(w io.Writer, s *settings) {
	io.WriteString(w, usageHead) //nolint:errcheck // the terminal may be closed
	width := 0
	for _, v := range s.variables() {
		if v.Short != "" {
			width = max(width, len(v.Name))
		}
	}
	for _, v := range s.variables() {
		if v.Short != "" {
			fmt.Fprintf(w, "  %-*s  %s\n", width, v.Name, v.Short)
		}
	}
	fmt.Fprintf(w, textMoreVariables, len(s.referenceVariables())-len(beginnerVariables(s.variables())))
	for _, t := range s.reference() {
		fmt.Fprintf(w, "  %-*s  %s\n", width, t.word, t.heading)
	}
	fmt.Fprintf(w, "  %-*s  %s\n", width, optionsTopic, topicOptions)
}

// beginnerVariables returns the variables that a beginner needs: those with a short description.
func beginnerVariables(list []variables.Variable) []variables.Variable {
	return slices.DeleteFunc(slices.Clone(list), func(v variables.Variable) bool { return v.Short == "" })
}

// printTopic prints the output of `holdpoint -h TOPIC` for the topic word. It returns false if
// there is no such topic.
func printTopic(w io.Writer, s *settings, word string) bool {
	print := func(heading string, list []variables.Variable) {
		fmt.Fprintln(w, heading)
		for _, v := range list {
			fmt.Fprintf(w, "\n  %s (%s)\n%s", v.Name, defaultText(v), wrap(description(v), "      ", "      ", 100))
		}
	}
	if word == optionsTopic {
		print(topicOptions, s.dialects.Variables())
		return true
	}
	for _, t := range s.reference() {
		if t.word == word {
			print(t.heading, s.variablesOf(t))
			return true
		}
	}
	return false
}

// wrap breaks text into lines of at most width bytes. The parameter first is the indent of the
// first line, and others is the indent of the other lines.
func wrap(text, first, others string, width int) string {
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(word) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = others
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
