package proxy

import (
	"fmt"
	"strings"
	"time"

	"holdpoint/internal/variables"
	"holdpoint/translate/yesno"
)

// Settings are the variables about runs that apply to all agents.
type Settings struct {
	StoreOutage       Outage            `env:"STORE_OUTAGE" envDefault:"refuse" values:"refuse|pass" doc:"what becomes of runs without answers while the store cannot be asked: they are refused, or go to the backend, also on a thread that waits for an answer. A run with answers is always refused"`
	InterruptTTL      time.Duration     `env:"INTERRUPT_TTL" envDefault:"0" doc:"expiry for interrupts that have none; 0 gives none. Clients up to 0.0.59 lock a thread whose interrupt has expired"`
	MaxRequestBytes   variables.Size    `env:"MAX_REQUEST_BYTES" envDefault:"16MiB" doc:"largest body of a run. A larger one gets 413"`
	BodyBytes         variables.Size    `env:"BODY_BYTES" envDefault:"256MiB" doc:"memory for all request bodies that are being read, a quarter of it for small ones. Above it the answer is 503"`
	AddressShare      variables.Percent `env:"ADDRESS_SHARE" envDefault:"100%" doc:"how much of BODY_BYTES, and of a store in memory, one client address may have (for IPv6, a network of 64 bits). Behind an ingress or a runtime all users have one address"`
	MaxFrameBytes     variables.Size    `env:"MAX_FRAME_BYTES" envDefault:"32MiB" doc:"largest frame of the backend's stream. Adapters repeat the whole conversation in one frame, so it must be larger than MAX_REQUEST_BYTES"`
	TranscriptBytes   variables.Size    `env:"TRANSCRIPT_BYTES" envDefault:"4MiB" doc:"how much of a stream is kept for snapshots. Above it a snapshot is left out"`
	StreamIdleTimeout time.Duration     `env:"STREAM_IDLE_TIMEOUT" envDefault:"1h" doc:"how long a backend may send nothing in a stream, not even a heartbeat; 0 is for ever"`
	ResumeIdleGrace   time.Duration     `env:"RESUME_IDLE_GRACE" envDefault:"15m" doc:"how long a run with answers is waited for after its client was told UPSTREAM_IDLE. Then its answers are in doubt, and its thread takes other runs"`
	Heartbeat         time.Duration     `env:"HEARTBEAT" envDefault:"15s" doc:"how often a client that hears nothing gets a comment, at least 1s; 0 is never"`
	WriteTimeout      time.Duration     `env:"WRITE_TIMEOUT" envDefault:"1m" doc:"how long a client may read nothing while something is being written to it, at least 1s. It is cut then"`
	HeaderUnderscores Underscores       `env:"HEADER_UNDERSCORES" envDefault:"refuse" values:"refuse|drop|pass" doc:"what becomes of a request with a header whose name has an underscore, which some backends take for another header (docs/limits.md#requests-that-are-refused). drop takes out the header only"`
	OnDisconnect      OnDisconnect      `env:"ON_DISCONNECT" envDefault:"cancel" values:"cancel|finish" doc:"what becomes of a run whose client leaves: its request to the backend is cancelled, or read on for an hour at most, so that a question is kept that it comes to. Until then its thread takes no other run. A run that carries answers is always read on"`
}

