//go:build unix

package servers

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Sentinels are Redis sentinels: they watch a primary and its replicas, and promote a replica when
// the primary fails.
type Sentinels struct {
	t     testing.TB
	Name  string // the name by which clients ask for the primary
	Nodes []*Redis
}

// StartSentinels starts n sentinels for primary, which has the given number of replicas. It returns
// when each sentinel has found the other sentinels and the replicas.
func StartSentinels(t testing.TB, primary *Redis, n, replicas int) *Sentinels {
	t.Helper()
	s := &Sentinels{t: t, Name: "holdpoint"}
	for range n {
		conf := []string{
			"sentinel resolve-hostnames no",
			fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", s.Name, primary.port, n/2+1),
			"sentinel down-after-milliseconds " + s.Name + " 1000", "sentinel failover-timeout " + s.Name + " 3000",
		}
		if primary.admin != "" {
			conf = append(conf, "sentinel auth-user "+s.Name+" admin", "sentinel auth-pass "+s.Name+" "+primary.admin)
		}
		s.Nodes = append(s.Nodes, startSentinel(t, conf))
	}
	for _, node := range s.Nodes {
		awaitState(t, "the sentinels do not know each other", func() error {
			v, err := node.ask("INFO", "sentinel")
			text, _ := v.(string)
			if want := fmt.Sprintf("slaves=%d,sentinels=%d", replicas, n); err == nil && !strings.Contains(text, want) {
				err = fmt.Errorf("%q is not in %s", want, text)
			}
			return err
		})
	}
	return s
}

// startSentinel starts a sentinel. Its configuration is conf, without the lines for a server.
func startSentinel(t testing.TB, conf []string) *Redis {
	t.Helper()
	r := &Redis{}
	r.sentinelConf = conf
	r.firstStart(t, "--sentinel")
	return r
}

// Addrs returns the addresses of all sentinels.
func (s *Sentinels) Addrs() []string { return addrs(s.Nodes) }

// Primary returns the address of the primary that the first sentinel reports.
func (s *Sentinels) Primary() string {
	s.t.Helper()
	v, _ := s.Nodes[0].Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name).([]any)
	if len(v) != 2 {
		s.t.Fatalf("the sentinel names no primary: %v", v)
	}
	return fmt.Sprintf("%v:%v", v[0], v[1])
}

// AwaitPromotion waits until the replica is the primary and all sentinels report its address.
func (s *Sentinels) AwaitPromotion(replica *Redis) {
	s.t.Helper()
	for _, node := range s.Nodes {
		awaitState(s.t, "the replica is not promoted", func() error {
			v, err := node.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name)
			if err != nil {
				return err
			}
			if at, _ := v.([]any); len(at) != 2 || at[1] != strconv.Itoa(replica.port) {
				return fmt.Errorf("the sentinel names %v", v)
			}
			role, _, err := replica.role()
			if err == nil && role != "master" {
				err = fmt.Errorf("its role is %s", role)
			}
			return err
		})
	}
	replica.options.ReplicaOf = nil
}

// A RedisCluster is a Redis cluster. Its primaries share the hash slots.
type RedisCluster struct {
	t     testing.TB
	Nodes []*Redis
}

const slots = 16384

// StartRedisCluster starts a cluster of n primaries. It returns when all of them know the owner of
// each slot.
func StartRedisCluster(t testing.TB, n int, o RedisOptions) *RedisCluster {
	t.Helper()
	c := &RedisCluster{t: t}
	for range n {
		c.start(o)
	}
	for i, node := range c.Nodes {
		node.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		node.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/n), strconv.Itoa(slots*(i+1)/n-1))
		if i > 0 {
			c.meet(node)
		}
	}
	c.AwaitAgreement()
	return c
}

// start starts a node that is not connected to other nodes yet.
func (c *RedisCluster) start(o RedisOptions) *Redis {
	c.t.Helper()
	if len(c.Nodes) > 0 {
		o.clusterNode = c.Nodes[0]
	}
	// The port of the cluster bus is set, because by default it is the server's port plus 10000,
	// which may be in use.
	o.Conf = append([]string{
		"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 5000", fmt.Sprint("cluster-port ", freePort(c.t)),
	}, o.Conf...)
	node := startRedis(c.t, o)
	c.Nodes = append(c.Nodes, node)
	return node
}

func (c *RedisCluster) meet(node *Redis) {
	c.t.Helper()
	bus := strings.Fields(node.options.Conf[3])[1]
	c.Nodes[0].Do("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(node.port), bus)
}

// Add adds a primary that has no slots to the cluster.
func (c *RedisCluster) Add(o RedisOptions) *Redis {
	c.t.Helper()
	node := c.start(o)
	c.meet(node)
	c.AwaitAgreement()
	return node
}

// AddReplica adds a replica of a primary. It returns the replica when that has the primary's data.
func (c *RedisCluster) AddReplica(primary *Redis, o RedisOptions) *Redis {
	c.t.Helper()
	node := c.Add(o)
	awaitState(c.t, "the node is no replica", func() error {
		_, err := node.ask("CLUSTER", "REPLICATE", primary.id())
		return err
	})
	node.options.ReplicaOf = primary
	node.AwaitSync()
	// a cluster node has this in nodes.conf, and refuses it in its configuration
	node.options.ReplicaOf = nil
	return node
}

// id returns the id of the node in its cluster.
func (r *Redis) id() string {
	r.t.Helper()
	id, _ := r.Do("CLUSTER", "MYID").(string)
	return id
}

// MoveSlot moves a slot with its keys from one primary to another in the same way as redis-cli.
// Clients may use the cluster meanwhile. https://redis.io/docs/latest/commands/cluster-setslot/
func (c *RedisCluster) MoveSlot(slot int, from, to *Redis) {
	c.t.Helper()
	n := strconv.Itoa(slot)
	to.Do("CLUSTER", "SETSLOT", n, "IMPORTING", from.id())
	from.Do("CLUSTER", "SETSLOT", n, "MIGRATING", to.id())
	for {
		keys, _ := from.Do("CLUSTER", "GETKEYSINSLOT", n, "10").([]any)
		if len(keys) == 0 {
			break
		}
		command := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port), "", "0", "5000"}
		if to.admin != "" {
			command = append(command, "AUTH2", "admin", to.admin)
		}
		command = append(command, "KEYS")
		for _, key := range keys {
			command = append(command, fmt.Sprint(key))
		}
		from.Do(command...)
	}
	to.Do("CLUSTER", "SETSLOT", n, "NODE", to.id())
	from.Do("CLUSTER", "SETSLOT", n, "NODE", to.id())
}

// Addrs returns the addresses of all nodes.
func (c *RedisCluster) Addrs() []string { return addrs(c.Nodes) }

// AwaitAgreement waits until each node reports that the cluster works and that it knows all nodes.
func (c *RedisCluster) AwaitAgreement() {
	c.t.Helper()
	for _, node := range c.Nodes {
		awaitState(c.t, "the cluster is not whole", func() error {
			v, err := node.ask("CLUSTER", "INFO")
			text, _ := v.(string)
			if err == nil && !(strings.Contains(text, "cluster_state:ok") && strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes)))) {
				err = fmt.Errorf("it says %s", text)
			}
			return err
		})
	}
}

func addrs(nodes []*Redis) []string {
	var list []string
	for _, node := range nodes {
		list = append(list, node.Addr())
	}
	return list
}
