// Package stores knows the kinds of store that can keep Holdpoint's records, and opens the store
// that the settings name.
//
// It does not interpret records, and knows no users. Engines do not import this package.
package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/variables"
	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/memory"
	"holdpoint/store/postgres"
	"holdpoint/store/redis"
)

// Settings are the environment variables that configure the store.
type Settings struct {
	Address        Address          `env:"STORE" envDefault:"memory://" short:"where open questions are kept: memory, a file, Redis or PostgreSQL" doc:"where open questions are kept (docs/state.md). memory:// loses them at a restart. bolt:///var/lib/holdpoint/state.db is a file for one process. Several processes can share postgres://user@host/database or redis://host:6379, also rediss://, redis+sentinel:// and redis+cluster://"`
	Password       variables.Secret `env:"STORE_PASSWORD" doc:"password of the store, if HOLDPOINT_STORE should not contain it" file:"file with that password. It is read again when it changes"`
	Replicas       int              `env:"STORE_REPLICAS" doc:"number of Redis' replicas that must have a question, or the claim of an answer, before it counts. If fewer have it, the step fails (docs/state.md#holdpoint_store_replicas)"`
	Entries        int              `env:"STORE_ENTRIES" envDefault:"100000" doc:"maximum number of threads that wait for an answer. A further question gets STORE_FULL. memory:// also counts ended threads that can be replayed, and deletes those first. The other stores are counted every 5s, so several replicas can exceed the limit a little"`
	Bytes          variables.Size   `env:"STORE_BYTES" envDefault:"512MiB" doc:"maximum memory of memory://, an estimate. To make room it deletes results first, then snapshots of open questions, and never a question"`
	RecordBytes    variables.Size   `env:"STORE_RECORD_BYTES" envDefault:"1MiB" doc:"maximum size of the record of a thread, an estimate. A larger record is kept without its messages and its state for replays, and always with its question"`
	Keys           variables.Secret `env:"STORE_KEYS" doc:"keys that encrypt the records, the newest first: id:key,id:key. An id is a name that you choose; a key is 32 bytes in base64. The word plain instead of a key allows Holdpoint to read records that are not encrypted (docs/state.md#keys)" file:"file with the value of HOLDPOINT_STORE_KEYS. It is read again when it changes"`
	PauseRetention time.Duration    `env:"PAUSE_RETENTION" envDefault:"720h" doc:"how long an unanswered question is kept. Then it is deleted"`
	ReplayTTL      time.Duration    `env:"REPLAY_TTL" envDefault:"24h" doc:"how long the same answer, sent again, gets the same result"`

	ring engine.Ring // the parsed Keys, set by Check
}

// inMemory is the default value of HOLDPOINT_STORE.
const inMemory = "memory://"

// An Address is the value of HOLDPOINT_STORE. It may contain a password.
type Address struct{ text string }

// UnmarshalText accepts any text. Check validates the address later, and its errors do not quote
// the password.
func (a *Address) UnmarshalText(text []byte) error {
	a.text = string(text)
	return nil
}

// String returns the address without the password, for logs.
func (a Address) String() string {
	u, err := url.Parse(a.text)
	if err != nil {
		scheme, _, _ := strings.Cut(a.text, "://")
		return fmt.Sprintf(textHiddenAddress, scheme)
	}
	values, cut := u.Query(), false
	for name := range values {
		if strings.Contains(strings.ToLower(name), "password") {
			values.Set(name, "xxxxx")
			cut = true
		}
	}
	if cut {
		u.RawQuery = values.Encode()
	}
	if u.User != nil {
		u.User, cut = url.User(u.User.Username()), true
	}
	if cut {
		return u.String()
	}
	return a.text
}

// Scheme returns the part of the address before "://", such as "redis".
func (a Address) Scheme() string {
	scheme, _, _ := strings.Cut(a.text, "://")
	return scheme
}

// InMemory reports whether the store keeps its records in the memory of this process.
func (s *Settings) InMemory() bool { return s.Address.Scheme() == "memory" }

// IsKnown reports whether a kind of store has the scheme of HOLDPOINT_STORE.
func (s *Settings) IsKnown() bool {
	_, _, err := s.kind()
	return err == nil
}

