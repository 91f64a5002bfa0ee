package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// explanations says what the errors of Redis mean. begin is the first word of an error.
var explanations = []struct{ begin, means string }{
	{"OOM", textMemoryFull},
	{"READONLY", textReadOnly},
	{"LOADING", textLoading},
	{"NOREPLICAS", textFewReplicas},
	{"MISCONF", textDisk},
	{"MASTERDOWN", textNoPrimary},
	{"TRYAGAIN", textSlotMoves},
	{"CLUSTERDOWN", textNoSlots},
	{"NOAUTH", textWantsPassword},
	{"WRONGPASS", textWrongLogin},
	{noRight, textNoRight},
	{noRightInScript, textNoRight},
}

const (
	noRight         = "NOPERM"
	noRightInScript = "The user executing the script can't"
)

var errNoRight = errors.New(textNoRight)

// hasErrorPrefix reports whether an error of Redis begins with the given word. Before version 7,
// Redis adds a text before the error of a script; hasErrorPrefix finds the word after this text.
func hasErrorPrefix(err error, word string) bool {
	text := strings.TrimPrefix(err.Error(), "ERR ") // rueidis usually removes this prefix
	inScript := strings.HasPrefix(text, "Error running script") || strings.HasPrefix(text, "@user_script")
	return strings.HasPrefix(text, word+" ") || inScript && strings.Contains(text, "-"+word+" ")
}

// explain returns an error whose text begins with what the error of Redis means to an operator, if
// that is known.
func explain(err error) error {
	if err == nil {
		return nil
	}
	for _, e := range explanations {
		if hasErrorPrefix(err, e.begin) {
			return fmt.Errorf("%s: %w", e.means, err)
		}
	}
	return err
}

// isMisplaced reports whether the server did nothing because it is not a primary, or is a primary
// that has not loaded its data yet. The address may lead to another server now. In a cluster
// isMisplaced returns false, because the client finds the right server by itself.
func (t *table) isMisplaced(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && !t.cluster && (hasErrorPrefix(e, "READONLY") || hasErrorPrefix(e, "LOADING") || hasErrorPrefix(e, "MASTERDOWN"))
}

// errRefused means that the server answers, but that Holdpoint must not use it.
var errRefused = errors.New(textServerRefused)

func refused(err error) bool {
	var e *rueidis.RedisError
	return errors.Is(err, errRefused) || errors.As(err, &e) && strings.Contains(e.Error(), "cluster support disabled")
}

// isLasting reports whether waiting alone does not remove the error.
func isLasting(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	if refused(err) || errors.Is(err, errReplica) || errors.Is(err, errNoRight) || errors.As(err, &untrusted) || errors.As(err, &plain) {
		return true
	}
	var e *rueidis.RedisError
	if !errors.As(err, &e) {
		return false
	}
	return slices.ContainsFunc([]string{"NOAUTH", "WRONGPASS", noRight, noRightInScript, "AUTH", "invalid password", "DB index", "invalid DB index"}, func(word string) bool { return hasErrorPrefix(e, word) })
}

// examine returns an error if a server would drop open questions. It logs a warning about each
// setting that it cannot read.
func examine(ctx context.Context, client rueidis.Client, a Address, o Options) error {
	var told []func()
	warn := func(text string, attrs ...any) { told = append(told, func() { o.Logger.Warn(text, attrs...) }) }
	for address, node := range client.Nodes() {
		text, err := node.Do(ctx, node.B().Info().Build()).ToString()
		if e, ok := rueidis.IsRedisErr(err); ok && (hasErrorPrefix(e, noRight) || hasErrorPrefix(e, "unknown command")) {
			warn(logNoInfo, "server", address)
			continue
		}
		if err != nil {
			return err
		}
		if err := judge(address, info(text), a.cluster, o, warn); err != nil {
			return err
		}
	}
	if err := mayDo(ctx, client, a, o); err != nil {
		return err
	}
	// with a scheme without +cluster, rueidis uses a node as a single server
	if a.cluster && client.Mode() != rueidis.ClientModeCluster {
		return fmt.Errorf(textNeedsCluster, errNoRight)
	}
	for _, tell := range told { // the warnings are logged only if the server is used
		tell()
	}
	return nil
}

// mayDo returns an error if the user lacks a right that Holdpoint needs. It ignores other errors,
// because later steps report these.
func mayDo(ctx context.Context, client rueidis.Client, a Address, o Options) error {
	t := &table{prefix: a.prefix}
	err := run(ctx, client, call{rightsScript, []string{t.part(0) + "r:", t.opened(0)}, nil})[0].Error()
	if err == nil && o.Replicas > 0 {
		err = client.Do(ctx, client.B().Wait().Numreplicas(0).Timeout(1).Build()).Error()
	}
	if err != nil && (hasErrorPrefix(err, noRight) || hasErrorPrefix(err, noRightInScript)) {
		return err
	}
	return nil
}

// info parses the reply to INFO.
func info(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

var (
	errReplica = errors.New(textReplica)
	errLoading = errors.New(textStillLoading)
)

func judge(address string, has map[string]string, cluster bool, o Options, warn func(string, ...any)) error {
	major, _, _ := strings.Cut(has["redis_version"], ".")
	if n, err := strconv.Atoi(major); err == nil && n < 6 {
		return fmt.Errorf(textTooOld, errRefused, has["redis_version"], address)
	}
	switch policy, known := has["maxmemory_policy"]; {
	case strings.HasPrefix(policy, "allkeys-"):
		return fmt.Errorf(textPolicy,
			errRefused, address, policy)
	case !known:
		warn(logNoPolicy, "server", address)
	}
	switch {
	case has["cluster_enabled"] == "1" && !cluster:
		return fmt.Errorf(textIsCluster, errRefused, address)
	case has["cluster_enabled"] == "0" && cluster:
		return fmt.Errorf(textNoCluster, errRefused, address)
	case has["role"] == "slave" && !cluster:
		return fmt.Errorf(textServerAt, address, errReplica)
	case has["loading"] == "1" && !cluster:
		return fmt.Errorf(textServerAt, address, errLoading)
	}
	if has["aof_enabled"] == "0" {
		warn(logNoAppendFile, "server", address)
	}
	if n, err := strconv.Atoi(has["connected_slaves"]); err == nil && has["role"] == "master" && n < o.Replicas {
		warn(logFewReplicas, "server", address, "replicas", n, "want", o.Replicas)
	}
	return nil
}