// AgentSettings are the variables about runs that each agent has for itself.
type AgentSettings struct {
	UpstreamHTTP2     bool          `env:"UPSTREAM_HTTP2" envDefault:"false" doc:"speak HTTP/2 to the backend: if it offers that where there is TLS, else from the first byte"`
	UpstreamKeepAlive time.Duration `env:"UPSTREAM_KEEP_ALIVE" envDefault:"900ms" doc:"how long a connection to the backend may wait for its next run. Keep it below the backend's own limit, or runs fail now and then: gunicorn closes an idle connection after 2s, uvicorn and Node after 5s. A longer time saves connecting anew to a backend that is far away"`
	PreserveHost      bool          `env:"PRESERVE_HOST" envDefault:"false" doc:"send the client's Host header to the backend instead of the upstream's"`
	Name              string        `env:"NAME" short:"name of the agent, where several share a store" doc:"the agent's name. Agents that share a store need one each, or threads of one id at one path would be one thread"`
	Client            Client        `env:"CLIENT" envDefault:"auto" values:"auto|outcome|both|native" doc:"how a client is told of a pause: by the outcome, by a CUSTOM on_interrupt beside the outcome (both), or in the backend's own form (native). auto decides by the request"`
	Answers           yesno.Rules   `env:"ANSWERS" doc:"what a yes and a no are to an agent that takes any value for an answer, such as interrupt() of LangGraph: names of what it asks about, the yes and the no as JSON, for each. Globs, name;name. $arguments in the yes is what the call is to run with, $reason in the no why (docs/answers.md)"`
	Sessions          bool          `env:"SESSIONS" envDefault:"false" doc:"true: the backend keeps the conversation of each thread, and its clients send new messages only. An answer goes to it without the conversation (docs/contract.md#a-backend-that-keeps-the-conversation)"`
}

// Check returns an error for each setting that is not valid.
func (a *AgentSettings) Check() (errs []error) {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if len(a.Name) > 100 || strings.ContainsFunc(a.Name, isControl) {
		errs = append(errs, variables.Atf("NAME", "want at most 100 bytes without control characters"))
	}
	if a.UpstreamKeepAlive == 0 {
		errs = append(errs, variables.Atf("UPSTREAM_KEEP_ALIVE", "want more than 0, such as 900ms"))
	}
	return errs
}

// Fill copies the settings into the options.
func (a *AgentSettings) Fill(o *Options) {
	o.Agent, o.Client, o.Answers, o.Sessions = a.Name, a.Client, a.Answers, a.Sessions
	o.PreserveHost, o.UpstreamHTTP2, o.UpstreamKeepAlive = a.PreserveHost, a.UpstreamHTTP2, a.UpstreamKeepAlive
}

// Check returns an error for each setting that is not valid.
func (s *Settings) Check() (errs []error) {
	if s.BodyBytes > 0 && s.BodyBytes < 2*s.MaxRequestBytes {
		errs = append(errs, variables.Atf("BODY_BYTES", "want at least twice HOLDPOINT_MAX_REQUEST_BYTES, %s", 2*s.MaxRequestBytes))
	}
	for _, of := range []struct {
		name, want string
		is         bool
	}{
		{"RESUME_IDLE_GRACE", "want more than 0, such as 15m", s.ResumeIdleGrace > 0},
		{"HEARTBEAT", "want at least 1s, or 0 for none", s.Heartbeat == 0 || s.Heartbeat >= time.Second},
		{"WRITE_TIMEOUT", "want at least 1s", s.WriteTimeout >= time.Second},
	} {
		if !of.is {
			errs = append(errs, variables.At(of.name, fmt.Errorf("%s", of.want)))
		}
	}
	return errs
}

// Fill copies the settings into the options.
func (s *Settings) Fill(o *Options) {
	o.StoreOutage, o.OnDisconnect, o.Underscores = s.StoreOutage, s.OnDisconnect, s.HeaderUnderscores
	o.InterruptTTL = s.InterruptTTL
	o.MaxRequestBytes, o.BodyBytes, o.AddressShare = int64(s.MaxRequestBytes), int64(s.BodyBytes), s.AddressShare.Share()
	o.MaxFrameBytes, o.TranscriptBytes = int(s.MaxFrameBytes), int(s.TranscriptBytes)
	o.IdleTimeout, o.ResumeIdleGrace = s.StreamIdleTimeout, s.ResumeIdleGrace
	o.Heartbeat, o.WriteTimeout = s.Heartbeat, s.WriteTimeout
}
