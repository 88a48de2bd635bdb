package sample

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

var (
	_ pmda.Agent          = (*Agent)(nil)
	_ pmda.Storer         = (*Agent)(nil)
	_ pmda.Texter         = (*Agent)(nil)
	_ pmda.Labeler        = (*Agent)(nil)
	_ pmda.DynamicNamer   = (*Agent)(nil)
	_ pmda.NameSpacer     = (*Agent)(nil)
	_ pmda.ContextEnder   = (*Agent)(nil)
	_ pmda.InstanceLooker = (*Agent)(nil)
	_ pmda.Finisher       = (*Agent)(nil)
)

// A tester is a client of an agent.
type tester struct {
	*testing.T
	a      *Agent
	client *pmda.Client
}

func newTester(t *testing.T, cfg Config) *tester {
	t.Helper()
	if cfg.DynamicPath == "" {
		cfg.DynamicPath = filepath.Join(t.TempDir(), "dynamic.indom")
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &tester{t, a, &pmda.Client{ID: 3}}
}

// id returns the identifier of a metric by its name below the root.
func (t *tester) id(name string) pcp.PMID {
	t.Helper()
	id, err := t.a.LookupName(t.Context(), t.a.root+"."+name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return id
}

func (t *tester) fetchFor(profile *pcp.Profile, names ...string) ([]pcp.ValueSet, error) {
	t.Helper()
	req := &pmda.FetchRequest{Client: t.client, Profile: profile, Result: new(pcp.Result)}
	for _, name := range names {
		req.PMIDs = append(req.PMIDs, t.id(name))
	}
	if err := t.a.Fetch(t.Context(), req); err != nil {
		return nil, err
	}
	if err := pmda.CheckResult(req); err != nil {
		t.Fatal(err)
	}
	return req.Result.Sets, nil
}

// show fetches one metric and formats it.
func (t *tester) show(name string) string {
	t.Helper()
	sets, err := t.fetchFor(nil, name)
	if err != nil {
		return err.Error()
	}
	if sets[0].Err != 0 {
		return sets[0].Err.Symbol()
	}
	var words []string
	for _, v := range sets[0].Values {
		word := v.String()
		if v.Inst != pcp.InNull {
			word = fmt.Sprintf("%d=%s", v.Inst, word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (t *tester) want(name, want string) {
	t.Helper()
	if got := t.show(name); got != want {
		t.Errorf("%s is %s, want %s", name, got, want)
	}
}

// store stores values in their wire form.
func (t *tester) store(want error, name string, values ...pcp.Value) {
	t.Helper()
	res := new(pcp.Result)
	res.AddSet(t.id(name))
	for _, v := range values {
		res.Add(v)
	}
	if err := t.a.Store(t.Context(), t.client, res); !errors.Is(err, want) {
		t.Errorf("Store(%s, %v): %v, want %v", name, values, err, want)
	}
}

// TestAll fetches every metric some times: none panics, all have help, and a
// value has the type of its descriptor.
func TestAll(t *testing.T) {
	for _, dso := range []bool{false, true} {
		tt := newTester(t, Config{DSO: dso})
		var names []string
		for name, id := range tt.a.NameSpace().All() {
			if !id.IsDynamicRoot() {
				names = append(names, below(name))
			}
		}
		if len(names) < 180 {
			t.Fatalf("%d names", len(names))
		}
		tt.store(nil, "ghosts.visible", pcp.Int32Value(8))
		for _, d := range tt.a.dyn[1:] {
			names = append(names, d.name)
		}
		for range 20 {
			sets, err := tt.fetchFor(nil, names...)
			if err != nil {
				t.Fatal(err)
			}
			for i, vs := range sets {
				desc, err := tt.a.Desc(t.Context(), vs.PMID)
				if err != nil && names[i] != "bad.unknown" {
					t.Errorf("%s: %v", names[i], err)
				}
				for _, v := range vs.Values {
					if v.Type() != desc.Type {
						t.Errorf("%s is of type %v, not %v", names[i], v.Type(), desc.Type)
					}
				}
			}
		}
		for _, name := range names {
			text, err := tt.a.Text(t.Context(), uint32(tt.id(name)), pcp.TextOneLine|pcp.TextPMID)
			if err != nil || strings.HasSuffix(text, ".") || len(text) > 70 {
				t.Errorf("%s has the help %q, %v", name, text, err)
			}
		}
		for serial := 1; serial <= 12; serial++ {
			indom := pcp.NewInDom(tt.a.Domain(), serial)
			text, err := tt.a.Text(t.Context(), uint32(indom), pcp.TextHelp|pcp.TextInDom)
			if err != nil || text == "" {
				t.Errorf("%v has the help %q, %v", indom, text, err)
			}
			list, err := tt.a.Instances(t.Context(), indom)
			if err != nil {
				t.Error(err)
			}
			sets, err := tt.a.Labels(t.Context(), uint32(indom), pcp.LabelInstances)
			if err != nil || len(sets) != len(list) {
				t.Errorf("%v has %d sets of labels for %d instances, %v", indom, len(sets), len(list), err)
			}
		}
		if _, err := tt.a.Labels(t.Context(), uint32(pcp.NewInDom(tt.a.Domain(), 13)), pcp.LabelInstances); err != pcp.ErrInDom {
			t.Error(err)
		}
	}
}

func TestValues(t *testing.T) {
	tt := newTester(t, Config{})
	tt.want("load", "42")
	tt.want("colour", "0=101 1=202 2=303")
	tt.want("mirage", "0=96")
	tt.want("bogus_bin", "100=100 250=250 300=300 450=450 500=500 650=650 700=700 850=850 900=900")
	tt.want("part_bin", "100=100 300=300 500=500 700=700 900=900")
	tt.want("string.bin", `100="100" 200="200" 300="300" 400="400" 500="500" 600="600" 700="700" 800="800" 900="900"`)
	tt.want("rapid", "800000000")
	tt.want("rapid", "1600000000")
	tt.want("wrap.long", "1073741822")
	tt.want("wrap.long", "2147483644")
	tt.want("wrap.long", "-1073741830")
	tt.want("negative.ctr.m_32", "-9999")
	tt.want("negative.discrete.m_32", "-9998")
	tt.want("noinst", "")
	tt.want("darkness", "")
	tt.want("bad.unknown", "PM_ERR_PMID")
	tt.want("bad.nosupport", "PM_ERR_APPVERSION")
	tt.want("bad.fetch.again", "PM_ERR_AGAIN")
	tt.want("ghosts.visible", "-1")
	for range 5 {
		tt.want("scale_step.count_down", "1.000000e+00")
	}
	tt.want("scale_step.count_down", "1.000000e+12")
	// An unknown metric has no values, and no error.
	req := &pmda.FetchRequest{Client: tt.client, PMIDs: []pcp.PMID{pcp.NewPMID(Domain, 0, 999)}, Result: new(pcp.Result)}
	if err := tt.a.Fetch(t.Context(), req); err != nil || req.Result.Sets[0].Err != 0 {
		t.Error(err, req.Result.Sets)
	}
}

func TestProfile(t *testing.T) {
	tt := newTester(t, Config{})
	tt.want("needprofile", "PM_ERR_PROFILE")
	family := pcp.NewInDom(Domain, serialFamily)
	p := &pcp.Profile{State: pcp.ProfileExclude}
	if sets, err := tt.fetchFor(p, "needprofile"); err != nil || sets[0].Err != pcp.ErrProfile {
		t.Error(sets, err)
	}
	if err := p.Add(family, 1, 4); err != nil {
		t.Fatal(err)
	}
	sets, err := tt.fetchFor(p, "needprofile")
	if err != nil || len(sets[0].Values) != 2 || sets[0].Values[1].Float() != 5.26 {
		t.Error(sets, err)
	}
	for name, want := range map[string]error{"fat": nil, "fat bald bastard": nil, "fat cat": nil, "bald": pcp.ErrInst} {
		if inst, err := tt.a.LookupInstance(t.Context(), family, name); err != want || err == nil && inst != 4 {
			t.Errorf("%q is %d, %v", name, inst, err)
		}
	}
	// Ghosts can be looked up before they are seen.
	if name, err := tt.a.InstanceName(t.Context(), pcp.NewInDom(Domain, serialGhosts), 8); name != "Duppy" || err != nil {
		t.Error(name, err)
	}
}

func TestStores(t *testing.T) {
	tt := newTester(t, Config{})
	tt.store(nil, "write_me", pcp.Int32Value(7))
	tt.want("write_me", "7")
	tt.store(pcp.ErrBadStore, "write_me")
	tt.store(pcp.ErrBadStore, "write_me", pcp.Int32Value(7), pcp.Int32Value(8))
	tt.store(pcp.ErrBadStore, "write_me", pcp.Int64Value(7))
	tt.store(pcp.ErrBadStore, "longlong.write_me", pcp.Int32Value(7))
	tt.store(pcp.ErrConv, "longlong.write_me", pcp.StringValue("7"))
	tt.store(pcp.ErrPermission, "load", pcp.Int32Value(7))
	tt.store(pcp.ErrInst, "bin", pcp.Int32Value(1).WithInst(100), pcp.Int32Value(2).WithInst(150), pcp.Int32Value(3).WithInst(300))
	tt.want("bin", "100=1 200=200 300=300 400=400 500=500 600=600 700=700 800=800 900=900")
	tt.store(nil, "many.count", pcp.Int32Value(0))
	tt.want("many.int", "")
	tt.store(nil, "many.count", pcp.Int32Value(-3))
	tt.want("many.count", "0")
	tt.store(nil, "many.count", pcp.Int32Value(2))
	tt.want("many.int", "0=0 1=1")
	tt.store(pcp.ErrSign, "updown.control.step", pcp.Uint32Value(1<<31))
	tt.want("temperature.kelvin", "2.731500e+02")
	tt.store(nil, "temperature.fahrenheit", pcp.FloatValue(212))
	tt.want("temperature.celsius", "1.000000e+02")
	tt.want("temperature.kelvin", "3.731500e+02")
	tt.want("voltage.microvolt", "2.400000e+08")
	tt.store(nil, "voltage.millivolt", pcp.FloatValue(1500))
	tt.want("voltage.volt", "1.500000e+00")
	tt.want("current.milliamp", "1.300000e+04")
	tt.store(nil, "power.kilowatt", pcp.FloatValue(2))
	tt.want("power.watt", "2.000000e+03")
	tt.store(pcp.ErrBadStore, "power.watt", pcp.FloatValue(float32(math.NaN())))

	// Results that a client still holds do not change.
	sets, err := tt.fetchFor(nil, "aggregate.write_me")
	if err != nil {
		t.Fatal(err)
	}
	new := pcp.BytesValue(pcp.TypeAggregate, []byte("ab"))
	tt.store(nil, "aggregate.write_me", new)
	new.Bytes()[0] = 'x'
	if got := string(sets[0].Values[0].Bytes()); got != "13" {
		t.Errorf("an old value has become %q", got)
	}
	if sets, _ = tt.fetchFor(nil, "aggregate.write_me"); string(sets[0].Values[0].Bytes()) != "ab" {
		t.Errorf("the new value is %q", sets[0].Values[0].Bytes())
	}

	tt.store(nil, "error_code", pcp.Int32Value(int32(pcp.ErrText)))
	if _, err := tt.fetchFor(nil, "load", "error_check"); err != pcp.ErrText {
		t.Error(err)
	}
	if _, err := tt.a.Desc(t.Context(), tt.id("error_check")); err != pcp.ErrText {
		t.Error(err)
	}
	tt.store(nil, "error_code", pcp.Int32Value(0))
	tt.want("error_check", "0")

	for typ, want := range map[pcp.Type]string{
		pcp.TypeU64: "42", pcp.TypeFloat: "4.200000e+01", pcp.TypeString: `"42"`, pcp.Type(77): "0",
	} {
		tt.store(nil, "dynamic.meta.pmdesc.type", pcp.Uint32Value(uint32(typ)))
		tt.want("dynamic.meta.metric", want)
		if desc, err := tt.a.Desc(t.Context(), tt.id("dynamic.meta.metric")); err != nil || desc.Type != typ {
			t.Error(desc, err)
		}
	}
	if tt.a.Done() {
		t.Error("done before it was told so")
	}
	tt.store(nil, "control", pcp.Int32Value(-1))
	if !tt.a.Done() {
		t.Error("not done")
	}
}

func TestNames(t *testing.T) {
	tt := newTester(t, Config{})
	names := func(name string, traverse bool) (list []string) {
		children, err := tt.a.Children(t.Context(), name, traverse)
		if err != nil {
			return []string{err.Error()}
		}
		for _, c := range children {
			n := c.Name
			if !c.Leaf {
				n += "."
			}
			list = append(list, n)
		}
		return list
	}
	f := func(want []string, name string, traverse bool) {
		t.Helper()
		if diff := cmp.Diff(want, names(name, traverse)); diff != "" {
			t.Errorf("%s, traverse %v:\n%s", name, traverse, diff)
		}
	}
	f([]string{"foo.", "bar"}, "sample.secret", false)
	f([]string{"max.", "three", "four", "grunt."}, "sample.secret.foo.bar", false)
	f([]string{"sample.secret.foo.bar.grunt.five", "sample.secret.foo.bar.grunt.snort.six", "sample.secret.foo.bar.grunt.snort.huff.puff.seven"},
		"sample.secret.foo.bar.grunt", true)
	f([]string{"sample.secret.bar"}, "sample.secret.bar", true)
	f([]string{"visible"}, "sample.ghosts", false)
	tt.store(nil, "ghosts.visible", pcp.Int32Value(0))
	f([]string{"visible", "origin", "karma", "state"}, "sample.ghosts", false)
	f([]string{"version", "bin"}, "sample.scramble", false)
	f(nil, "sample.secret.nothing", false)
	f(nil, "sample.nothing", true)
	if all := names("sample", true); len(all) < 190 || !slices.Contains(all, "sample.ghosts.karma") {
		t.Errorf("%d names", len(all))
	}
	for name, want := range map[string]error{
		"sample.secret": pcp.ErrName, "sample.secret.x": pcp.ErrName, "sample.nothing": pcp.ErrName, "sample.event": pcp.ErrNonLeaf,
	} {
		if _, err := tt.a.LookupName(t.Context(), name); err != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if got, err := tt.a.Names(t.Context(), tt.id("daemon_pid")); err != nil || len(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := tt.a.Names(t.Context(), pcp.NewPMID(Domain, 0, 999)); err != pcp.ErrPMID {
		t.Error(err)
	}
}

func TestDynamicFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"1 one\n2 two\n":         "[{1 one} {2 two}]",
		" 7\tseven 8 eight":      "[{7 seven} {8 eight}]",
		"1 one\n\n\n2 two words": `missing instance identifier in "words"`,
		"x one":                  `missing instance identifier in "x one"`,
		"4":                      "missing instance name for instance identifier 4",
		"4\nfour":                "missing instance name for instance identifier 4",
		"-4 four":                "instance identifier -4 is illegal",
		"4194304 big":            "instance identifier 4194304 is illegal",
	} {
		list, err := parseDynamic(text)
		got := ""
		if err != nil {
			got = err.Error()
		} else if list != nil {
			got = fmt.Sprint(list)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "dynamic.indom")
	tt := newTester(t, Config{DynamicPath: path})
	tt.want("dynamic.counter", "")
	if err := os.WriteFile(path, []byte("5 five\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tt.want("dynamic.counter", "5=1")
	tt.want("dynamic.instant", "5=2")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	tt.want("dynamic.counter", "")
}

// TestContexts counts the requests of two clients.
func TestContexts(t *testing.T) {
	tt := newTester(t, Config{})
	tt.want("percontext.recv_pdu", "2") // a profile comes first
	tt.want("percontext.pdu", "5")
	first := tt.client
	tt.client = &pmda.Client{ID: 7}
	tt.want("percontext.recv_pdu", "2")
	tt.want("percontext.control.ctx", "8")
	tt.want("percontext.control.active", "2")
	tt.a.EndContext(first)
	tt.a.EndContext(first)
	tt.want("percontext.control.end", "1")
	tt.want("recv_pdu", "9")
	tt.want("xmit_pdu", "8")
	if _, err := tt.a.Desc(pmda.WithClient(t.Context(), tt.client), tt.id("pdu")); err != nil {
		t.Error(err)
	}
	tt.want("percontext.xmit_pdu", "8")
	tt.store(nil, "pdu", pcp.Uint64Value(0))
	tt.want("pdu", "2")
}

func TestAway(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "unavail")
	tt := newTester(t, Config{UnavailPath: flag})
	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := tt.show("load"); got != pcp.ErrAgain.Error() {
		t.Errorf("with the file: %s", got)
	}
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	tt.store(nil, "not_ready", pcp.Int32Value(1000))
	_, err := tt.fetchFor(nil, "load")
	away, ok := errors.AsType[*pmda.NotReadyError](err)
	if !ok || time.Until(away.Until) < 900*time.Second {
		t.Fatal(err)
	}
	if _, err := tt.a.Text(t.Context(), 0, pcp.TextPMID|pcp.TextHelp); !errors.Is(err, pcp.ErrAgain) {
		t.Error(err)
	}
	tt.a.awayUntil = time.Now()
	tt.want("load", "42")
	tt.want("not_ready", "0")
}

func TestDebug(t *testing.T) {
	var log bytes.Buffer
	tt := newTester(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	tt.store(nil, "control", pcp.Int32Value(debugAppl0|debugAppl1))
	tt.client = &pmda.Client{ID: 9}
	tt.store(nil, "controller.mirage", pcp.Int32Value(0))
	tt.show("mirage")
	tt.show("mirage")
	tt.a.EndContext(tt.client)
	for _, want := range []string{"sample_inc_recv(9) [new context, num_ctx=10]", "redo instance domain for mirage: numinst: ", "sample_ctx_end(9) [context is active]"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, &log)
		}
	}
}

func FuzzParseDynamic(f *testing.F) {
	f.Add("1 one\n2 two\n")
	f.Add("-1 x")
	f.Add("99999999999999999999 x y")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseDynamic(text)
		if err != nil {
			return
		}
		again := ""
		for _, i := range list {
			again += fmt.Sprintf("%d %s\n", i.Inst, i.Name)
		}
		list2, err := parseDynamic(again)
		if diff := cmp.Diff(list, list2); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	})
}

// BenchmarkFetch is one client's fetch of twelve metrics.
func BenchmarkFetch(b *testing.B) {
	a, err := New(Config{DynamicPath: filepath.Join(b.TempDir(), "none")})
	if err != nil {
		b.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, Result: new(pcp.Result)}
	for _, name := range strings.Fields("bin colour load drift step long.one ulong.one longlong.one float.one double.one string.hullo rapid") {
		id, err := a.LookupName(b.Context(), "sample."+name)
		if err != nil {
			b.Fatal(err)
		}
		req.PMIDs = append(req.PMIDs, id)
	}
	b.ReportAllocs()
	for b.Loop() {
		req.Result.Reset()
		if err := a.Fetch(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