// IsRemote reports whether several processes can share the store.
func (s *Settings) IsRemote() bool {
	k, _, err := s.kind()
	return err == nil && k.remote
}

// MayLose reports whether the store is a Redis that does not wait for its replicas. Such a Redis
// may fail over to a replica that lacks the latest changes.
func (s *Settings) MayLose() bool {
	return slices.Contains(redis.Schemes, s.Address.Scheme()) && s.Replicas == 0
}

// Ring returns the keys that encrypt records.
func (s *Settings) Ring() engine.Ring { return s.ring }

// A kind describes one kind of store. The scheme of an address selects it.
type kind struct {
	schemes []string
	example string
	// check validates the address without connecting.
	check func(s *Settings, address *url.URL) error
	open  func(ctx context.Context, s *Settings, address *url.URL, o Options) (*Store, error)
	// remote is true if several processes can share the store.
	remote bool
}

// kinds returns all kinds of store.
func kinds() []kind {
	return []kind{
		{schemes: []string{"memory"}, example: inMemory, check: checkMemory, open: openMemory},
		{schemes: []string{"bolt"}, example: "bolt:///var/lib/holdpoint/state.db", check: checkBolt, open: openBolt},
		{schemes: redis.Schemes, example: "redis://redis.internal:6379", check: checkRedis, open: openRedis, remote: true},
		{schemes: []string{"postgres", "postgresql"}, example: "postgres://user@host/database", check: checkPostgres, open: openPostgres, remote: true},
	}
}

// kind returns the kind of store that HOLDPOINT_STORE names, and the parsed address.
func (s *Settings) kind() (kind, *url.URL, error) {
	var examples []string
	for _, k := range kinds() {
		for _, scheme := range k.schemes {
			if scheme != s.Address.Scheme() || !strings.Contains(s.Address.text, "://") {
				continue
			}
			u, err := url.Parse(s.Address.text)
			if err != nil { // the text of err contains the password
				return k, nil, fmt.Errorf(textNotAddress, k.example)
			}
			return k, u, nil
		}
		examples = append(examples, k.example)
	}
	return kind{}, nil, fmt.Errorf(textNoSuchStore, strings.Join(examples, ", "))
}

// Check reads the keys, and returns one error for each wrong setting.
func (s *Settings) Check() (errs []error) {
	wrong := func(name string, err error) { errs = append(errs, variables.ErrorAt(name, err)) }
	if s.PauseRetention == 0 {
		wrong("PAUSE_RETENTION", errors.New(textRetention))
	}
	if s.ReplayTTL == 0 {
		wrong("REPLAY_TTL", errors.New(textReplayTTL))
	}
	k, address, err := s.kind()
	if err == nil {
		err = k.check(s, address)
	}
	if err != nil {
		wrong("STORE", err)
	}
	if s.Password.IsSet() && err == nil && !k.remote {
		wrong(s.Password.VariableName("STORE_PASSWORD"), fmt.Errorf(textNoPassword, s.Address.Scheme()))
	}
	text, err := s.Keys.Read("STORE_KEYS")
	if err != nil {
		return append(errs, err)
	}
	if s.Replicas > 0 && !slices.Contains(redis.Schemes, s.Address.Scheme()) {
		wrong("STORE_REPLICAS", errors.New(textReplicas))
	}
	if s.ring, err = engine.ParseRing(text); err != nil {
		wrong("STORE_KEYS", err)
	} else if text != "" && s.InMemory() {
		wrong("STORE_KEYS", errors.New(textNotSealed))
	}
	return errs
}

// Options are values and callbacks that the rest of the program passes to a store.
type Options struct {
	Share        int           // percentage of a memory store that one client address may fill; 0: no bound
	LongestLease time.Duration // the longest lease that any caller requests
	OnEnded      func(store.Key, *store.Result)
	Notices      func(store.Key, *store.Result) []store.Notice
	NoticesLost  func(int)
	OnEvicted    func(what string)
	Logger       *slog.Logger
}

// A Store is an opened store with its settings.
type Store struct {
	store.Store
	settings *Settings
	logger   *slog.Logger
	stop     func() error
	// Reload uses setKeys to encrypt records with other keys. It uses renew to let new connections
	// log in with the current content of the files. Each is nil if the store cannot do it.
	setKeys func(engine.Ring)
	renew   func() error
	// mayForget reports whether the store may lose its latest changes although it has confirmed
	// them. It is nil for a store that never does.
	mayForget func(context.Context) bool
}

