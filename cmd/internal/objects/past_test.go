package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/zstdframes"
)

// pastDay is the first day of the year of archives, and asked the number of the day that is asked for.
var pastDay = time.Date(2025, 11, 1, 0, 10, 0, 0, time.UTC)

// writePast writes an archive of a day of a host as a janitor leaves it: about 10 values of each of a number of metrics, every step,
// with a volume and metadata that are compressed.
func writePast(t testing.TB, base string, start time.Time, length, step time.Duration, metrics int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(base), 0o755))
	at := pcp.TimestampOf(start)
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 7, Host: "h500", TimeZone: "UTC", Start: at}})
	must(err)
	const insts = 10
	indom := pcp.NewInDom(60, 1)
	var disks []pcp.Instance
	for i := range insts {
		disks = append(disks, pcp.Instance{Inst: int32(i), Name: fmt.Sprint("disk", i)})
	}
	must(w.InDom(at, indom, disks))
	type value struct {
		n    uint64
		rate int
	}
	rnd := rand.New(rand.NewPCG(1, uint64(start.Unix())))
	values := make([]value, metrics*insts)
	for i := range metrics {
		desc := pcp.Desc{PMID: pcp.NewPMID(60, i/100, i%100), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}
		must(w.Desc(desc, fmt.Sprintf("disk.group%02d.metric%02d", i/100, i%100)))
		must(w.Text(pcp.TextPMID|pcp.TextOneLine, uint32(desc.PMID), fmt.Sprintf("the number of operations of kind %d of this disk", i)))
		for k := range insts {
			v := &values[i*insts+k]
			if v.n = rnd.Uint64N(1 << 32); k < 3 {
				v.rate = 1 + rnd.IntN(1<<(i%12)) // the others are idle, as most are
			}
		}
	}
	set, err := pcp.StringLabels(pcp.LabelContext, "hostname", "h500")
	must(err)
	must(w.Labels(at, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{set}))
	var res pcp.Result
	for d := time.Duration(0); d < length; d += step {
		res.Reset()
		res.Time = pcp.TimestampOf(start.Add(d))
		for i := range metrics {
			res.AddSet(pcp.NewPMID(60, i/100, i%100))
			for k := range insts {
				v := &values[i*insts+k]
				if v.rate > 0 {
					v.n += rnd.Uint64N(uint64(v.rate) * 2)
				}
				res.Add(pcp.Uint64Value(v.n).WithInst(int32(k)))
			}
		}
		must(w.WriteResult(&res))
	}
	must(w.Close())
	for _, part := range []string{".0", ".meta"} { // as a janitor does, without waiting for the disk
		b, err := os.ReadFile(base + part)
		must(err)
		var packed bytes.Buffer
		z, err := zstdframes.NewWriter(&packed)
		must(err)
		_, err = z.Write(b)
		must(errors.Join(err, z.Close(), os.WriteFile(base+part+".zst", packed.Bytes(), 0o644), os.Remove(base+part)))
	}
}

// A traffic counts requests and the bytes of their answers.
type traffic struct{ requests, bytes atomic.Int64 }

type countingWriter struct {
	http.ResponseWriter
	t *traffic
}

func (w countingWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.t.bytes.Add(int64(n))
	return n, err
}

