package prom

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/exchange/push"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) { twin.Built(m) }

// The archives: records samples of each metric, every interval from start. Samples are 300 ms after a multiple of 10 seconds, so that none is at
// the edge of a range: Prometheus 3 does not count those at the left edge, version 2 does.
const (
	records  = 355
	interval = 10 * time.Second
)

var start = time.Date(2026, 11, 20, 10, 0, 0, 300_000_000, time.UTC)

// disks are the instances of a domain, buckets the upper limits of a histogram.
var (
	disks   = []string{"sda", "sdb", "sdc", "sdd", "sde"}
	buckets = []string{"0.1", "0.5", "1", "5", "+Inf"}
)

// A maker makes the metrics of an archive.
type maker struct {
	t   *testing.T
	w   *archive.Writer
	res pcp.Result
	n   int
}

func (m *maker) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// metric declares a metric, and returns a function that adds its values to the record.
func (m *maker) metric(name string, typ pcp.Type, sem pcp.Sem, indom pcp.InDom) func(values ...pcp.Value) {
	m.t.Helper()
	m.n++
	id := pcp.NewPMID(245, 0, m.n)
	m.must(m.w.Desc(pcp.Desc{PMID: id, Type: typ, Sem: sem, InDom: indom}, name))
	return func(values ...pcp.Value) {
		m.res.AddSet(id)
		for _, v := range values {
			m.res.Add(v)
		}
	}
}

// domain declares a domain whose instances have a label.
func (m *maker) domain(serial int, label string, names, values []string) pcp.InDom {
	m.t.Helper()
	id := pcp.NewInDom(245, serial)
	var list []pcp.Instance
	var sets []pcp.LabelSet
	for i, name := range names {
		list = append(list, pcp.Instance{Inst: int32(i), Name: name})
		set, err := pcp.StringLabels(pcp.LabelInstances, label, values[i])
		m.must(err)
		set.Inst = int32(i)
		sets = append(sets, set)
	}
	at := pcp.TimestampOf(start)
	m.must(m.w.InDom(at, id, list))
	m.must(m.w.Labels(at, pcp.LabelInstances, uint32(id), sets))
	return id
}

// writeArchive writes the archive of a host, and returns its base. Instances come and go, counters start again, some metrics are recorded seldom, and
// one host has a mark record. The values of one metric differ in each record, so that topk has one answer.
func writeArchive(t *testing.T, dir, host string, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	base := filepath.Join(dir, host)
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: host, TimeZone: "UTC", PID: 1, Start: pcp.TimestampOf(start)}})
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{t: t, w: w}
	set, err := pcp.StringLabels(pcp.LabelContext, "hostname", host, "zone", "eu")
	m.must(err)
	m.must(w.Labels(pcp.TimestampOf(start), pcp.LabelContext, 0, []pcp.LabelSet{set}))
	disk := m.domain(1, "kind", disks, []string{"ssd", "disk", "ssd", "disk", "ssd"})
	bucket := m.domain(2, "le", buckets, buckets)
	reads := m.metric("gen.reads", pcp.TypeU64, pcp.SemCounter, disk)
	writes := m.metric("gen.writes", pcp.TypeU32, pcp.SemCounter, disk)
	level := m.metric("gen.level", pcp.Type32, pcp.SemInstant, disk)
	temp := m.metric("gen.temp", pcp.TypeDouble, pcp.SemInstant, pcp.InDomNull)
	odd := m.metric("gen.odd", pcp.TypeDouble, pcp.SemInstant, pcp.InDomNull)
	huge := m.metric("gen.huge", pcp.TypeU64, pcp.SemCounter, pcp.InDomNull)
	seldom := m.metric("gen.seldom", pcp.TypeFloat, pcp.SemDiscrete, pcp.InDomNull)
	latency := m.metric("gen.latency.bucket", pcp.TypeU64, pcp.SemCounter, bucket)
	name := m.metric("gen.name", pcp.TypeString, pcp.SemDiscrete, pcp.InDomNull)

	read, written := make([]uint64, len(disks)), make([]uint64, len(disks))
	for i := range disks {
		read[i], written[i] = 1e7+r.Uint64N(1e6), 1e7+r.Uint64N(1e6)
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.25, 0, 1e300}
	sizes := []uint64{1e6, 2e6, 3e6, 4e6, 5e6} // far from 0, near which the versions extrapolate differently
	for n := range records {
		m.res.Reset()
		m.res.Time = pcp.TimestampOf(start.Add(time.Duration(n) * interval))
		var a, b, c []pcp.Value
		for i, d := range disks {
			inst := int32(i)
			read[i] += 1 + r.Uint64N(1000)
			written[i] += 1 + r.Uint64N(50)
			if n == 200+i*7 { // the disk was replaced
				read[i] = 5e6 + r.Uint64N(1e6)
			}
			if d == "sdd" && n/60%2 == 1 { // it is removed for ten minutes
				continue
			}
			a = append(a, pcp.Uint64Value(read[i]).WithInst(inst))
			b = append(b, pcp.Uint32Value(uint32(written[i])).WithInst(inst))
			c = append(c, pcp.Int32Value(int32(r.IntN(1000)*len(disks)+i)-2000).WithInst(inst))
		}
		reads(a...)
		if n%50 == 49 { // the agent was late
			m.res.AddError(pcp.NewPMID(245, 0, 2), pcp.ErrAgain)
		} else {
			writes(b...)
		}
		level(c...)
		temp(pcp.DoubleValue(20 + float64(r.IntN(80))/8))
		odd(pcp.DoubleValue(special[r.IntN(len(special))]))
		huge(pcp.Uint64Value(1<<63 + uint64(n)<<40))
		if n%45 == 0 {
			seldom(pcp.FloatValue(float32(n) / 2))
		}
		if n%3 == 0 {
			a, at := a[:0], r.IntN(len(buckets))
			for i := range buckets {
				if i >= at {
					sizes[i] += 1 + uint64(i)
				}
				a = append(a, pcp.Uint64Value(sizes[i]).WithInst(int32(i)))
			}
			latency(a...)
		}
		name(pcp.StringValue("x"))
		m.must(w.WriteResult(&m.res))
		if seed == 2 && n == 150 {
			m.must(w.Mark(pcp.TimestampOf(start.Add(time.Duration(n)*interval + time.Millisecond))))
		}
	}
	m.must(w.Close())
	return base
}

