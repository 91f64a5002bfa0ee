package proxy

import (
	"fmt"
	"time"

	"holdpoint/internal/variables"
)

// Settings are the variables of runs that are the same for all agents.
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

// Check returns what is wrong with the settings.
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

// Fill sets the options that the settings say.
func (s *Settings) Fill(o *Options) {
	o.StoreOutage, o.OnDisconnect, o.Underscores = s.StoreOutage, s.OnDisconnect, s.HeaderUnderscores
	o.InterruptTTL = s.InterruptTTL
	o.MaxRequestBytes, o.BodyBytes, o.AddressShare = int64(s.MaxRequestBytes), int64(s.BodyBytes), s.AddressShare.Share()
	o.MaxFrameBytes, o.TranscriptBytes = int(s.MaxFrameBytes), int(s.TranscriptBytes)
	o.IdleTimeout, o.ResumeIdleGrace = s.StreamIdleTimeout, s.ResumeIdleGrace
	o.Heartbeat, o.WriteTimeout = s.Heartbeat, s.WriteTimeout
}
