package pmproxy

import (
	"fmt"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// Clusters of the files, as in the C implementation (server.h: enum
// proxy_registry).
const (
	clusterServer = 1
	clusterHTTP   = 3
	clusterPCP    = 4
)

// stats holds the server's counters, in files that the agent pmproxy reads.
// Without the files the counts are discarded.
type stats struct {
	files []*mmv.Registry

	user, sys, total *mmv.Value
	maxRSS           *mmv.Value

	clients                    *mmv.IntGauge
	accepted, refused, unknown *mmv.Counter
	forwards, failed           *mmv.Counter
	forwarding                 *mmv.IntGauge
	toClients, toCollectors    *mmv.Counter
	requests, errors, denied   *mmv.Counter
	responseBytes, compressed  *mmv.Counter
	serving                    *mmv.IntGauge
}

// sampleInterval is the interval at which the process metrics are updated, as in C.
const sampleInterval = 2 * time.Second

// newStats creates the files below dir. Without a directory, or if they cannot
// be created, the counts are discarded.
func newStats(dir string) (*stats, error) {
	st := new(stats)
	if dir == "" {
		return st, nil
	}
	open := func(name string, cluster int, noPrefix bool) (*mmv.Registry, error) {
		r, err := mmv.New(name, mmv.Options{Dir: dir, Cluster: cluster, NoPrefix: noPrefix})
		if err == nil {
			st.files = append(st.files, r)
		}
		return r, err
	}
	server, err := open("server", clusterServer, true)
	if err != nil {
		return st, err
	}
	web, err := open("http", clusterHTTP, false)
	if err != nil {
		return st, err
	}
	pcpFile, err := open("pcp", clusterPCP, false)
	if err != nil {
		return st, err
	}
	ms := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	kb := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	counter := func(r *mmv.Registry, name string, units pcp.Units, line string) *mmv.Counter {
		return r.Counter(mmv.Metric{Name: name, Units: units, OneLine: line})
	}
	count := pcp.Units{DimCount: 1}

	pid := server.Value(mmv.Metric{Name: "pid", Item: 1, Sem: pcp.SemDiscrete, OneLine: "process identifier of pmproxy"}, mmv.TypeU32)
	pid.SetUint(uint64(os.Getpid()))
	cpu := func(name string, item int, line string) *mmv.Value {
		return server.Value(mmv.Metric{Name: name, Item: item, Sem: pcp.SemCounter, Units: ms, OneLine: line}, mmv.TypeU64)
	}
	st.user = cpu("cpu.user", 2, "processor time of pmproxy itself")
	st.sys = cpu("cpu.sys", 3, "processor time of the system for pmproxy")
	st.total = cpu("cpu.total", 4, "processor time of pmproxy and of the system for it")
	st.maxRSS = server.Value(mmv.Metric{Name: "mem.maxrss", Item: 5, Sem: pcp.SemInstant, Units: kb, OneLine: "the most memory that pmproxy had resident"}, mmv.TypeU64)
	st.clients = server.IntGauge(mmv.Metric{Name: "clients.current", Units: count, OneLine: "connections of clients"})
	st.accepted = counter(server, "clients.accepted", count, "connections let in")
	st.refused = counter(server, "clients.refused", count, "connections refused as there were too many")
	st.unknown = counter(server, "clients.unknown", count, "connections that spoke no protocol that is served, or nothing")

	st.forwards = counter(pcpFile, "handshakes", count, "clients that asked to be forwarded to a collector")
	st.failed = counter(pcpFile, "failures", count, "clients that could not be forwarded")
	st.forwarding = pcpFile.IntGauge(mmv.Metric{Name: "current", Units: count, OneLine: "clients that are being forwarded"})
	st.toClients = counter(pcpFile, "bytes.to_clients", bytes, "bytes passed on from collectors")
	st.toCollectors = counter(pcpFile, "bytes.to_collectors", bytes, "bytes passed on from clients")

	st.requests = counter(web, "requests.total", count, "requests answered")
	st.errors = counter(web, "requests.error", count, "requests answered with a status from 400 on")
	st.denied = counter(web, "requests.denied", count, "requests refused for their Host header or their authorisation")
	st.serving = web.IntGauge(mmv.Metric{Name: "requests.current", Units: count, OneLine: "requests being answered"})
	st.responseBytes = counter(web, "responses.bytes", bytes, "bytes of answers, after compression")
	st.compressed = counter(web, "responses.compressed", count, "answers that were compressed")
	for _, r := range st.files {
		if err := r.Err(); err != nil {
			return st, fmt.Errorf("%s: %w", r.Path(), err)
		}
	}
	return st, nil
}

// watch updates the process metrics until done is closed.
func (st *stats) watch(done <-chan struct{}) {
	if len(st.files) == 0 {
		<-done
		return
	}
	tick := time.NewTicker(sampleInterval)
	defer tick.Stop()
	for {
		st.sample()
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

func (st *stats) sample() {
	u, ok := usage()
	if !ok {
		return
	}
	st.user.SetUint(u.user)
	st.sys.SetUint(u.sys)
	st.total.SetUint(u.user + u.sys)
	st.maxRSS.SetUint(u.maxRSS)
}

// A resources holds the resources used by the process: milliseconds and kilobytes.
type resources struct{ user, sys, maxRSS uint64 }

func (st *stats) close() {
	for _, r := range st.files {
		r.Close()
	}
	st.files = nil
}