// TestPast asks for a minute of a day long ago in a bucket with an archive for each day, where each request takes 20 ms. It prints time, requests and
// bytes, and fails if there are more requests or bytes than needed. The long form has a year of days, and the day asked for has 2,000 values
// every 10 seconds.
func TestPast(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("PCP_BENCH_DIR"); keep != "" {
		dir = keep
	}
	days, asked := longtest.N(40, 365), longtest.N(5, 26)
	host := filepath.Join(dir, "h500")
	for day := range days {
		start := pastDay.AddDate(0, 0, day)
		base := filepath.Join(host, start.Format("20060102.15.04"))
		if _, err := os.Stat(base + ".0.zst"); err == nil {
			continue
		}
		if day == asked {
			writePast(t, base, start, 24*time.Hour-10*time.Second, time.Duration(longtest.N(60, 10))*time.Second, longtest.N(50, 200))
		} else {
			writePast(t, base, start, 24*time.Hour-10*time.Second, 8*time.Hour, longtest.N(5, 200))
		}
	}
	files := make(map[string][]byte)
	index, err := json.Marshal(map[string]any{"version": 1, "host": "h500", "day": pastDay.AddDate(0, 0, asked).Format("20060102"), "archives": []any{
		map[string]any{
			"name": pastDay.AddDate(0, 0, asked).Format("20060102.15.04"), "begin": pastDay.AddDate(0, 0, asked),
			"end": pastDay.AddDate(0, 0, asked+1).Add(-20 * time.Second), "complete": true,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(host, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = b
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var sent traffic
	delay := time.Duration(longtest.N(1, 20)) * time.Millisecond
	back := s3mem.New()
	if err := back.CreateBucket("archives"); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if _, err := back.PutObject("archives", name, nil, bytes.NewReader(b), int64(len(b)), nil); err != nil {
			t.Fatal(err)
		}
	}
	fake := gofakes3.New(back).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.requests.Add(1)
		if testing.Verbose() {
			t.Log(r.Method, r.URL, r.Header.Get("Range"))
		}
		time.Sleep(delay)
		fake.ServeHTTP(countingWriter{w, &sent}, r)
	}))
	defer srv.Close()
	env := environment{"AWS_ENDPOINT_URL": srv.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
	day := pastDay.AddDate(0, 0, asked)
	from := time.Date(day.Year(), day.Month(), day.Day(), 13, 7, 0, 0, time.UTC)
	window := []string{"-S", "@" + from.Format("2006-01-02 15:04:05"), "-T", "@" + from.Add(time.Minute).Format("2006-01-02 15:04:05")}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"pmval by names", append([]string{"pmval", "-f", "0", "-t", "10s", "disk.group00.metric07", "-a", "s3://archives/h500"}, window...)},
		{"query by names", append([]string{"query", "-t", "10s", "disk_group00_metric07", "-a", "s3://archives/h500"}, window...)},
		{"pmval by the index", append([]string{"pmval", "-f", "0", "-t", "10s", "disk.group00.metric07", "-a", "s3://archives/h500"}, window...)},
		{"query by the index", append([]string{"query", "-t", "10s", "disk_group00_metric07", "-a", "s3://archives/h500"}, window...)},
	} {
		if strings.HasSuffix(c.name, "index") {
			name := "h500/index/" + day.Format("20060102") + ".json"
			if _, err := back.PutObject("archives", name, nil, bytes.NewReader(index), int64(len(index)), nil); err != nil {
				t.Fatal(err)
			}
		}
		cache := t.TempDir()
		environ := append(os.Environ(), "TZ=UTC", "HOME="+t.TempDir())
		for name, value := range env {
			environ = append(environ, name+"="+value)
		}
		environ = append(environ, "PCP_OBJECT_CACHE="+cache)
		// The archives on the disk are all opened.
		args := slices.Clone(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "s3://archives", dir)
		}
		local := exec.CommandContext(t.Context(), twin.Tool(t, "pcp"), args...)
		local.Env = environ
		all, err := local.Output()
		if err != nil {
			t.Fatal(err)
		}
		first := strings.ReplaceAll(string(all), dir, "s3://archives")
		for _, what := range []string{"cold", "warm", "warm again"} {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			cmd := exec.CommandContext(ctx, twin.Tool(t, "pcp"), c.args...)
			cmd.Env, cmd.Dir = environ, dir
			var errText bytes.Buffer
			cmd.Stderr = &errText
			began := time.Now()
			requests, read := sent.requests.Load(), sent.bytes.Load()
			out, err := cmd.Output()
			took := time.Since(began)
			cancel()
			if err != nil || strings.Count(string(out), "\n") < 6 {
				t.Fatal(errors.Join(err, errors.New(errText.String())), string(out))
			}
			if first != string(out) {
				t.Errorf("%s, %s: other output:\n%s\nthan of the disk:\n%s", c.name, what, out, first)
			}
			requests, read = sent.requests.Load()-requests, sent.bytes.Load()-read
			most := int64(14) // an index that is missing, two pages of a listing and one of a day, and parts of three archives
			if what != "cold" {
				most = 4
			}
			if requests > most || read > int64(longtest.N(1<<20, 4<<20)) {
				t.Errorf("%s, %s: %d requests, at most %d are needed, with %d bytes", c.name, what, requests, most, read)
			}
			t.Logf("%s, %s: %v, %d requests, %d bytes, %v", c.name, what, took.Round(time.Millisecond), requests, read,
				cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
}
