package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"holdpoint/internal/event"
	"holdpoint/internal/observe/webhook"
	"holdpoint/internal/principal"
	"holdpoint/proxy"
	"holdpoint/store"
)

// eventKinds is HOLDPOINT_WEBHOOK_EVENTS.
type eventKinds []event.Kind

// UnmarshalText reads a list with commas or semicolons.
func (k *eventKinds) UnmarshalText(text []byte) error {
	*k = nil
	for _, one := range strings.FieldsFunc(string(text), func(c rune) bool { return strings.ContainsRune(";, \t\n", c) }) {
		if !slices.Contains(webhook.Kinds(), event.Kind(one)) {
			var all []string
			for _, kind := range webhook.Kinds() {
				all = append(all, string(kind))
			}
			return fmt.Errorf("there is no such event, want some of %s", strings.Join(all, ", "))
		}
		*k = append(*k, event.Kind(one))
	}
	return nil
}

// String is the form that is read.
func (k eventKinds) String() string {
	var all []string
	for _, kind := range k {
		all = append(all, string(kind))
	}
	return strings.Join(all, ",")
}

// A hook is the webhook as configured.
type hook struct {
	url      *url.URL
	secrets  []string
	template *webhook.Template
	maker    webhook.Maker
	sender   *webhook.Sender // made when the process starts
}

// checkWebhook reads what belongs to HOLDPOINT_WEBHOOK_URL. c.hook stays nil without that.
func (c *config) checkWebhook(wrong func(name string, err error)) {
	if c.WebhookURL.text == "" {
		for _, of := range []struct {
			name string
			set  bool
		}{
			{"WEBHOOK_EVENTS", c.WebhookEvents != nil}, {"WEBHOOK_CONTENT", c.WebhookContent}, {"WEBHOOK_TEMPLATE_FILE", c.WebhookTemplateFile != ""},
			{"WEBHOOK_SECRET", c.WebhookSecret.text != ""}, {"WEBHOOK_SECRET_FILE", c.WebhookSecretFile != ""}, {"WEBHOOK_PRIVATE", c.WebhookPrivate},
		} {
			if of.set {
				wrong(of.name, errors.New("there is no webhook, want HOLDPOINT_WEBHOOK_URL set as well"))
			}
		}
		return
	}
	h := &hook{maker: webhook.Maker{
		Kinds: c.WebhookEvents, Content: c.WebhookContent, Names: c.ShowPrincipal == principal.ShowName, Desk: c.DeskURL.URL,
	}}
	var err error
	if h.url, err = webhook.ParseURL(c.WebhookURL.text, c.WebhookPrivate); err != nil {
		wrong("WEBHOOK_URL", err)
	}
	secrets, err := c.secretOf(c.WebhookSecret, c.WebhookSecretFile)
	if err != nil {
		wrong("WEBHOOK_SECRET_FILE", err)
	}
	h.secrets = strings.FieldsFunc(secrets, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if _, err := webhook.New(webhook.Options{URL: h.url, Secrets: h.secrets}); err != nil {
		wrong("WEBHOOK_SECRET", err)
	}
	if c.WebhookTemplateFile != "" {
		text, err := os.ReadFile(c.WebhookTemplateFile)
		if err == nil {
			h.template, err = webhook.ParseTemplate(string(text))
		}
		if err != nil {
			wrong("WEBHOOK_TEMPLATE_FILE", err)
		}
	}
	c.hook = h
}

// newSender makes the sender, if there is a webhook.
func (c *config) newSender(logger *slog.Logger) error {
	if c.hook == nil {
		return nil
	}
	if c.hook.secrets == nil {
		logger.Warn("the webhook is not signed: its receiver cannot tell who sends", "variable", "HOLDPOINT_WEBHOOK_SECRET")
	}
	var err error
	c.hook.sender, err = webhook.New(webhook.Options{
		URL: c.hook.url, Secrets: c.hook.secrets, Template: c.hook.template, Private: c.WebhookPrivate, Logger: logger,
		Tried: c.metrics.Webhook,
	})
	return err
}

// runSender sends until it is ended by what it returns.
func (c *config) runSender(kept store.Store) (end func()) {
	if c.hook == nil {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		c.hook.sender.Run(kept, stop)
		close(done)
	}()
	return func() {
		close(stop)
		<-done
	}
}

// notices is proxy.Options.Notices, and posted is Posted. nil without a webhook.
func (c *config) notices() func(*event.Event) (store.Notice, bool) {
	if c.hook == nil {
		return nil
	}
	return c.hook.maker.Notice
}

func (c *config) posted() func(store.Key) {
	if c.hook == nil || c.hook.sender == nil {
		return nil
	}
	return c.hook.sender.Wake
}

// noticesByTime is engine.Options.Notices.
func (c *config) noticesByTime() func(store.Key, *store.Result) []store.Notice {
	if c.hook == nil {
		return nil
	}
	return func(key store.Key, result *store.Result) []store.Notice {
		e := proxy.EndedByTime(key, result)
		if e == nil {
			return nil
		}
		n, ok := c.hook.maker.Notice(e)
		if !ok {
			return nil
		}
		return []store.Notice{webhook.Named(n, e)}
	}
}

// noticesLost is engine.Options.NoticesLost.
func (c *config) noticesLost(logger *slog.Logger) func(int) {
	return func(n int) {
		for range n {
			c.metrics.Webhook(webhook.ResultLost, 0)
		}
		logger.Error("events for the webhook were given up: its receiver has not taken them", "events", n)
	}
}