// New opens the store that the settings name. It logs the kind of store, and what that store can
// lose. If the store is a file that another process has open, New waits until ctx ends, and then
// returns the cause of ctx.
func (s *Settings) New(ctx context.Context, o Options) (*Store, error) {
	k, address, err := s.kind()
	if err != nil {
		return nil, err
	}
	open, err := k.open(ctx, s, address, o)
	if err != nil {
		return nil, err
	}
	open.settings, open.logger = s, o.Logger
	if !s.InMemory() {
		o.Logger.Info("store", "store", s.Address.String(), "sealed", s.ring.Seals())
	}
	s.LogStart(o.Logger)
	return open, nil
}

// LogStart logs a warning for each setting with consequences that an operator should know.
func (s *Settings) LogStart(logger *slog.Logger) {
	if s.InMemory() {
		logger.Warn(logInMemory)
	}
	if s.IsRemote() && !s.ring.Seals() {
		logger.Warn(logUnsealed, "variable", "HOLDPOINT_STORE_KEYS")
	}
}

// Forgets reports whether the store may lose the fact that an answer was sent, although it still
// has the decision. It may send a query to the store.
func (s *Store) Forgets() bool {
	return s.settings.MayLose() || s.mayForget != nil && s.mayForget(context.Background())
}

// Stop closes the store.
func (s *Store) Stop() {
	if err := s.stop(); err != nil {
		s.logger.Error(logNotClosed, "err", err)
	}
}

// ReloadKeys returns a function that reads the file of the keys again, or nil if no such file is
// set.
func (s *Store) ReloadKeys() func() error {
	if s.settings.Keys.File == "" || s.setKeys == nil {
		return nil
	}
	return func() error {
		ring, err := s.settings.ReadRing()
		if err == nil {
			s.setKeys(ring)
		}
		return err
	}
}

// ReloadLogin returns a function that reads the password again, so that new connections use it. It
// is nil for a store without connections.
func (s *Store) ReloadLogin() func() error { return s.renew }

// LoginFiles returns the files that new connections read to log in: the file of the password, and
// the files that the address names.
func (s *Settings) LoginFiles() []string {
	files := []string{s.Password.File}
	if u, err := url.Parse(s.Address.text); err == nil {
		for _, name := range []string{"ca_file", "sentinel_password_file", "sslrootcert", "sslcert", "sslkey", "passfile"} {
			files = append(files, u.Query().Get(name))
		}
	}
	// sslrootcert=system names no file
	return slices.DeleteFunc(files, func(file string) bool { return file == "" || file == "system" })
}

// ReadRing reads the keys that encrypt records again.
func (s *Settings) ReadRing() (engine.Ring, error) {
	text, err := s.Keys.Read("STORE_KEYS")
	if err != nil {
		return engine.Ring{}, err
	}
	return engine.ParseRing(text)
}

func (s *Settings) engineOptions(o Options) engine.Options {
	return engine.Options{
		ReplayTTL: s.ReplayTTL, PauseRetention: s.PauseRetention, LongestLease: o.LongestLease, RecordBytes: int(s.RecordBytes),
		Entries: s.Entries, Keys: s.ring, Logger: o.Logger, OnEnded: o.OnEnded, Notices: o.Notices, NoticesLost: o.NoticesLost,
	}
}

func checkMemory(s *Settings, _ *url.URL) error {
	if s.Address.text != inMemory {
		return fmt.Errorf(textMemoryAddress, inMemory)
	}
	return nil
}

func openMemory(_ context.Context, s *Settings, _ *url.URL, o Options) (*Store, error) {
	return &Store{Store: memory.New(memory.Options{
		Entries: s.Entries, Bytes: int(s.Bytes), Share: o.Share, RecordBytes: int(s.RecordBytes),
		ReplayTTL: s.ReplayTTL, PauseRetention: s.PauseRetention, OnEnded: o.OnEnded, OnEvicted: o.OnEvicted,
		Notices: o.Notices, NoticesLost: o.NoticesLost,
	}), stop: func() error { return nil }}, nil
}

