package pcptime

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A windowCase is a call of ParseWindow with the result of the C library.
type windowCase struct {
	Spec        [4]*string // -S -T -A -O
	First, Last [2]int64
	Sts         int
	Err         string
	Want        [3][2]int64
}

// windowTimes are arguments of -S, -T and -O.
var windowTimes = []string{
	"", "", "", "", "0", "1", "10", "90", "0.25", "1.5min", "1h 3min", "+5", " + 7 sec", "-1", "-30sec", " - 2.75", "-1min", "200720072007", "1e12", "-200720072007",
	"@10:00", "@ 18:34:35.25", "@18:34:35.123456789", "@12", "@12:30pm", "@ 11:05 am", "@Thu Aug  6 18:34:35 1998", "@Aug 7", "@7", "@Aug", "@1998",
	"@Aug 6 18:34", "@31", "@Feb 29 12:00 2000", "@Thu", "@foo", "@18:34:99", "@25:00", "@1:2:3 xm", "foo", "1 foo", "x", "@", " ", "-", "+", "1 min ago",
	"-1 hour", "2 hours ago", "1998-08-06 18:34:36", "Aug 6 1998 18:34", "@1998-08-06 18:34:36", "last hour", "6 Aug 1998 6:34:37pm", "18:34:38 6 Aug 1998 UTC",
}

var windowAligns = []string{"", "", "", "1", "10sec", "1min", "0.5", "15 min", "1 day", "1000d", "0", "x", "1foo", "7.25"}

// TestParseWindowOracle compares windows with those of
// pmParseHighResTimeWindow(3), for random arguments.
func TestParseWindowOracle(t *testing.T) {
	n := longtest.N(3000, 60000)
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	number := func() string {
		f := []string{"%d", "%d.5", "-%d", "%d sec", "%dmin", "-%dmin", "@%d:07", "@18:%d:01"}[rnd.IntN(8)]
		return fmt.Sprintf(f, rnd.IntN(100))
	}
	// given turns some of the empty arguments into none.
	given := func(s string) *string {
		if s == "" && rnd.IntN(8) != 0 {
			return nil
		}
		return &s
	}
	spec := func(list []string) *string {
		if rnd.IntN(4) == 0 {
			return given(number())
		}
		return given(pick(list))
	}
	cases := make([]windowCase, n)
	for i := range cases {
		c := &cases[i]
		c.Spec = [4]*string{spec(windowTimes), spec(windowTimes), given(pick(windowAligns)), spec(windowTimes)}
		c.First = [2]int64{902428472 + rnd.Int64N(100000), rnd.Int64N(1e6) * 1000}
		c.Last = [2]int64{c.First[0] + rnd.Int64N(20000), rnd.Int64N(1e9)}
		if rnd.IntN(10) == 0 {
			c.Last = [2]int64{pcp.MaxSec, 0}
			c.Spec[2] = nil // with -O they overflow, in this version
		}
	}
	in, _ := json.Marshal(cases)
	path := t.TempDir() + "/cases"
	if err := os.WriteFile(path, in, 0o666); err != nil {
		t.Fatal(err)
	}
	out := oracle.Python(t, []string{"TZ=UTC"}, `
import ctypes, json, sys
lib = ctypes.CDLL("libpcp.so.3")
class Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]
res = []
for c in json.load(open(sys.argv[1])):
    args = [None if s is None else s.encode() for s in c["Spec"]]
    first, last = Timespec(*c["First"]), Timespec(*c["Last"])
    start, end, origin, err = Timespec(), Timespec(), Timespec(), ctypes.c_char_p()
    r = {"Sts": lib.pmParseHighResTimeWindow(*args, ctypes.byref(first), ctypes.byref(last), ctypes.byref(start), ctypes.byref(end), ctypes.byref(origin), ctypes.byref(err))}
    if r["Sts"] != 1:
        r["Err"] = (err.value or b"").decode("utf-8", "replace")
    r["Want"] = [[x.sec, x.nsec] for x in (start, end, origin)]
    res.append(r)
print(json.dumps(res))
`, path)
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want []windowCase
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	stamp := func(v [2]int64) pcp.Timestamp { return pcp.Timestamp{Sec: v[0], Nsec: int32(v[1])} }
	failed := 0
	for i := range cases {
		c, w := &cases[i], &want[i]
		if w.Want[0][1] == 1e9 || w.Want[1][1] == 1e9 || w.Want[2][1] == 1e9 {
			continue // they do not carry into the seconds, and then compare
		}
		got, warn, err := ParseWindow(Bounds{Start: c.Spec[0], Finish: c.Spec[1], Align: c.Spec[2], Origin: c.Spec[3]}, stamp(c.First), stamp(c.Last), time.UTC)
		bad := ""
		switch {
		case w.Sts < 0:
			if err == nil || err.Error() != w.Err {
				bad = fmt.Sprintf("error %v, want %q", err, w.Err)
			}
		case err != nil:
			bad = err.Error()
		case (warn != nil) != (w.Sts == 0), warn != nil && w.Err != "" && warn.Error() != w.Err:
			bad = fmt.Sprintf("warning %v, want %q", warn, w.Err)
		default:
			for j, ts := range []pcp.Timestamp{got.Start, got.Finish, got.Origin} {
				o := w.Want[j]
				tolerance := int64(0)
				if c.Last[0] == pcp.MaxSec {
					tolerance = int64(10 * time.Second) // "-1" is in English, relative to now
				}
				if now := time.Now().Unix(); o[0] > now-86400*2 && o[0] < now+86400*2 {
					tolerance = int64(25 * time.Hour) // relative to now, which may be the next day
				}
				if d := (ts.Sec-o[0])*1e9 + int64(ts.Nsec) - o[1]; d < -tolerance || d > tolerance {
					bad += fmt.Sprintf("%s %v, want %v; ", [...]string{"start", "finish", "origin"}[j], ts, o)
				}
			}
		}
		if bad != "" {
			args, _ := json.Marshal(c.Spec)
			t.Errorf("-S, -T, -A, -O %s in %v..%v: %s", args, c.First, c.Last, bad)
			if failed++; failed > 10 {
				t.Fatal("and more")
			}
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range windowTimes {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		start, end := pcp.Timestamp{Sec: 902428472}, pcp.Timestamp{Sec: 902448472, Nsec: 5}
		for _, end := range []pcp.Timestamp{end, Never} {
			if _, err := ParseTime(s, start, end, time.UTC); err != nil {
				_ = err.Error()
			}
		}
	})
}