// A world has the archives of two hosts, and our server of them.
type world struct {
	dir   string
	bases []string
	ours  string // the URL
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	for i, host := range []string{"www1", "www2"} {
		w.bases = append(w.bases, writeArchive(t, w.dir, host, uint64(i+1)))
	}
	w.ours = serve(t, w.dir, -1)
	return w
}

// serve serves the archives of a directory, which is read again at an interval, and returns the URL.
func serve(t *testing.T, dir string, interval time.Duration) string {
	t.Helper()
	list, err := archives.Open(t.Context(), archives.Config{Dirs: []string{dir}, Interval: interval})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { list.Close() })
	srv := httptest.NewServer(api.New(api.Config{Store: store.New(list, store.Config{})}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// startPrometheus starts Debian's Prometheus with a configuration, and returns its URL. The test is skipped where there is none.
func startPrometheus(t *testing.T, conf string) string {
	t.Helper()
	dir := t.TempDir()
	path := debian(t, "prometheus")
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", fmt.Sprint(oracle.FreePort(t)))
	cmd := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--storage.tsdb.retention.time=100y",
		"--web.listen-address="+addr, "--web.enable-remote-write-receiver")
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus:\n%.4000s", out)
		}
	})
	base := "http://" + addr
	await.Until(t, "prometheus answers", func() bool {
		r, err := http.Get(base + "/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return base
}

// debian returns the path of a program of Debian's package prometheus. The test is skipped where it is not installed.
func debian(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed (Debian's package prometheus has it)", name)
	}
	return path
}

// pushTo pushes the archives to a server.
func (w *world) pushTo(t *testing.T, url string) {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{
		Name: "pcp push", Args: append([]string{"--to", url, "--resend"}, w.bases...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Version: "test",
		Command: push.Command, Getenv: func(string) string { return "" },
	}
	if status := push.Command.Run(context.Background(), env); status != 0 {
		t.Fatalf("pcp push: status %d\n%s", status, &out)
	}
	t.Logf("pcp push: %s", &out)
}

// A reply is a reply of /api/v1.
type reply struct {
	Status    string
	ErrorType string
	Error     string
	Data      json.RawMessage
}

// ask makes a request. The body may be that of an error.
func ask(t *testing.T, server, path string, params url.Values) reply {
	t.Helper()
	w, err := http.PostForm(server+"/api/v1/"+path, params)
	if strings.HasSuffix(path, "/values") || path == "metadata" {
		w, err = http.Get(server + "/api/v1/" + path + "?" + params.Encode())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("%s %s: %s %v\n%.500s", path, params.Encode(), w.Status, err, b)
	}
	return r
}