func checkBolt(_ *Settings, address *url.URL) error {
	switch {
	case address.Host != "" || address.Opaque != "":
		return errors.New(textWholePath)
	case address.RawQuery != "" || address.Fragment != "" || address.User != nil:
		return errors.New(textPathOnly)
	case address.Path == "" || strings.HasSuffix(address.Path, "/"):
		return errors.New(textFilePath)
	}
	return nil
}

func openBolt(ctx context.Context, s *Settings, address *url.URL, o Options) (*Store, error) {
	b, err := bolt.OpenWhenFree(ctx, filepath.FromSlash(address.Path), bolt.Options{Options: s.engineOptions(o)}, func() {
		o.Logger.Warn(logFileInUse, "store", s.Address.String())
	})
	if err != nil {
		return nil, err
	}
	return &Store{Store: b, stop: b.Stop, setKeys: b.SetKeys}, nil
}

// password returns the value of HOLDPOINT_STORE_PASSWORD, from the variable or its file. The
// parameter inAddress says that HOLDPOINT_STORE contains a password too. Two passwords are an
// error.
func (s *Settings) password(inAddress bool) (string, error) {
	password, err := s.Password.Read("STORE_PASSWORD")
	switch {
	case err != nil:
		return "", fmt.Errorf("HOLDPOINT_STORE_PASSWORD_FILE: %w", errors.Unwrap(err))
	case password != "" && inAddress:
		return "", fmt.Errorf(textTwoPasswords, s.Password.VariableName("STORE_PASSWORD"))
	}
	return password, nil
}

// redisAddress returns the address of Redis with its password. The password may be set in the
// address, in the variable or in a file.
func (s *Settings) redisAddress(address *url.URL) (redis.Address, error) {
	_, has := address.User.Password()
	password, err := s.password(has)
	if err != nil {
		return redis.Address{}, err
	}
	with := *address
	if password != "" {
		with.User = url.UserPassword(address.User.Username(), password)
	}
	return redis.Parse(&with)
}

func checkRedis(s *Settings, address *url.URL) error {
	_, err := s.redisAddress(address)
	return err
}

func openRedis(_ context.Context, s *Settings, address *url.URL, o Options) (*Store, error) {
	a, err := s.redisAddress(address)
	if err != nil {
		return nil, err
	}
	r, err := redis.Open(context.Background(), a, redis.Options{Options: s.engineOptions(o), Replicas: s.Replicas})
	if err != nil {
		return nil, err
	}
	return &Store{Store: r, stop: r.Stop, setKeys: r.SetKeys, renew: func() error {
		fresh, err := s.redisAddress(address)
		if err != nil {
			return err
		}
		return r.Login(context.Background(), fresh)
	}}, nil
}

// postgresConfig returns the configuration of PostgreSQL with its password. The password may be set
// in the address, in the variable or in a file.
func (s *Settings) postgresConfig(address *url.URL) (*postgres.Config, error) {
	password, err := s.password(postgres.HasPassword(address))
	if err != nil {
		return nil, err
	}
	return postgres.Parse(s.Address.text, password)
}

func checkPostgres(s *Settings, address *url.URL) error {
	_, err := s.postgresConfig(address)
	return err
}

func openPostgres(_ context.Context, s *Settings, address *url.URL, o Options) (*Store, error) {
	p, err := s.postgresConfig(address)
	if err != nil {
		return nil, err
	}
	opened, err := postgres.Open(p, s.engineOptions(o))
	if err != nil {
		return nil, err
	}
	return &Store{Store: opened, stop: opened.Stop, setKeys: opened.SetKeys, mayForget: opened.Forgets, renew: func() error {
		fresh, err := s.postgresConfig(address)
		if err == nil {
			p.Login(fresh)
		}
		return err
	}}, nil
}

// Schema returns the SQL that makes the tables of a PostgreSQL store. If given is true, the SQL is
// for the database schema that HOLDPOINT_STORE names. If given is false, it is for the default
// schema.
func (s *Settings) Schema(given bool) (string, error) {
	if !given {
		return postgres.Schema(nil), nil
	}
	p, err := postgres.Parse(s.Address.text, "")
	if err != nil {
		return "", err
	}
	return postgres.Schema(p), nil
}
