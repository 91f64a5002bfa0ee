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

// explanations are the meanings of Redis errors, by their first word.
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

// hasErrorPrefix reports whether an error is one of Redis that begins with word. Before version 7,
// Redis adds a text before the error of a script.
func hasErrorPrefix(err error, word string) bool {
	text := strings.TrimPrefix(err.Error(), "ERR ") // rueidis usually removes it
	inScript := strings.HasPrefix(text, "Error running script") || strings.HasPrefix(text, "@user_script")
	return strings.HasPrefix(text, word+" ") || inScript && strings.Contains(text, "-"+word+" ")
}

// explain returns what an error of Redis means to an operator.
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

// isMisplaced reports that the server did nothing because it is not, or not yet, a primary with its
// data. The address may lead to another server by now. In a cluster the client follows by itself.
func (t *table) isMisplaced(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && !t.cluster && (hasErrorPrefix(e, "READONLY") || hasErrorPrefix(e, "LOADING") || hasErrorPrefix(e, "MASTERDOWN"))
}

// errRefused means that the server answers, and that Holdpoint may not use it.
var errRefused = errors.New("the server is refused")

func refused(err error) bool {
	var e *rueidis.RedisError
	return errors.Is(err, errRefused) || errors.As(err, &e) && strings.Contains(e.Error(), "cluster support disabled")
}

// isLasting reports that waiting alone will not help.
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

// examine refuses servers that would drop open questions, and warns about settings that cannot be
// read.
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
	if a.cluster && client.Mode() != rueidis.ClientModeCluster { // without +cluster, rueidis treats a node as a single server
		return fmt.Errorf("%w: it needs +cluster", errNoRight)
	}
	for _, tell := range told { // warn only of a server that is used
		tell()
	}
	return nil
}

// mayDo returns an error if the user lacks a right. Other faults show in later steps.
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
		return fmt.Errorf("the server at %s: %w", address, errReplica)
	case has["loading"] == "1" && !cluster:
		return fmt.Errorf("the server at %s: %w", address, errLoading)
	}
	if has["aof_enabled"] == "0" {
		warn(logNoAppendFile, "server", address)
	}
	if n, err := strconv.Atoi(has["connected_slaves"]); err == nil && has["role"] == "master" && n < o.Replicas {
		warn(logFewReplicas, "server", address, "replicas", n, "want", o.Replicas)
	}
	return nil
}
