package up

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// recorded writes an archive with a metric of the host and one of processes.
func recorded(t *testing.T, base string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		t.Fatal(err)
	}
	at := pcp.Timestamp{Sec: 1_700_000_000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "h", TimeZone: "UTC", Start: at}})
	if err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	res.Time = at
	for name, id := range map[string]pcp.PMID{"hinv.ncpu": pcp.NewPMID(60, 0, 32), "proc.nprocs": pcp.NewPMID(3, 8, 99)} {
		if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, name); err != nil {
			t.Fatal(err)
		}
		res.AddSet(id)
		v := pcp.Uint32Value(7)
		v.Inst = pcp.InNull
		res.Add(v)
	}
	if err := w.WriteResult(&res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPageSeries serves the recording as series; those of processes need the token of the page.
func TestPageSeries(t *testing.T) {
	home := tempDir(t)
	state := filepath.Join(home, "state")
	recorded(t, filepath.Join(state, "pmlogger", "h", "one"))
	recorded(t, filepath.Join(home, "archives", "g", "two"))
	vars := map[string]string{"HOME": home, "PCP_RUN_DIR": home, "PCP_ARCHIVE_DIR": filepath.Join(home, "archives")}
	args := []string{"--port", "0", "--web-port", "0", "--no-record", "--dir", state}
	var page, token string
	get := func(path, key string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// read returns the response to a remote read of a metric, until 1700000060.
	read := func(name, key string) string {
		t.Helper()
		m := protowire.AppendString(append([]byte{}, 0x12, 8, '_', '_', 'n', 'a', 'm', 'e', '_', '_', 0x1a), name)
		q := protowire.AppendBytes(append(protowire.AppendVarint([]byte{0x10}, 1_700_000_060_000), 0x1a), m)
		r, err := http.NewRequest(http.MethodPost, page+"api/v1/read", bytes.NewReader(s2.EncodeSnappy(nil, protowire.AppendBytes([]byte{0x0a}, q))))
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := s2.Decode(nil, b)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s %q %v", resp.Status, b, err)
		}
		return string(text)
	}
	f := func() {
		t.Helper()
		for end := time.Now().Add(time.Minute); !strings.Contains(get("series/sources?match=*two", ""), "two"); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no archive is found: %s", get("series/sources?match=*", ""))
			}
		}
		if got, want := get("series/metrics", ""), "[\"hinv.ncpu\"]\r\n"; got != want {
			t.Errorf("others see %q, want %q", got, want)
		}
		if got, want := get("series/metrics", token), "[\"hinv.ncpu\",\"proc.nprocs\"]\r\n"; got != want {
			t.Errorf("the user sees %q, want %q", got, want)
		}
		expr := "series/query?expr=" + url.QueryEscape("hinv.ncpu[count:1]")
		if got := get(expr, ""); !strings.Contains(got, `"value":"7"`) {
			t.Errorf("values: %s", got)
		}
		// PromQL has the same metrics, and the current values of the collector.
		at := func(expr, key string) string {
			return get("api/v1/query?time=1700000060&query="+url.QueryEscape(expr), key)
		}
		if got := at("sum(hinv_ncpu)", ""); !strings.Contains(got, `[1700000060,"7"]`) {
			t.Errorf("PromQL: %s", got)
		}
		if got := at("proc_nprocs", ""); !strings.Contains(got, `"result":[]`) {
			t.Errorf("PromQL shows processes to others: %s", got)
		}
		if got := at("proc_nprocs", token); !strings.Contains(got, `[1700000060,"7"]`) {
			t.Errorf("PromQL hides processes from the user: %s", got)
		}
		if others, own := read("proc_nprocs", ""), read("proc_nprocs", token); strings.Contains(others, "proc_nprocs") || !strings.Contains(own, "proc_nprocs") {
			t.Errorf("remote read of processes: others read %q, the user %q", others, own)
		}
		if got := get("api/v1/query?query="+url.QueryEscape("kernel_all_load{instname='1 minute'} >= 0"), ""); !strings.Contains(got, `"__name__":"kernel_all_load"`) {
			t.Errorf("PromQL of current values: %s", got)
		}
		if got := get("api/v1/query?query="+url.QueryEscape("proc_psinfo_pid"), ""); !strings.Contains(got, `"result":[]`) {
			t.Errorf("PromQL shows current processes to others: %.300s", got)
		}
		if got := get("api/v1/query?query="+url.QueryEscape("count(proc_psinfo_pid) > 0"), token); !strings.Contains(got, `"metric":{}`) {
			t.Errorf("PromQL hides current processes from the user: %.300s", got)
		}
		if got := get("api/v1/metadata?metric=kernel_all_load", ""); !strings.Contains(got, `{"kernel_all_load":[{"type":"gauge","help":"Average number of tasks`) {
			t.Errorf("metadata: %s", got)
		}
		// The hosts of both archives, and the same metrics on them.
		if got, want := get("fleet/hosts?count", ""), "{\"count\":1,\"success\":true}\r\n"; got != want {
			t.Errorf("the number of hosts: %q, want %q", got, want)
		}
		if got := get("fleet/hosts?end=1700000060", ""); !strings.Contains(got, `"hosts":["h"]`) {
			t.Errorf("the hosts: %s", got)
		}
		if got := get("fleet/heat?metric=hinv.ncpu&end=1700000060", ""); !strings.Contains(got, `"hosts":["h"],"low":[7]`) {
			t.Errorf("a heat map: %s", got)
		}
		if got := get("fleet/heat?metric=proc.nprocs&end=1700000060", ""); !strings.Contains(got, `"hosts":[],`) {
			t.Errorf("a heat map shows processes to others: %s", got)
		}
		if got := get("fleet/heat?metric=proc.nprocs&end=1700000060", token); !strings.Contains(got, `"hosts":["h"],"low":[7]`) {
			t.Errorf("a heat map hides processes from the user: %s", got)
		}
	}
	out, stop := start(t, vars, args...)
	page, token = pageAndToken(t, out)
	f()
	stop()
	// The index is made again if it is damaged.
	index := filepath.Join(state, "series.db")
	if err := os.WriteFile(index, []byte("this was an index"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stop = start(t, vars, args...)
	page, token = pageAndToken(t, out)
	f()
	stop()
}
