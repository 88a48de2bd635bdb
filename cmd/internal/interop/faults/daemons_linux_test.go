package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
)

// A daemon is a row of the matrix.
type daemon struct {
	name string
	// start starts it with limits.
	start func(s *site, limits ...limit) *process
	// prepare writes the files that it needs in its own directory before anything breaks;
	// may be nil.
	prepare func(s *site) error
	// works returns nil if the daemon has done its work after a moment.
	works func(s *site, since time.Time) error
	// settles is an additional check when a fault is over, for effects that take a
	// while; may be nil.
	settles func(s *site, since time.Time) error
	// sound checks the files of the daemon when it has ended; nil if it keeps none.
	sound  func(s *site) error
	serves bool   // also while it cannot write
	starts string // faults that do not prevent a start; others may
	alone  bool   // it asks no collector
	files  int    // how many descriptors it needs, if more than 64
}

// daemons are the rows.
var daemons = []daemon{
	{name: "pmcd", start: startPMCD, starts: "full-at-start read-only", works: fetches, serves: true, alone: true},
	{name: "pmlogger", start: startLogger, works: records, sound: readable},
	{name: "record", start: startRecord, works: records, sound: readable},
	{name: "pmie", start: startIE, starts: "full-at-start", works: alerts, serves: true},
	{name: "pmproxy", start: startProxy, starts: "full-at-start read-only", prepare: writeArchive, works: answers, serves: true},
	{name: "up", start: startUp, works: upWorks, settles: records, sound: readable, serves: true, alone: true, files: 128},
}

// metric is the metric that all daemons use.
const metric = "sample.long.one"

func startPMCD(s *site, limits ...limit) *process {
	conf := s.write("pmcd.conf", "pmcd\t2\tdso\tpmcd_init\t/built-in/pmda_pmcd.so\nsample\t29\tdso\tsample_init\t/built-in/pmda_sample.so\n"+
		"jbd2\t122\tdso\tjbd2_init\t/built-in/pmda_jbd2.so\nlinux\t60\tdso\tlinux_init\t/built-in/pmda_linux.so\n[access]\nallow \"*\" : all;\n")
	return s.start(limits, "pmcd", "-f", "-A", "-U", "root", "-i", "127.0.0.1", "-p", strconv.Itoa(s.port), "-s", s.dir+"/run/pmcd.socket", "-c", conf, "-l", s.dir+"/log/pmcd.log")
}

// fetch gets the metric from a collector.
func fetch(s *site, spec string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	none := config.NewLookup(func(string) (string, bool) { return "", false })
	d := pmapi.Dialer{Config: none, RequestTimeout: 10 * time.Second, DialContext: s.dial}
	c, err := d.Dial(ctx, spec)
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, metric)
	if err != nil {
		return err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return err
	}
	if len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 {
		return fmt.Errorf("values: %+v", res.Sets)
	}
	return nil
}

func fetches(s *site, _ time.Time) error { return fetch(s, fmt.Sprint("127.0.0.1:", s.port)) }

func (s *site) archives() string { return filepath.Join(s.dir, "log/pmlogger") }

const logConf = "log mandatory on 100 msec { sample.long.one sample.milliseconds sample.bin }\n[access]\nallow * : all;\n"

func startLogger(s *site, limits ...limit) *process {
	base := filepath.Join(s.archives(), "a")
	for n := 0; archive.CheckFree(base) != nil && n < 100; n++ {
		base = filepath.Join(s.archives(), fmt.Sprint("a", n))
	}
	return s.start(limits, "pmlogger", "-U", "root", "-h", s.source, "-c", s.write("log.conf", logConf), "-l", s.dir+"/log/pmlogger.log", base)
}

func startRecord(s *site, limits ...limit) *process {
	return s.start(limits, "pcp", "record", "-t", "100msec", "-c", s.write("log.conf", logConf), "-d", s.archives(), s.source)
}

// bases returns the archives that a recorder has made.
func (s *site) bases() (list []string, err error) {
	for _, root := range []string{s.archives(), s.dir + "/up"} {
		for _, p := range s.files() {
			if name, ok := strings.CutSuffix(p, ".index"); ok && strings.HasPrefix(p, root) && filepath.Base(p)[0] != '.' && !s.damaged[name] {
				list = append(list, name)
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no archive")
	}
	return list, nil
}

// read reads an archive and returns the time of its last values. Times must not go back.
func read(base string) (last time.Time, err error) {
	a, err := archive.Open(base)
	if err != nil {
		return last, err
	}
	defer a.Close()
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			return last, fmt.Errorf("%s: %w", base, err)
		}
		at := rec.Time.Time()
		if at.Before(last) {
			return last, fmt.Errorf("%s: %v after %v", base, at, last)
		}
		if len(rec.Sets) > 0 {
			last = at
		}
	}
	return last, nil
}

// records wants values of after a moment, by the clock of the collector.
func records(s *site, since time.Time) error {
	list, err := s.bases()
	if err != nil {
		return err
	}
	var latest time.Time
	for _, base := range list {
		at, err := read(base)
		if err != nil {
			return err
		}
		if at.After(latest) {
			latest = at
		}
	}
	if !latest.After(since) {
		return fmt.Errorf("the last values are of %v, want some after %v", latest, since)
	}
	return nil
}

