package expvarmmv

import (
	"expvar"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestExport(t *testing.T) {
	if expvar.Get("hits") != nil {
		t.Skip("a variable is published for good: the test can run once in a process")
	}
	expvar.NewInt("hits").Set(1 << 60)
	expvar.NewFloat("load").Set(.5)
	expvar.NewString("state").Set("fine " + strings.Repeat("é", 200))
	codes := expvar.NewMap("codes")
	codes.Add("200", 3)
	codes.Add("404 or so", 1<<53+1)
	mixed := expvar.NewMap("mixed")
	mixed.Add("n", 1)
	mixed.AddFloat("f", 1.5)
	text := new(expvar.String)
	text.Set("hello")
	mixed.Set("s", text)
	inner := new(expvar.Map)
	inner.Add("x", 7)
	mixed.Set("inner", inner)
	circle := expvar.NewMap("circle")
	circle.Add("n", 1)
	circle.Set("again", circle)
	expvar.Publish("uptime_seconds", expvar.Func(func() any { return 12.5 }))
	expvar.Publish("pool", expvar.Func(func() any {
		return struct {
			Open  int
			Ready bool
			Name  string
			List  []int
		}{3, true, "p", []int{1}}
	}))
	expvar.Publish("broken", expvar.Func(func() any { return func() {} }))

	reg := mmvtest.New(t, "a", mmv.Options{})
	e := Export(reg, Options{
		Options: bridgeOptions("v"),
		Counter: func(name string) bool { return name == "hits" || name == "codes" },
	})
	defer e.Stop()
	codes.Add("500", 1)
	fail := false
	expvar.Publish("bad", expvar.Func(func() any {
		if fail {
			panic("on purpose")
		}
		return 1
	}))
	expvar.NewInt("late").Set(-4)
	if err := e.Refresh(); err != nil {
		t.Error(err)
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	got := mmvtest.Values(t, reg)
	for name := range got {
		if strings.Contains(name, "again") {
			delete(got, name) // maximum depth
		}
	}
	want := map[string]string{
		"v.hits": "1152921504606846976", "v.load": "0.5", "v.state": "fine " + strings.Repeat("é", 125),
		"v.codes[200]": "3", "v.codes[404 or so]": "9007199254740993", "v.codes[500]": "1",
		"v.mixed[n]": "1", "v.mixed[f]": "1.5", "v.mixed_s": "hello", "v.mixed_inner[x]": "7",
		"v.uptime_seconds": "12.5", "v.pool[Open]": "3", "v.pool[Ready]": "1", "v.pool_Name": "p",
		"v.circle[n]": "1", "v.late": "-4", "v.bad": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	fail = true
	if err := e.Refresh(); err == nil || err.Error() != "expvarmmv: variable bad: panic: on purpose" {
		t.Errorf("Refresh = %v", err)
	}
	fail = false
	desc := mmvtest.Describe(t, reg)
	for _, line := range []string{
		"v.hits: 2 counter [count] \n", "v.load: 5 instant [] \n", "v.state: 6 discrete [] \n",
		"v.codes: 2 counter [count] \n", "v.uptime_seconds: 5 instant [sec] \n",
	} {
		if !strings.Contains(desc, line) {
			t.Errorf("no %q in\n%s", line, desc)
		}
	}
}

func bridgeOptions(prefix string) (opt bridge.Options) {
	opt.Prefix, opt.Interval = prefix, time.Hour
	return opt
}
