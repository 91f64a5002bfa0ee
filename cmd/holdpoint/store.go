package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/memory"
	"holdpoint/store/redis"
)

// A storeAddress is HOLDPOINT_STORE. It may hold a password.
type storeAddress struct{ text string }

// UnmarshalText takes any text. What is wrong with it is said by check, without the password.
func (a *storeAddress) UnmarshalText(text []byte) error {
	a.text = string(text)
	return nil
}

// String is the address as a log may hold it.
func (a storeAddress) String() string {
	u, err := url.Parse(a.text)
	if err != nil {
		scheme, _, _ := strings.Cut(a.text, "://")
		return scheme + "://(not an address)"
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

// scheme says which engine it is.
func (a storeAddress) scheme() string {
	scheme, _, _ := strings.Cut(a.text, "://")
	return scheme
}

// A secret is a value that no log may hold.
type secret struct{ text string }

// UnmarshalText takes any text, so that no error holds it.
func (s *secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// String says only that there is one.
func (s secret) String() string {
	if s.text == "" {
		return ""
	}
	return "(set)"
}

// An openStore is a store with what ends it.
type openStore struct {
	store.Store
	stop func() error
	// setKeys and renew are for HUP: records are sealed with other keys, and new connections log in
	// with what the files say now. nil where there is nothing of the kind.
	setKeys func(engine.Ring)
	renew   func() error
	// forgets says whether the store may lose what counted, and keep what was before it; nil: never.
	forgets func(context.Context) bool
}

// An engineOf is a kind of store by the schemes of its addresses.
type engineOf struct {
	schemes []string
	example string
	// check judges the address without asking anybody.
	check func(c *config, address *url.URL) error
	open  func(c *config, address *url.URL, logger *slog.Logger) (openStore, error)
	// remote says that several replicas can share it.
	remote bool
}

// engines are all kinds of store.
func engines() []engineOf {
	return []engineOf{
		{schemes: []string{"memory"}, example: memoryStore, check: checkMemory, open: openMemory},
		{schemes: []string{"bolt"}, example: "bolt:///var/lib/holdpoint/state.db", check: checkBolt, open: openBolt},
		{schemes: redis.Schemes, example: "redis://redis.internal:6379", check: checkRedis, open: openRedis, remote: true},
		{schemes: []string{"postgres", "postgresql"}, example: "postgres://user@host/database", check: checkPostgres, open: openPostgres, remote: true},
	}
}

// engine finds the engine of HOLDPOINT_STORE.
func (c *config) engine() (engineOf, *url.URL, error) {
	var examples []string
	for _, e := range engines() {
		for _, scheme := range e.schemes {
			if scheme != c.Store.scheme() || !strings.Contains(c.Store.text, "://") {
				continue
			}
			u, err := url.Parse(c.Store.text)
			if err != nil { // its text would hold the password
				return e, nil, fmt.Errorf("not an address, want one such as %s", e.example)
			}
			return e, u, nil
		}
		examples = append(examples, e.example)
	}
	return engineOf{}, nil, fmt.Errorf("no such store, want one such as %s", strings.Join(examples, ", "))
}

// checkStore judges HOLDPOINT_STORE and what belongs to it.
func (c *config) checkStore(wrong func(name string, err error)) {
	e, address, err := c.engine()
	if err == nil {
		err = e.check(c, address)
	}
	if err != nil {
		wrong("STORE", err)
	}
	if c.StorePasswordFile != "" && err == nil && !e.remote {
		wrong("STORE_PASSWORD_FILE", fmt.Errorf("%s takes no password, want it unset, or another HOLDPOINT_STORE", c.Store.scheme()))
	}
	text, err := c.secretOf(c.StoreKeys, c.StoreKeysFile)
	if err != nil {
		wrong("STORE_KEYS_FILE", err)
		return
	}
	if c.StoreReplicas > 0 && !slices.Contains(redis.Schemes, c.Store.scheme()) {
		wrong("STORE_REPLICAS", errors.New("it is for Redis. PostgreSQL waits for what its synchronous_standby_names says, and the other stores have no replicas"))
	}
	if c.ring, err = engine.ParseRing(text); err != nil {
		wrong("STORE_KEYS", err)
	} else if text != "" && c.Store.scheme() == "memory" {
		wrong("STORE_KEYS", errors.New("the store in memory seals nothing, want it unset, or another HOLDPOINT_STORE"))
	}
}

// secretOf is a secret that stands in a variable or in a file, not in both.
func (c *config) secretOf(s secret, file string) (string, error) {
	switch {
	case file == "":
		return s.text, nil
	case s.text != "":
		return "", errors.New("it is set beside the variable of the same name without _FILE, want one of them")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(text)); text != "" {
		return text, nil
	}
	return "", errors.New("the file is empty")
}

func (c *config) engineOptions(logger *slog.Logger) engine.Options {
	return engine.Options{
		ReplayTTL: c.ReplayTTL, PauseRetention: c.PauseRetention, LongestLease: proxy.LeaseTime, RecordBytes: int(c.StoreRecordBytes),
		Entries: c.StoreEntries, Keys: c.ring, Logger: logger, Ended: c.endedByTime(),
		Notices: c.noticesByTime(), NoticesLost: c.noticesLost(logger),
	}
}

// notes returns what is allowed and hardly meant, in sentences.
func (c *config) notes() []string {
	var notes []string
	if c.Store.scheme() != "memory" && c.AddressShare.share() != 0 {
		notes = append(notes, "HOLDPOINT_ADDRESS_SHARE bounds the bodies that are being read, and not the questions: only the store in memory has shares")
	}
	if c.MaxFrameBytes < c.MaxRequestBytes {
		notes = append(notes, fmt.Sprintf("HOLDPOINT_MAX_FRAME_BYTES (%s) is less than HOLDPOINT_MAX_REQUEST_BYTES (%s): an agent that repeats the whole conversation in one frame fails with FRAME_TOO_LARGE in a long chat", c.MaxFrameBytes, c.MaxRequestBytes))
	}
	return notes
}

// openStore opens the store that c describes, and says which it is and what it loses.
func (c *config) openStore(logger *slog.Logger) (openStore, error) {
	e, address, err := c.engine()
	if err != nil {
		return openStore{}, err
	}
	s, err := e.open(c, address, logger)
	if err != nil {
		return openStore{}, err
	}
	c.storeForgets = s.forgets
	if c.Store.scheme() == "memory" {
		logger.Warn("the store is in memory: a restart loses open pauses, and their threads go on only with a new message. No other replica knows them")
	} else {
		logger.Info("store", "store", c.Store.String(), "sealed", c.ring.Seals())
	}
	for _, note := range c.notes() {
		logger.Warn(note)
	}
	if e.remote && !c.ring.Seals() {
		logger.Warn("records are not sealed: who can read the store can read questions, arguments and messages", "variable", "HOLDPOINT_STORE_KEYS")
	}
	return s, nil
}

func checkMemory(c *config, _ *url.URL) error {
	if c.Store.text != memoryStore {
		return fmt.Errorf("the store in memory takes no more than %s", memoryStore)
	}
	return nil
}

func openMemory(c *config, _ *url.URL, logger *slog.Logger) (openStore, error) {
	return openStore{memory.New(memory.Options{
		Entries: c.StoreEntries, Bytes: int(c.StoreBytes), Share: c.AddressShare.share(), RecordBytes: int(c.StoreRecordBytes),
		ReplayTTL: c.ReplayTTL, PauseRetention: c.PauseRetention, Ended: c.endedByTime(), Evicted: c.metrics.Evicted,
		Notices: c.noticesByTime(), NoticesLost: c.noticesLost(logger),
	}), func() error { return nil }, nil, nil, nil}, nil
}

func checkBolt(_ *config, address *url.URL) error {
	switch {
	case address.Host != "" || address.Opaque != "":
		return errors.New("want the file's whole path behind three slashes, such as bolt:///var/lib/holdpoint/state.db")
	case address.RawQuery != "" || address.Fragment != "" || address.User != nil:
		return errors.New("want a path and nothing else, such as bolt:///var/lib/holdpoint/state.db")
	case address.Path == "" || strings.HasSuffix(address.Path, "/"):
		return errors.New("want the path of a file, such as bolt:///var/lib/holdpoint/state.db")
	}
	return nil
}

func openBolt(c *config, address *url.URL, logger *slog.Logger) (openStore, error) {
	s, err := bolt.Open(filepath.FromSlash(address.Path), bolt.Options{Options: c.engineOptions(logger)})
	if err != nil {
		return openStore{}, err
	}
	return openStore{s, s.Stop, s.SetKeys, nil, nil}, nil
}

// storePassword is the one of HOLDPOINT_STORE_PASSWORD_FILE, "" without that. inAddress says that
// HOLDPOINT_STORE has a password.
func (c *config) storePassword(inAddress bool) (string, error) {
	password, err := c.secretOf(secret{}, c.StorePasswordFile)
	switch {
	case err != nil:
		return "", fmt.Errorf("HOLDPOINT_STORE_PASSWORD_FILE: %w", err)
	case password != "" && inAddress:
		return "", errors.New("there is a password in it, and one in HOLDPOINT_STORE_PASSWORD_FILE, want one of them")
	}
	return password, nil
}

// redisAddress reads the address with the password, wherever that stands.
func (c *config) redisAddress(address *url.URL) (redis.Address, error) {
	_, has := address.User.Password()
	password, err := c.storePassword(has)
	if err != nil {
		return redis.Address{}, err
	}
	with := *address
	if password != "" {
		with.User = url.UserPassword(address.User.Username(), password)
	}
	return redis.Parse(&with)
}

func checkRedis(c *config, address *url.URL) error {
	_, err := c.redisAddress(address)
	return err
}

func openRedis(c *config, address *url.URL, logger *slog.Logger) (openStore, error) {
	a, err := c.redisAddress(address)
	if err != nil {
		return openStore{}, err
	}
	s, err := redis.Open(context.Background(), a, redis.Options{Options: c.engineOptions(logger), Replicas: c.StoreReplicas})
	if err != nil {
		return openStore{}, err
	}
	return openStore{s, s.Stop, s.SetKeys, func() error {
		fresh, err := c.redisAddress(address)
		if err != nil {
			return err
		}
		return s.Login(context.Background(), fresh)
	}, nil}, nil
}
