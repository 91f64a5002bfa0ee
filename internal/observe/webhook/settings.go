package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/event"
	"holdpoint/internal/variables"
	"holdpoint/store"
)

// Settings are the variables of the webhook.
type Settings struct {
	URL          variables.Secret `env:"WEBHOOK_URL" doc:"address that gets a POST for each question and its end (docs/webhook.md). It must be public and use https, unless WEBHOOK_PRIVATE is true. Holdpoint uses no proxy of the environment for it"`
	Events       eventKinds       `env:"WEBHOOK_EVENTS" doc:"the events to send: event,event. By default those that report a question or its end. There are also resume.claimed and resume.released"`
	Content      bool             `env:"WEBHOOK_CONTENT" envDefault:"false" doc:"true: the events also contain the messages of questions, the arguments of their calls and the answers. Lock screens may show them"`
	TemplateFile string           `env:"WEBHOOK_TEMPLATE_FILE" doc:"file with a Go template for the body, such as those in deploy/webhook"`
	Secret       variables.Secret `env:"WEBHOOK_SECRET" doc:"secret that signs the events (Standard Webhooks): whsec_ and base64. To replace it, set several with commas; each event then has several signatures"`
	Private      bool             `env:"WEBHOOK_PRIVATE" envDefault:"false" doc:"true: allow a private or loopback address, and http. Link-local addresses, such as those of a cloud's metadata, are still refused"`

	url      *url.URL // set by Check
	secrets  []string
	template *Template
}

// eventKinds is the value of HOLDPOINT_WEBHOOK_EVENTS.
type eventKinds []event.Kind

// UnmarshalText reads a list of kinds, separated by commas, semicolons or white space.
func (k *eventKinds) UnmarshalText(text []byte) error {
	*k = nil
	for _, one := range strings.FieldsFunc(string(text), func(c rune) bool { return strings.ContainsRune(";, \t\n", c) }) {
		if !slices.Contains(Kinds(), event.Kind(one)) {
			return fmt.Errorf(textNoSuchEvent, join(Kinds(), ", "))
		}
		*k = append(*k, event.Kind(one))
	}
	return nil
}

// String returns the kinds separated by commas, which UnmarshalText can read.
func (k eventKinds) String() string { return join(k, ",") }

func join(kinds []event.Kind, with string) string {
	var all []string
	for _, kind := range kinds {
		all = append(all, string(kind))
	}
	return strings.Join(all, with)
}

// IsSet reports whether a webhook is configured.
func (s *Settings) IsSet() bool { return s.URL.IsSet() }

// Check reads the files that the settings name, and returns what is wrong with the settings.
func (s *Settings) Check() (errs []error) {
	if !s.IsSet() {
		for _, of := range []struct {
			name string
			set  bool
		}{
			{"WEBHOOK_EVENTS", s.Events != nil}, {"WEBHOOK_CONTENT", s.Content}, {"WEBHOOK_TEMPLATE_FILE", s.TemplateFile != ""},
			{"WEBHOOK_SECRET", s.Secret.InVariable()}, {"WEBHOOK_SECRET_FILE", s.Secret.File != ""}, {"WEBHOOK_PRIVATE", s.Private},
		} {
			if of.set {
				errs = append(errs, variables.ErrorAt(of.name, errors.New(textNoWebhook)))
			}
		}
		return errs
	}
	s.url, s.secrets, s.template, errs = s.readFiles()
	return errs
}

// readFiles reads the address, the secrets and the template. It reads those from files for which
// the settings name a file.
func (s *Settings) readFiles() (to *url.URL, secrets []string, template *Template, errs []error) {
	address, err := s.URL.Read("WEBHOOK_URL")
	if err != nil {
		errs = append(errs, err)
	} else if to, err = ParseURL(address, s.Private); err != nil {
		errs = append(errs, variables.ErrorAt(s.URL.VariableName("WEBHOOK_URL"), err))
	}
	text, err := s.Secret.Read("WEBHOOK_SECRET")
	if err != nil {
		errs = append(errs, err)
	}
	secrets = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if _, err := New(Options{URL: to, Secrets: secrets}); err != nil {
		errs = append(errs, variables.ErrorAt("WEBHOOK_SECRET", err))
	}
	if s.TemplateFile != "" {
		text, err := os.ReadFile(s.TemplateFile)
		if err == nil {
			template, err = ParseTemplate(string(text))
		}
		if err != nil {
			errs = append(errs, variables.ErrorAt("WEBHOOK_TEMPLATE_FILE", err))
		}
	}
	return to, secrets, template, errs
}

// Files returns the names of the files that the settings name.
func (s *Settings) Files() []string {
	return slices.DeleteFunc([]string{s.URL.File, s.Secret.File, s.TemplateFile}, func(file string) bool { return file == "" })
}

// NoticeMaker returns the NoticeMaker of the settings, or nil if there is no webhook. names and
// desk become the fields Names and Desk of the NoticeMaker.
func (s *Settings) NoticeMaker(names bool, desk *url.URL) *NoticeMaker {
	if !s.IsSet() {
		return nil
	}
	return &NoticeMaker{Kinds: s.Events, Content: s.Content, Names: names, Desk: desk}
}

// A Part sends the notices in the records of a store. It sends from Start until Stop.
type Part struct {
	*Sender
	settings   *Settings
	store      store.Store
	stop, done chan struct{}
}

// New creates the Part that sends the notices of the store kept, or returns nil if there is no
// webhook. onTry is called after each attempt, see Options.OnTry.
func (s *Settings) New(threadStore store.Store, onTry func(result string, waited time.Duration), logger *slog.Logger) (*Part, error) {
	if !s.IsSet() {
		return nil, nil
	}
	if s.secrets == nil {
		logger.Warn(logNotSigned, "variable", "HOLDPOINT_WEBHOOK_SECRET")
	}
	sender, err := New(Options{URL: s.url, Secrets: s.secrets, Template: s.template, Private: s.Private, Logger: logger, OnTry: onTry})
	if err != nil {
		return nil, err
	}
	return &Part{Sender: sender, settings: s, store: threadStore, stop: make(chan struct{}), done: make(chan struct{})}, nil
}

// Reload reads the files of the settings again. Later attempts use their new content. If there is
// an error, nothing changes.
func (p *Part) Reload() error {
	to, secrets, template, errs := p.settings.readFiles()
	if errs != nil {
		return errors.Join(errs...)
	}
	return p.Set(to, secrets, template)
}

// Start starts sending.
func (p *Part) Start() {
	go func() {
		defer close(p.done)
		p.Run(p.store, p.stop)
	}()
}

// Stop starts no further attempts, and waits for attempts in progress. It waits at most
// StopTimeout.
func (p *Part) Stop() {
	close(p.stop)
	<-p.done
}
