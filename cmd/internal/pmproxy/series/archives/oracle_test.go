package archives

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A redis is a private key server, with nothing on disk.
type redis struct {
	t            *testing.T
	port, config string
}

// startRedis starts a key server on its own port, or skips the test if none is installed.
func startRedis(t *testing.T) *redis {
	t.Helper()
	oracle.Require(t)
	for _, tool := range []string{"redis-server", "redis-cli", "pmseries"} {
		if _, err := exec.LookPath(tool); err != nil {
			oracle.Missing(t, "no "+tool)
		}
	}
	r := &redis{t, fmt.Sprint(oracle.FreePort(t)), filepath.Join(t.TempDir(), "pmseries.conf")}
	// The installed configuration excludes the metrics of processes.
	if err := os.WriteFile(r.config, []byte("[pmseries]\nenabled = true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "redis-server", "--port", r.port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); await.Exit(t, cmd) })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if out, err := exec.Command("redis-cli", "-p", r.port, "ping").Output(); err == nil && bytes.HasPrefix(out, []byte("PONG")) {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
	}
}

// do runs commands and returns the lines of all replies.
func (r *redis) do(commands ...string) []string {
	r.t.Helper()
	cmd := exec.Command("redis-cli", "-p", r.port)
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// load makes the C implementation load an archive, and reports whether it did.
func (r *redis) load(path string) bool {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, oracle.Path("pmseries"), "-c", r.config, "-p", r.port, "--load", `{source.path: "`+path+`"}`).CombinedOutput()
	if !bytes.Contains(out, []byte("processed ")) { // it may complain of some records
		r.t.Logf("%s: not compared, as the real one does not load it: %v %s", path, err, out)
		return false
	}
	return true
}

// keys returns the keys with a prefix, without the prefix.
func (r *redis) keys(prefix string) map[string]bool {
	r.t.Helper()
	all := map[string]bool{}
	for _, key := range r.do("keys " + prefix + "*") {
		if id, ok := strings.CutPrefix(key, prefix); ok {
			all[id] = true
		}
	}
	return all
}

// TestIdentifiersOracle compares the identifiers of sources, series and instances, and the
// descriptors, with those that the real pmseries --load puts into its key server.
func TestIdentifiersOracle(t *testing.T) {
	r := startRedis(t)
	const dir = "/var/lib/pcp/testsuite/archives"
	names := []string{
		"sample-labels", "dupname-a", "pcp-mpstat", "dyninsts", "procpid-encode", "changeinst", "arch_a", "simple-nvme", "rewrite",
		"log-derived", "pcp-ss", "spotinstance",
	}
	if longtest.Enabled() {
		metas, err := filepath.Glob(dir + "/*.meta*")
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, m := range metas {
			if base, _, ok := archive.BaseName(m); ok {
				names = append(names, filepath.Base(base))
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	compared, total := 0, 0
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := archive.FindFiles(path); err != nil {
			continue
		}
		r.do("flushall")
		if !r.load(path) {
			continue
		}
		a, err := archive.Options{NoMeta: true}.Open(path)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		c, err := catalog.Read(a)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			a.Close()
			continue
		}
		compared++
		total += r.compare(t, name, c, logged(t, a))
		a.Close()
	}
	t.Logf("%d archives, %d identifiers", compared, total)
	if compared < min(10, len(names)/2) {
		oracle.Missing(t, fmt.Sprintf("only %d archives of the suite", compared))
	}
}

// logged returns the metrics that have values or an error in some record, and their instances.
func logged(t *testing.T, a *archive.Archive) map[pcp.PMID]map[int32]bool {
	t.Helper()
	all := map[pcp.PMID]map[int32]bool{}
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Logf("%v", err)
			break
		}
		for _, vs := range res.Sets {
			if vs.Err == 0 && len(vs.Values) == 0 {
				continue
			}
			insts := all[vs.PMID]
			if insts == nil {
				insts = map[int32]bool{}
				all[vs.PMID] = insts
			}
			for _, v := range vs.Values {
				insts[v.Inst] = true
			}
		}
	}
	return all
}