// readable reads all archives.
func readable(s *site) error {
	list, err := s.bases()
	for _, base := range list {
		if _, e := read(base); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}

// A hook is a receiver of alerts.
type hook struct {
	srv *http.Server
	url string

	mu   sync.Mutex
	last time.Time // of the last message
	ids  []string  // of all of them
}

// newHook starts one.
func (s *site) newHook() *hook {
	h := &hook{}
	ln, err := s.listen()
	if err != nil {
		s.t.Fatal(err)
	}
	h.srv = &http.Server{Handler: h}
	h.url = fmt.Sprintf("http://%s/", ln.Addr())
	go h.srv.Serve(ln)
	s.t.Cleanup(func() { h.srv.Close() })
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     string
		Notice int
		Status string
	}
	b, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if json.Unmarshal(b, &m) != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.last = time.Now()
	h.ids = append(h.ids, fmt.Sprint(r.Header.Get("Idempotency-Key")))
}

const rules = "delta = 100 msec;\none = sample.long.one == 1 -> webhook 200 msec hook \"%v\";\n"

// receivers writes the file of receivers.
func (s *site) receivers() string {
	if s.hook == nil {
		s.hook = s.newHook()
	}
	if err := os.MkdirAll(filepath.Join(s.conf, "pmie"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return s.write("pmie/receivers.conf", fmt.Sprintf("spool %s/spool\nreceiver hook\nkind webhook\nurl %s\n", s.dir, s.hook.url))
}

func startIE(s *site, limits ...limit) *process {
	return s.start(limits, "pmie", "-f", "-U", "root", "-h", s.source, "-c", s.write("rules", rules), "-l", s.dir+"/log/pmie.log", "--receivers", s.receivers())
}

// alerts wants a message of after a moment.
func alerts(s *site, since time.Time) error {
	s.hook.mu.Lock()
	defer s.hook.mu.Unlock()
	if !s.hook.last.After(since) {
		return fmt.Errorf("the last of %d messages was at %v, want one after %v", len(s.hook.ids), s.hook.last, since)
	}
	return nil
}

func startProxy(s *site, limits ...limit) *process {
	return s.start(limits, "pmproxy", "-f", "-A", "-U", "root", "-i", "127.0.0.1", "-p", strconv.Itoa(s.port), "-s", s.dir+"/run/pmproxy.socket", "-l", s.dir+"/log/pmproxy.log", "--host", s.source)
}

// writeArchive makes a small archive, of which the proxy has series.
func writeArchive(s *site) error {
	return writeRecords(filepath.Join(s.archives(), "host", "20200101"), "host", 10)
}

// writeRecords makes an archive of a host with some records, a second from one to the next.
func writeRecords(base, host string, n int) error {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return err
	}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{PID: 1, Host: host, TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1577836800}}})
	if err != nil {
		return err
	}
	id := pcp.NewPMID(29, 0, 10)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, metric); err != nil {
		return errors.Join(err, w.Close())
	}
	for i := range int64(n) {
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1577836800 + i}, Sets: []pcp.ValueSet{{PMID: id, Values: []pcp.Value{pcp.Int32Value(int32(i))}}}}
		if err := w.WriteResult(res); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

// get makes a request, and decodes an answer of JSON.
func (s *site) get(port int, path string, values url.Values, to any) error {
	c := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: s.dial}}
	r, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d%s?%s", port, path, values.Encode()))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != 200 {
		err = fmt.Errorf("%s: %s: %s", path, r.Status, b)
	}
	if err == nil && to != nil {
		err = json.Unmarshal(b, to)
	}
	return err
}

// answers asks for a live value and for those of an archive.
func answers(s *site, _ time.Time) error {
	var live struct {
		Values []struct {
			Instances []struct{ Value int }
		}
	}
	if err := s.get(s.port, "/pmapi/fetch", url.Values{"names": {metric}}, &live); err != nil {
		return err
	}
	if len(live.Values) != 1 || len(live.Values[0].Instances) != 1 || live.Values[0].Instances[0].Value != 1 {
		return fmt.Errorf("live: %+v", live)
	}
	var ids []string
	if err := s.get(s.port, "/series/query", url.Values{"expr": {metric}}, &ids); err != nil {
		return err
	}
	if len(ids) != 1 {
		return fmt.Errorf("series: %q", ids)
	}
	var values []struct{ Value string }
	if err := s.get(s.port, "/series/values", url.Values{"series": ids, "samples": {"100"}}, &values); err != nil {
		return err
	}
	if len(values) != 10 || !slices.ContainsFunc(values, func(v struct{ Value string }) bool { return v.Value == "9" }) {
		return fmt.Errorf("values: %+v", values)
	}
	return nil
}

func startUp(s *site, limits ...limit) *process {
	s.receivers()
	return s.start(limits, "pcp", "up", "--port", strconv.Itoa(s.port), "--web-port", strconv.Itoa(s.webPort), "--dir", s.dir+"/up", "--sample", "--rules="+s.write("rules", rules))
}

// upWorks wants a value, an alert and the page; it records more seldom.
func upWorks(s *site, since time.Time) error {
	if err := fetch(s, fmt.Sprint("127.0.0.1:", s.port)); err != nil {
		return err
	}
	if err := alerts(s, since); err != nil {
		return err
	}
	return s.get(s.webPort, "/", nil, nil)
}
