package nvidia

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/nvidia/reading"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
)

// TestMain has this program answer as pcp-gpu does: with the lines of a file, which is its argument. The answer
// to each request is the whole of it; "end" ends the program, and "hang" does not answer.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || !strings.HasSuffix(os.Args[1], ".readings") {
		os.Exit(m.Run())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var req reading.Request
		if err := json.Unmarshal(in.Bytes(), &req); err != nil {
			os.Exit(1)
		}
		b, err := os.ReadFile(os.Args[1])
		switch {
		case err != nil:
			os.Exit(1)
		case string(b) == "end":
			os.Exit(0)
		case string(b) == "hang":
			time.Sleep(time.Hour)
		}
		fmt.Println(strings.ReplaceAll(string(b), "\n", " "))
	}
	os.Exit(0)
}

const box = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const two = `{"cards":[
	{"name":"A100 \u0007","uuid":"GPU-1","bus":"00000000:3B:00.0","temperature":41,"fan":30,"state":2,"busy":75,"memorybusy":20,"memory":{"total":1000,"free":600,"used":400},"energy":123456789012,"power":70123,
		"processes":[{"pid":70,"compute":true,"memory":100,"busy":30,"memorybusy":5,"time":900,"running":true},{"pid":70,"memory":50,"busy":1,"running":true},{"pid":71,"compute":true,"memory":200,"busy":40},{"pid":0},{"pid":4294967295}]},
	{"name":"T4","uuid":"GPU-2","memory":{"total":500,"free":500,"used":0},"busy":0,"processes":[{"pid":71,"compute":true}]}
]}`

// open returns an agent with that answer, and a function that sets another.
func open(t testing.TB, text string) (a *Agent, set func(text string), log *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.readings")
	set = func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set(text)
	proc := filepath.Join(dir, "proc/71")
	if err := os.MkdirAll(proc, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(proc, "cgroup"), []byte("0::/system.slice/docker-"+box+".scope\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log = new(strings.Builder)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err = New(Config{Root: dir, Program: self, Library: path, Log: slog.New(slog.NewTextHandler(log, nil)), wait: 20 * time.Second, pause: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, set, log
}

type m = map[string]string

func TestValues(t *testing.T) {
	a, _, _ := open(t, two)
	got := agenttest.Read(t, a)
	want := agenttest.Values{
		"nvidia.numcards": m{"": "2"}, "nvidia.gpuid": m{"gpu0": "0", "gpu1": "1"}, "nvidia.cardname": m{"gpu0": `"A100 "`, "gpu1": `"T4"`}, "nvidia.busid": m{"gpu0": `"00000000:3B:00.0"`},
		"nvidia.temperature": m{"gpu0": "41"}, "nvidia.fanspeed": m{"gpu0": "30"}, "nvidia.perfstate": m{"gpu0": "2"}, "nvidia.gpuactive": m{"gpu0": "75", "gpu1": "0"}, "nvidia.memactive": m{"gpu0": "20"},
		"nvidia.memused": m{"gpu0": "400", "gpu1": "0"}, "nvidia.memtotal": m{"gpu0": "1000", "gpu1": "500"}, "nvidia.memfree": m{"gpu0": "600", "gpu1": "500"}, "nvidia.carduuid": m{"gpu0": `"GPU-1"`, "gpu1": `"GPU-2"`},
		"nvidia.energy": m{"gpu0": "123456789012"}, "nvidia.power": m{"gpu0": "70123"}, "nvidia.nprocs": m{"gpu0": "5", "gpu1": "1"}, "nvidia.samples": m{"gpu0": "1", "gpu1": "1"},
		"nvidia.gpuutilaccum": m{"gpu0": "75", "gpu1": "0"}, "nvidia.memutilaccum": m{"gpu0": "20", "gpu1": "0"}, "nvidia.memusedaccum": m{"gpu0": "400", "gpu1": "0"},
		"nvidia.proc.memused": m{"gpu0::70": "150", "gpu0::71": "200", "gpu1::71": "0"}, "nvidia.proc.running": m{"gpu0::70": "1", "gpu0::71": "0", "gpu1::71": "0"},
		"nvidia.proc.all.memused": m{"000070": "150", "000071": "200"}, "nvidia.proc.all.ngpus": m{"000070": "2", "000071": "2"}, "nvidia.proc.all.gpulist": m{"000070": "1", "000071": "3"}, "nvidia.proc.all.gpuactive": m{"000070": "31", "000071": "40"},
		"nvidia.proc.compute.memused": m{"000070": "100", "000071": "200"}, "nvidia.proc.compute.time": m{"000070": "900", "000071": "0"}, "nvidia.proc.compute.ngpus": m{"000070": "1", "000071": "2"},
		"nvidia.proc.graphics.memused": m{"000070": "50"}, "nvidia.proc.graphics.gpuactive": m{"000070": "1"},
		"nvidia.container.memused": m{box: "200"}, "nvidia.container.gpuactive": m{box: "40"}, "nvidia.container.nprocs": m{box: "2"},
	}
	for name, want := range want {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	agenttest.HelpTexts(t, a)
	for serial, text := range []string{`{"gpu":0,"uuid":"GPU-1"}`, `{"gpu":0,"pid":70}`, `{"pid":70}`} {
		sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, serial)), pcp.LabelInstances)
		if err != nil || len(sets) < 2 || !strings.Contains(string(sets[0].JSON), text[1:]) {
			t.Errorf("labels of domain %d: %v, %v", serial, sets, err)
		}
	}
}

