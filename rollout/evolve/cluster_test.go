package evolve

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// messageCluster starts three message servers that are one cluster, and returns their addresses.
func messageCluster(t *testing.T) (servers []*natsserver.Server, address string) {
	var ports []int
	var routes []*url.URL
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
	}
	var addresses []string
	for i, port := range ports {
		s, address := runServer(t, &natsserver.Options{ServerName: fmt.Sprint("node", i), Routes: routes,
			JetStream: true, StoreDir: t.TempDir(), Cluster: natsserver.ClusterOpts{Name: "test", Host: "127.0.0.1",
				Port: port}})
		servers, addresses = append(servers, s), append(addresses, strings.TrimPrefix(address, "nats://"))
	}
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(servers, (*natsserver.Server).JetStreamIsLeader)
	}, time.Minute, 10*time.Millisecond)
	return servers, "nats://" + strings.Join(addresses, ",")
}

// A cluster loses a node, that which leads it: hosts and islands that are connected go on, hosts that come later
// know that the run is done, and an island that comes later gets members that left before. What a server keeps had one
// replica.
func TestAClusterLosesANode(t *testing.T) {
	long.Only(t)
	t.Parallel()
	servers, address := messageCluster(t)
	island := func(name string) run.Run {
		c := smallRun(func(c *Config) {
			c.Strategy, c.Devices, c.Population, c.Generations = "simplega", 1, 16, 1000
			c.Island, c.Join, c.MigrateEvery, c.Migrants = name, address+"/isles", 2, 2
		})
		r, err := c.Start(t.Context(), &xlabridge.Reference{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		return r
	}
	arrived := func(r run.Run) bool {
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		n, _ := m.Get("arrived")
		return n > 0
	}
	// Nobody leaves anything after the loss.
	a, b := island("a"), island("b")
	require.Eventually(t, func() bool {
		_, _ = a.Step(t.Context()) // it leaves members
		return arrived(b)
	}, time.Minute, 20*time.Millisecond)
	c := smallRun(func(c *Config) { c.Generations = 12 })
	want, err := metricsOf(t, c, 0, nil)
	require.NoError(t, err)
	c.Join, c.Hosts = address+"/try", 2
	var both sync.WaitGroup
	lose := sync.OnceFunc(func() {
		leader := slices.IndexFunc(servers, (*natsserver.Server).JetStreamIsLeader)
		servers[leader].Shutdown()
	})
	for range 2 {
		both.Go(func() {
			got, err := metricsOf(t, c, 0, func(step int64) {
				if step == 4 {
					lose()
				}
			})
			assert.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	both.Wait()
	_, err = metricsOf(t, c, 0, nil)
	require.True(t, errors.As(err, new(*hosts.OverError)), "%v", err)
	conn, err := nats.Connect(address)
	require.NoError(t, err)
	defer conn.Close()
	js, err := conn.JetStream()
	require.NoError(t, err)
	for _, stream := range []string{"KV_xlarun-runs", "KV_xlarun-pool-isles", "OBJ_xlarun-pool-isles"} {
		info, err := js.StreamInfo(stream)
		require.NoError(t, err)
		require.Equal(t, 3, info.Config.Replicas, stream)
	}
	late := island("late")
	require.Eventually(t, func() bool { return arrived(late) }, time.Minute, 20*time.Millisecond)
}
