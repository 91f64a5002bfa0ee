//go:build unix

package main

import (
	"strings"
	"testing"

	"holdpoint/internal/test/servers"
)

const redisSecret = "secret"

func TestAPauseInRedisSurvives(t *testing.T) {
	t.Parallel()
	server := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: redisSecret})
	survives(t, server, func(password string) {
		server.Do("ACL", "SETUSER", "holdpoint", "resetpass", ">"+password)
		server.Do("CLIENT", "KILL", "USER", "holdpoint")
	}, redisSecret, "redis://holdpoint@"+server.Addr())
}

// TestRefusedRedisEndsTheStart: if the Redis server is configured to evict keys, it could drop open
// questions. Then Holdpoint must not start.
func TestRefusedRedisEndsTheStart(t *testing.T) {
	server := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: "secret", Conf: []string{"maxmemory-policy allkeys-random"}})
	_, stderr, code := holdpoint(t, []string{upstream, "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_STORE=" + server.URL()}, "run")
	if code != 1 || !strings.Contains(stderr, "allkeys-random, which drops open questions") || strings.Contains(stderr, "secret") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}
