package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// explanations are of what Redis says, by the first word.
var explanations = []struct{ begin, means string }{
	{"OOM", "Redis has no memory left (maxmemory)"},
	{"READONLY", "this Redis is a replica, which takes no changes: it may be a primary no more"},
	{"LOADING", "Redis still loads its data"},
	{"NOREPLICAS", "Redis has fewer replicas than its min-replicas-to-write"},
	{"MISCONF", "Redis cannot write to its disk"},
	{"MASTERDOWN", "this Redis is a replica without its primary"},
	{"CLUSTERDOWN", "the Redis cluster has slots that no server has"},
	{"NOAUTH", "Redis wants a password"},
	{"WRONGPASS", "Redis does not take the user or the password"},
	{"NOPERM", "the Redis user may not do this (docs/state.md has what it must be allowed)"},
}

// explain says what an error of Redis means to who runs Holdpoint.
func explain(err error) error {
	if err == nil {
		return nil
	}
	for _, e := range explanations {
		if strings.HasPrefix(err.Error(), e.begin+" ") {
			return fmt.Errorf("%s: %w", e.means, err)
		}
	}
	return err
}

// examine refuses servers that would lose what waits, and warns of what cannot be asked.
func (t *table) examine(ctx context.Context, cluster bool) error {
	for address, node := range t.client.Nodes() {
		text, err := node.Do(ctx, node.B().Info().Build()).ToString()
		if e, ok := rueidis.IsRedisErr(err); ok && (strings.HasPrefix(e.Error(), "NOPERM") || strings.HasPrefix(e.Error(), "ERR unknown command")) {
			t.options.Logger.Warn("Redis may not be asked for INFO: its maxmemory-policy must not be one of allkeys-*, which drop open questions", "server", address)
			continue
		}
		if err != nil {
			return fmt.Errorf("store: %w", explain(err))
		}
		if err := t.judge(address, info(text), cluster); err != nil {
			return err
		}
	}
	return nil
}

// info reads what INFO says.
func info(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

func (t *table) judge(address string, has map[string]string, cluster bool) error {
	log := t.options.Logger
	major, _, _ := strings.Cut(has["redis_version"], ".")
	if n, err := strconv.Atoi(major); err == nil && n < 6 {
		return fmt.Errorf("store: Redis %s at %s is too old, want 6.0 or later", has["redis_version"], address)
	}
	switch policy, known := has["maxmemory_policy"]; {
	case strings.HasPrefix(policy, "allkeys-"):
		return fmt.Errorf("store: Redis at %s has the maxmemory-policy %s, which drops open questions without a word: want noeviction, or one of volatile-*", address, policy)
	case !known:
		log.Warn("Redis does not say its maxmemory-policy: it must not be one of allkeys-*, which drop open questions", "server", address)
	}
	switch {
	case has["cluster_enabled"] == "1" && !cluster:
		return fmt.Errorf("store: Redis at %s is part of a cluster: want redis+cluster://", address)
	case has["cluster_enabled"] == "0" && cluster:
		return fmt.Errorf("store: Redis at %s is no cluster: want redis://", address)
	case has["role"] == "slave" && !cluster:
		return errors.New("store: Redis at " + address + " is a replica, which takes no changes: want its primary, or redis+sentinel://")
	}
	if has["aof_enabled"] == "0" {
		log.Warn("Redis writes no append-only file: if it restarts, it may lose open questions and answers (docs/state.md)", "server", address)
	}
	if n, err := strconv.Atoi(has["connected_slaves"]); err == nil && has["role"] == "master" && n < t.options.Replicas {
		log.Warn("Redis has fewer replicas than HOLDPOINT_STORE_REPLICAS: no question can be opened or answered", "server", address, "replicas", n, "want", t.options.Replicas)
	}
	return nil
}
