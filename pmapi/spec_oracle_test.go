package pmapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// hostSpecs are host specifications, good and bad; those of PCPIntro(1) come
// first.
var hostSpecs = []string{
	"app1.aconex.com", "192.168.122.1:44321", "[fe80::5eff:35ff:fe07:55ca]:44321", "[fe80::5eff:35ff:fe07:55ca%eth0]",
	"pcp://oss.sgi.com:45892?container=web", "pcps://oss.sgi.com@proxy.org:45893?secure=relaxed&user=jimbo",
	"unix://path/to/socket", "unix:", "unix:/", "unix:///run/pcp/pmcd.socket", "unix:run/x", "local:", "local://run/x?user=jimbo",
	"app1:44321,4321@firewall:44322", "app1:44321@firewall", "app1@firewall", "app1:44321", "localhost",
	"[::1]:44321,4321@[::1]:44322", "[app1]", "[app1]@[app2]", "a@b@c:1,2", "host?", "host/", "host/path", "host/?user=x",
	"host?compress", "host?compress=x", "?unix=0", "host?userauth", "host?user=a%20b", "host?user=a+b", "host?nosuch=1", "host?container=foo/bar",
	"host?user=x&nosuch&pass=y", "host?method=PLAIN", "host?authmeth=PLAIN", "host?realm=here", "host?uid=1", "host?gid=2", "host?pid=3",
	"host?processid=3", "host?unixsock", "host?local", "host?exclusive", "host?secure=enforce", "host?container", "host?container=",
	"host:1?container=c", "host:1/x", "pcp:host", "pcp:///host", "pcp:", "pcps://", "PCP://host", "http://host", "host name",
	// bad
	"host:", "host:x", "host:1x", "host:1,", "host:,1", "host:1,,2", "host:1:2", "[host", "[::1", "[host]x", "[::1]44321", "host:@b",
	"a:1@b:", "a:1@b:x", "unix:path:", "unix:path:1", "local:/p:?x", ":1", "@", "@b", "?user=x", "/", "", " ", "[a]b:1",
}

func TestParseHostSpecOracle(t *testing.T) {
	in, _ := json.Marshal(hostSpecs)
	out := oracle.Python(t, []string{"PMCD_SOCKET=/DEFAULT"}, `
import ctypes, json, sys
lib = ctypes.CDLL("libpcp.so.3")
res = []
for spec in json.loads(sys.argv[1]):
    host, count, err = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_char_p()
    attrs = ctypes.create_string_buffer(256)
    sts = lib.__pmParseHostAttrsSpec(spec.encode(), ctypes.byref(host), ctypes.byref(count), attrs, ctypes.byref(err))
    if sts < 0:
        res.append([spec, sts, err.value.decode()])
        continue
    if count.value == 0:
        res.append([spec, 0, "no host"])
        continue
    text = ctypes.create_string_buffer(4096)
    lib.__pmUnparseHostAttrsSpec(host, count, attrs, text, ctypes.c_size_t(4096))
    res.append([spec, 0, text.value.decode()])
print(json.dumps(res))
`, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want [][3]any
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		spec, sts, text := w[0].(string), w[1].(float64), w[2].(string)
		var got string
		hs, err := ParseHostSpec(spec)
		var bad *SpecError
		switch {
		case errors.As(err, &bad):
			if sts != -12345 {
				t.Errorf("ParseHostSpec(%q) = %v, want %q", spec, err, text)
			}
			got = bad.Detail()
		case sts != 0:
			t.Errorf("ParseHostSpec(%q) = %q, want %q", spec, hs, text)
			continue
		case len(hs.Hosts) == 0:
			got = "no host"
		default:
			if hs.Hosts[0].Name == "" {
				hs.Hosts[0].Name = "/DEFAULT" // we keep it out of the parsed form
			}
			got = hs.String()
		}
		// The C library prints these two attributes as a protocol, which turns a
		// host into a path; we print them as given.
		if spec == "host?unixsock" || spec == "host?local" {
			if got != spec {
				t.Errorf("ParseHostSpec(%q): %q", spec, got)
			}
			continue
		}
		if normal(got) != normal(text) {
			t.Errorf("ParseHostSpec(%q): %q, want %q", spec, got, text)
		}
	}
}

// normal sorts the attributes of a specification, which the C library prints
// in the order of a hash table.
func normal(spec string) string {
	head, attrs, ok := strings.Cut(spec, "?")
	if !ok || strings.Contains(spec, "\n") {
		return spec
	}
	list := strings.Split(attrs, "&")
	slices.Sort(list)
	return head + "?" + strings.Join(list, "&")
}

var metricSpecs = []string{
	"kernel.all.load", "host:kernel.all.load", "host:kernel.all.load[1 minute]", `host:kernel.all.load["1 minute"]`,
	`h:m["1 minute","5 minute"]`, "archive/m", "path/to/archive/m[i1,i2]", "@:m", " @ : m ", "h:1234:m", "  h  :  m  [  a  ,  b  ]  ",
	"m[]", "m[,]", "m[,a]", "m[a,,b]", "m[a b\tc]", `m["a\"b"]`, `m[a\,b]`, `m[a\]b]`, `m["a]b"]`, `m["a,b" c]`, `m["a"b]`, `m[""]`,
	`h\:x:m`, `h:m\.n`, `m\[`, "h:m[i:j/k]", "a/b:m", "a:b/m", "h:m[-1]", "http://x/m",
	":m", "/m", " :m", "h:", "h: ", "", " ", "[a]", "m]", "m,n", "m[a", `m["a`, `m["a]`, "m[a]b", "m n", "m[a][b]", `m\`, `m[a\`, "[::1]:m",
}

func TestParseMetricSpecOracle(t *testing.T) {
	in, _ := json.Marshal(metricSpecs)
	out := oracle.Python(t, nil, `
import ctypes, json, sys
lib = ctypes.CDLL("libpcp.so.3")
class Spec(ctypes.Structure):
    _fields_ = [("isarch", ctypes.c_int), ("source", ctypes.c_char_p), ("metric", ctypes.c_char_p),
                ("ninst", ctypes.c_int), ("inst", ctypes.c_char_p * 64)]
res = []
for spec in json.loads(sys.argv[1]):
    msp, err = ctypes.POINTER(Spec)(), ctypes.c_char_p()
    sts = lib.pmParseMetricSpec(spec.encode(), 1, b"SOURCE", ctypes.byref(msp), ctypes.byref(err))
    if sts < 0:
        res.append({"spec": spec, "err": err.value.decode()})
        continue
    m = msp.contents
    res.append({"spec": spec, "kind": m.isarch, "source": m.source.decode(), "metric": m.metric.decode(),
        "insts": [m.inst[i].decode() for i in range(m.ninst)]})
print(json.dumps(res))
`, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want []struct {
		Spec, Err, Source, Metric string
		Kind                      SourceKind
		Insts                     []string
	}
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		got, err := ParseMetricSpec(w.Spec, SourceArchive, "SOURCE")
		var bad *SpecError
		if errors.As(err, &bad) || w.Err != "" {
			detail := fmt.Sprint(err)
			if bad != nil {
				detail = bad.Detail()
			}
			if detail != w.Err {
				t.Errorf("ParseMetricSpec(%q): error %q, want %q", w.Spec, detail, w.Err)
			}
			continue
		}
		if len(w.Insts) == 0 {
			w.Insts = nil
		}
		if diff := cmp.Diff(MetricSpec{w.Kind, w.Source, w.Metric, w.Insts}, got); diff != "" {
			t.Errorf("ParseMetricSpec(%q) (-want +got):\n%s", w.Spec, diff)
		}
	}
}