func (r *redis) compare(t *testing.T, name string, c *catalog.Catalog, logged map[pcp.PMID]map[int32]bool) (n int) {
	t.Helper()
	// The source.
	bad := 0
	complain := func(format string, args ...any) {
		if bad++; bad <= 5 {
			t.Errorf(name+": "+format, args...)
		}
	}
	if sources := r.keys("pcp:context.name:source:"); !sources[c.Source.String()] {
		complain("source %v, the real one has %v", c.Source, sources)
	}
	want := r.keys("pcp:desc:series:")
	for _, m := range c.Metrics {
		if logged[m.Desc.PMID] == nil {
			continue
		}
		if !want[m.ID.String()] {
			complain("series %s %v is not one of the real one", m.Name, m.ID)
		}
		delete(want, m.ID.String())
		n++
	}
	for id := range want {
		complain("the real one has series %s %q", id, r.name(id))
	}
	insts := r.keys("pcp:inst:series:")
	known := map[string]string{}
	for _, d := range c.InDoms {
		for _, in := range d.Insts {
			known[in.ID.String()] = in.Name
			n++
		}
	}
	for id := range insts {
		if _, ok := known[id]; !ok {
			complain("the real one has instance %s %q", id, r.do("hgetall pcp:inst:series:"+id))
		}
	}
	return n
}

func (r *redis) name(id string) string {
	for _, key := range r.do("--raw smembers pcp:metric.name:series:" + id) {
		return key
	}
	return ""
}

// TestValuesOracle compares all values of archives with those in the key server of the C
// implementation. It repeats the last value of instances without a value; these are ignored.
func TestValuesOracle(t *testing.T) {
	r := startRedis(t)
	const dir = "/var/lib/pcp/testsuite/archives"
	compared := 0
	for _, name := range []string{"sample-labels", "dupname-a", "changeinst", "arch_a", "ace_v2", "procpid-encode"} {
		path := filepath.Join(dir, name)
		if _, err := archive.FindFiles(path); err != nil {
			continue
		}
		r.do("flushall")
		if !r.load(path) {
			continue
		}
		s, err := Open(t.Context(), Config{Dirs: []string{path}, Interval: -1})
		if err != nil {
			t.Fatal(err)
		}
		n, bad := 0, 0
		all, err := s.Select(t.Context(), series.Matcher{Field: series.ContextName, Value: path})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range all {
			m, err := s.Metric(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			want := r.stream(id)
			got := 0
			for sample, err := range s.Values(t.Context(), []sid.ID{id}, series.Window{}) {
				if err != nil {
					t.Fatal(err)
				}
				at := fmt.Sprintf("%d-%d", sample.Time.Sec*1000+int64(sample.Time.Nsec/1_000_000), sample.Time.Nsec%1_000_000/1000)
				got++
				real, ok := want[at]
				if !ok {
					if bad++; bad < 5 {
						t.Errorf("%s: %s: a sample at %s that the real one has not", name, m.Name, at)
					}
					continue
				}
				for _, v := range sample.Values {
					key, text := "", string(series.AppendValue(nil, v.Value, m.Desc.Type))
					if !v.Instance.IsZero() {
						key = v.Instance.String()
					}
					if n++; real[key] != text {
						if bad++; bad < 5 {
							t.Errorf("%s: %s[%d] at %s is %s, the real one has %s", name, m.Name, v.Value.Inst, at, text, real[key])
						}
					}
				}
			}
			if got != len(want) {
				if bad++; bad < 5 {
					t.Errorf("%s: %s: %d samples, the real one has %d", name, m.Name, got, len(want))
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d series, %d values", name, len(all), n)
		compared++
	}
	if compared < 4 {
		oracle.Missing(t, fmt.Sprintf("only %d archives of the suite", compared))
	}
}

// stream returns the samples of a series by the identifiers of a stream: values by instance.
func (r *redis) stream(id sid.ID) map[string]map[string]string {
	r.t.Helper()
	const script = `local out={} for _,e in ipairs(redis.call('XRANGE',KEYS[1],'-','+')) do local s=e[1] for i=1,#e[2],2 do local f=e[2][i] ` +
		`if #f==20 then f=f:gsub('.',function(c) return string.format('%02x',c:byte()) end) end s=s..'\t'..f..'='..e[2][i+1] end out[#out+1]=s end return out`
	out, err := exec.Command("redis-cli", "-p", r.port, "--raw", "eval", script, "1", "pcp:values:series:"+id.String()).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == "" {
			continue
		}
		values := map[string]string{}
		for _, f := range fields[1:] {
			key, value, _ := strings.Cut(f, "=")
			values[key] = value
		}
		all[fields[0]] = values
	}
	return all
}