// TestSums checks the sums after more readings, one of them with a card that is lost.
func TestSums(t *testing.T) {
	a, set, log := open(t, two)
	agenttest.Read(t, a)
	f := func(want agenttest.Values) {
		t.Helper()
		got := agenttest.Read(t, a)
		for name, w := range want {
			if diff := cmp.Diff(w, got[name]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	samples := func() int {
		n, err := strconv.Atoi(agenttest.Read(t, a)["nvidia.samples"]["gpu0"])
		if err != nil {
			t.Error(err)
		}
		return n
	}
	before := samples()
	set(`{"cards":[{"error":"GPU is lost"},{"name":"T4","busy":3}]}`)
	f(agenttest.Values{
		"nvidia.numcards": m{"": "2"}, "nvidia.cardname": m{"gpu1": `"T4"`}, "nvidia.gpuactive": m{"gpu1": "3"}, "nvidia.gpuid": m{"gpu0": "0", "gpu1": "1"}, "nvidia.memused": m{"!": pcp.ErrValue.Error()},
		"nvidia.proc.all.memused": m{}, "nvidia.temperature": m{"!": pcp.ErrAppVersion.Error()}, "nvidia.nprocs": m{"gpu0": "0", "gpu1": "0"},
	})
	set(`{"cards":[{"name":"A100"}]}`) // the other has gone
	f(agenttest.Values{"nvidia.numcards": m{"": "1"}, "nvidia.cardname": m{"gpu0": `"A100"`}})
	set("end") // and is not there when it is started again
	f(agenttest.Values{"nvidia.numcards": m{"": "0"}, "nvidia.cardname": m{"!": pcp.ErrValue.Error()}})
	set(two)
	f(agenttest.Values{"nvidia.numcards": m{"": "2"}, "nvidia.proc.all.memused": m{"000070": "150", "000071": "200"}})
	if after := samples(); before >= after {
		t.Errorf("%d readings, and then %d", before, after)
	}
	for _, text := range []string{`{"error":"the driver is not loaded"}`, "junk", `{"cards":[` + strings.Repeat(`{},`, reading.MaxCards) + `{}]}`} {
		set(text)
		f(agenttest.Values{"nvidia.numcards": m{"": "0"}})
	}
	for _, want := range []string{"it has ended", "the driver is not loaded", "invalid character", "257 cards"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

// TestHangs has pcp-gpu not answer.
func TestHangs(t *testing.T) {
	a, set, log := open(t, "hang")
	a.helper.cfg.wait, a.helper.cfg.pause = 10*time.Millisecond, time.Hour
	for range 2 {
		if got := agenttest.Read(t, a)["nvidia.numcards"][""]; got != "0" {
			t.Errorf("%s cards", got)
		}
	}
	if strings.Count(log.String(), "no answer in 10ms") != 1 {
		t.Errorf("the log is\n%s", log)
	}
	set(two)
	a.helper.cfg.wait, a.helper.cfg.pause = 20*time.Second, time.Nanosecond
	if got := agenttest.Read(t, a)["nvidia.numcards"][""]; got != "2" {
		t.Errorf("%s cards", got)
	}
}

// TestNone checks a machine without a driver, on which nothing is started, and without the program.
func TestNone(t *testing.T) {
	for _, program := range []string{"", "/no/such/program"} {
		a, err := New(Config{Root: t.TempDir(), Program: program})
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range agenttest.Read(t, a) {
			if len(values) > 0 && name != "nvidia.numcards" {
				t.Errorf("%s: %v", name, values)
			}
		}
		a.Close()
	}
	if HasDriver(t.TempDir()) {
		t.Error("there is a driver")
	}
}

// TestDescriptors checks all that archives of the C agent rely on.
func TestDescriptors(t *testing.T) {
	a, _, _ := open(t, two)
	var got []string
	for name, id := range a.NameSpace().All() {
		d, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		if id.Cluster() != clusterContainers {
			got = append(got, strings.TrimSpace(strings.Join([]string{strings.TrimPrefix(name, "nvidia."), id.String(), d.InDom.String(), d.Type.String(), d.Sem.String(), d.Units.String()}, " ")))
		}
	}
	want := strings.Split(strings.TrimSpace(`
numcards 120.0.0 PM_INDOM_NULL U32 instant
gpuid 120.0.1 120.0 U32 discrete
cardname 120.0.2 120.0 STRING discrete
busid 120.0.3 120.0 STRING discrete
temperature 120.0.4 120.0 U32 instant temperature (C)
fanspeed 120.0.5 120.0 U32 instant
perfstate 120.0.6 120.0 U32 instant
gpuactive 120.0.7 120.0 U32 instant
memactive 120.0.8 120.0 U32 instant
memused 120.0.9 120.0 U64 instant byte
memtotal 120.0.10 120.0 U64 discrete byte
memfree 120.0.11 120.0 U64 instant byte
carduuid 120.0.19 120.0 STRING discrete
energy 120.0.20 120.0 U64 instant
power 120.0.21 120.0 U32 instant power (mW)
nprocs 120.0.22 120.0 U32 instant
samples 120.0.23 120.0 U64 counter
gpuutilaccum 120.0.24 120.0 U64 counter
memutilaccum 120.0.25 120.0 U64 counter
memusedaccum 120.0.26 120.0 U64 counter byte
proc.samples 120.1.12 120.1 U64 counter count
proc.memused 120.1.13 120.1 U64 instant byte
proc.memaccum 120.1.14 120.1 U64 counter byte
proc.gpuactive 120.1.15 120.1 U32 instant
proc.memactive 120.1.16 120.1 U32 instant
proc.time 120.1.17 120.1 U64 counter millisec
proc.running 120.1.18 120.1 U32 instant
`), "\n")
	for cluster, kind := range []string{2: "all", 3: "compute", 4: "graphics"} {
		if kind == "" {
			continue
		}
		for item, text := range []string{
			"samples U64 counter count", "memused U64 instant byte", "memaccum U64 counter byte", "gpuactive U64 instant", "memactive U32 instant",
			"time U64 counter millisec", "running U32 counter", "gpulist U32 instant", "ngpus U32 instant",
		} {
			name, rest, _ := strings.Cut(text, " ")
			want = append(want, fmt.Sprintf("proc.%s.%s 120.%d.%d 120.2 %s", kind, name, cluster, item, rest))
		}
	}
	if len(want) != 54 {
		t.Errorf("the table has %d metrics, want 54", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
}

func FuzzReading(f *testing.F) {
	for _, s := range []string{two, `{"error":"x"}`, `{"cards":[{"error":"lost"},{}]}`, "", "null", `{"cards":[{"processes":[{"pid":-1}]}]}`, `{"cards":[{"processes":[{"pid":1,"memory":18446744073709551615},{"pid":1,"memory":18446744073709551615}]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := reading.Parse(b)
		if err != nil {
			return
		}
		a, err := New(Config{Root: "/nonexistent"})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for range 2 {
			a.state.update(r, true, true)
		}
		if len(a.state.cards) != len(r.Cards) || a.state.count > reading.MaxCards {
			t.Errorf("%d cards of %d", len(a.state.cards), len(r.Cards))
		}
		for _, m := range a.metrics() {
			if m.InDom == nil {
				continue
			}
			list, err := m.InDom.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, inst := range list {
				m.Value(inst.Inst, i)
				if s := m.InDom.InstanceLabels(inst.Inst, i); s != "" && !json.Valid([]byte(s)) {
					t.Errorf("labels %s", s)
				}
			}
		}
	})
}
