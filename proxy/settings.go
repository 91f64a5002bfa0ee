package proxy

import (
	"fmt"
	"strings"
	"time"

	"holdpoint/internal/variables"
	"holdpoint/translate/yesno"
)

// Settings are the environment variables about runs that apply to all agents.
type Settings struct {
	StoreOutage       Outage            `env:"STORE_OUTAGE" envDefault:"refuse" values:"refuse|pass" doc:"what happens to a run without answers while the store cannot be asked: it is refused, or it is sent to the backend (pass), even on a thread that waits for an answer. A run with answers is always refused"`
	InterruptTTL      time.Duration     `env:"INTERRUPT_TTL" envDefault:"0" doc:"expiry of questions that have none of their own; 0 adds none. An expired question can only be cancelled, and is kept until HOLDPOINT_PAUSE_RETENTION. Versions of @ag-ui/client up to 0.0.59 lock a thread whose question has expired"`
	MaxRequestBytes   variables.Size    `env:"MAX_REQUEST_BYTES" envDefault:"16MiB" doc:"maximum size of the body of a run. A larger one gets 413"`
	BodyBytes         variables.Size    `env:"BODY_BYTES" envDefault:"256MiB" doc:"memory for all request bodies that are being read. A quarter of it is reserved for small ones. If it is used up, further requests get 503"`
	AddressShare      variables.Percent `env:"ADDRESS_SHARE" envDefault:"100%" doc:"share of BODY_BYTES, and of a store in memory, that one client address may use (for IPv6, one network of 64 bits). Behind an ingress or a runtime all users have one address"`
	MaxFrameBytes     variables.Size    `env:"MAX_FRAME_BYTES" envDefault:"32MiB" doc:"maximum size of a frame of the backend's stream. Adapters repeat the whole conversation in one frame, so it must be larger than MAX_REQUEST_BYTES"`
	TranscriptBytes   variables.Size    `env:"TRANSCRIPT_BYTES" envDefault:"4MiB" doc:"how much of a stream Holdpoint keeps for snapshots. If a stream has more, its snapshots are left out"`
	StreamIdleTimeout time.Duration     `env:"STREAM_IDLE_TIMEOUT" envDefault:"1h" doc:"how long a backend may send nothing in a stream, not even a heartbeat; 0 is without limit"`
	ResumeIdleGrace   time.Duration     `env:"RESUME_IDLE_GRACE" envDefault:"15m" doc:"how long Holdpoint waits for the end of a run with answers after its client got UPSTREAM_IDLE. Then the answers are in doubt, and the thread accepts other runs"`
	Heartbeat         time.Duration     `env:"HEARTBEAT" envDefault:"15s" doc:"interval of the comments to a client that gets no frames, at least 1s; 0 sends none"`
	WriteTimeout      time.Duration     `env:"WRITE_TIMEOUT" envDefault:"1m" doc:"how long a client may read nothing while Holdpoint writes to it, at least 1s. Then its connection is closed"`
	HeaderUnderscores Underscores       `env:"HEADER_UNDERSCORES" envDefault:"refuse" values:"refuse|drop|pass" doc:"what happens to a request with an underscore in the name of a header, because some backends read it as another header (docs/limits.md#requests-that-are-refused): the request is refused, only the header is removed (drop), or both pass"`
	OnDisconnect      OnDisconnect      `env:"ON_DISCONNECT" envDefault:"cancel" values:"cancel|finish" doc:"what happens to a run whose client disconnects: Holdpoint cancels its request to the backend, or reads it to its end (finish), for an hour at most. A question of such a run is kept, and until its end the thread accepts no other run. A run with answers is always read to its end"`
}

// AgentSettings are the environment variables about runs that each agent has separately.
type AgentSettings struct {
	UpstreamHTTP2     bool          `env:"UPSTREAM_HTTP2" envDefault:"false" doc:"true: use HTTP/2 to the backend. With TLS this is only done if the backend offers it, without TLS always"`
	UpstreamKeepAlive time.Duration `env:"UPSTREAM_KEEP_ALIVE" envDefault:"900ms" doc:"how long an idle connection to the backend stays open for the next run. It must be shorter than the backend's own limit, or some runs fail: gunicorn closes an idle connection after 2s, uvicorn and Node after 5s. A longer time saves new connections to a distant backend"`
	PreserveHost      bool          `env:"PRESERVE_HOST" envDefault:"false" doc:"true: send the client's Host header to the backend, instead of the host of HOLDPOINT_UPSTREAM"`
	Name              string        `env:"NAME" short:"name of the agent, where several share a store" doc:"the agent's name. If several agents share a store, each needs its own name. Otherwise two threads with the same id at the same path would be one thread"`
	Client            Client        `env:"CLIENT" envDefault:"auto" values:"auto|outcome|both|native" doc:"in which form the client gets a question: as the outcome of RUN_FINISHED (outcome), as the outcome and a CUSTOM on_interrupt (both), or as the backend sent it (native). auto chooses by the request (docs/contract.md#how-a-question-reaches-the-client)"`
	Answers           yesno.Rules   `env:"ANSWERS" doc:"the yes and the no for an agent that accepts any value as an answer, such as a LangGraph node with interrupt(). Each entry has patterns of names (name;name), the yes and the no, both as JSON. In the yes, $arguments is replaced by the arguments of the call; in the no, $reason is replaced by the reason (docs/answers.md)"`
	Sessions          bool          `env:"SESSIONS" envDefault:"false" doc:"true: the backend keeps the conversation of each thread, and its clients send only new messages. Holdpoint then sends an answer without the conversation (docs/contract.md#a-backend-that-keeps-the-conversation)"`
}

// Check returns an error for each setting that is not valid.
func (a *AgentSettings) Check() (errs []error) {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if len(a.Name) > 100 || strings.ContainsFunc(a.Name, isControl) {
		errs = append(errs, variables.ErrorAtf("NAME", textNameForm))
	}
	if a.UpstreamKeepAlive == 0 {
		errs = append(errs, variables.ErrorAtf("UPSTREAM_KEEP_ALIVE", textKeepAlive))
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
		errs = append(errs, variables.ErrorAtf("BODY_BYTES", textBodyBytes, 2*s.MaxRequestBytes))
	}
	for _, of := range []struct {
		name, want string
		is         bool
	}{
		{"RESUME_IDLE_GRACE", textIdleGrace, s.ResumeIdleGrace > 0},
		{"HEARTBEAT", textSecondOrNone, s.Heartbeat == 0 || s.Heartbeat >= time.Second},
		{"WRITE_TIMEOUT", textSecond, s.WriteTimeout >= time.Second},
	} {
		if !of.is {
			errs = append(errs, variables.ErrorAt(of.name, fmt.Errorf("%s", of.want)))
		}
	}
	return errs
}

// Fill copies the settings into the options.
func (s *Settings) Fill(o *Options) {
	o.StoreOutage, o.OnDisconnect, o.Underscores = s.StoreOutage, s.OnDisconnect, s.HeaderUnderscores
	o.InterruptTTL = s.InterruptTTL
	o.MaxRequestBytes, o.BodyBytes, o.AddressShare = int64(s.MaxRequestBytes), int64(s.BodyBytes), s.AddressShare.Hundredths()
	o.MaxFrameBytes, o.TranscriptBytes = int(s.MaxFrameBytes), int(s.TranscriptBytes)
	o.IdleTimeout, o.ResumeIdleGrace = s.StreamIdleTimeout, s.ResumeIdleGrace
	o.Heartbeat, o.WriteTimeout = s.Heartbeat, s.WriteTimeout
}
