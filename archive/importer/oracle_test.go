package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A script is a list of calls of the library, one a line; see testdata/drive.c.
type script struct {
	bytes.Buffer
}

func (s *script) call(fields ...any) {
	for i, f := range fields {
		if i > 0 {
			s.WriteByte('\t')
		}
		text := fmt.Sprint(f)
		for k := range len(text) {
			if c := text[k]; c < ' ' || c == '%' || c >= 0x7f {
				fmt.Fprintf(s, "%%%02x", c)
			} else {
				s.WriteByte(c)
			}
		}
	}
	s.WriteByte('\n')
}

// run makes the calls of a script with this package and returns the output of
// drive.
func run(t testing.TB, version int, lines []string) []string {
	var out []string
	var im *importer.Importer
	var opt importer.Options
	var base string
	var handles []importer.Handle
	begin := func() {
		if im == nil {
			var err error
			if im, err = importer.Start(base, opt); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		for i := range f {
			f[i] = unescape(t, f[i])
		}
		num := func(i int) int64 {
			if i >= len(f) {
				return 0
			}
			n, err := strconv.ParseInt(f[i], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		str := func(i int) string {
			if i >= len(f) || f[i] == "-" {
				return ""
			}
			return f[i]
		}
		sts := 0
		var err error
		switch f[0] {
		case "start":
			base, sts = str(1), 1
		case "host":
			opt.Host = str(1)
		case "zone":
			opt.TimeZone = str(1)
		case "version":
			opt.Version = int(num(1))
		default:
			begin()
		}
		switch f[0] {
		case "metric":
			_, err = im.AddMetric(str(1), pcp.Desc{
				PMID: pcp.PMID(num(2)), Type: pcp.Type(num(3)), InDom: pcp.InDom(num(4)), Sem: pcp.Sem(num(5)),
				Units: pcp.Units{
					DimSpace: int8(num(6)), DimTime: int8(num(7)), DimCount: int8(num(8)),
					ScaleSpace: uint8(num(9)), ScaleTime: uint8(num(10)), ScaleCount: int8(num(11)),
				},
			})
		case "instance":
			err = im.AddInstance(pcp.InDom(num(1)), str(2), int32(num(3)))
		case "put":
			err = im.PutValue(str(1), str(2), str(3))
		case "handle":
			var h importer.Handle
			if h, err = im.Handle(str(1), str(2)); err == nil {
				handles = append(handles, h)
				sts = len(handles)
			}
		case "puth":
			var h importer.Handle
			if n := int(num(1)); n > 0 && n <= len(handles) {
				h = handles[n-1]
			}
			err = h.Put(str(2))
		case "text":
			err = im.PutText(pcp.TextKind(num(1)|num(2)), uint32(num(3)), str(4))
		case "label":
			err = im.PutLabel(pcp.LabelFlags(num(1)), uint32(num(2)), int32(num(3)), str(4), str(5))
		case "write":
			err = im.Write(pcp.Timestamp{Sec: num(1), Nsec: int32(num(2))}.Time())
		case "mark":
			err = im.PutMark()
		case "result":
			res := &pcp.Result{Time: pcp.Timestamp{Sec: num(1), Nsec: int32(num(2)) * 1000}}
			if k := int(num(4)); k < 0 {
				res.AddError(pcp.PMID(num(3)), pcp.Error(k))
			} else {
				res.AddSet(pcp.PMID(num(3)))
				for i := range k {
					res.Add(pcp.Int32Value(int32(100 + i)).WithInst(int32(k - i)))
				}
			}
			err = im.PutResult(res)
		case "end":
			err = im.End()
		}
		var e importer.Error
		switch {
		case err == nil:
			out = append(out, fmt.Sprintf("%d ", sts))
		case errors.As(err, &e):
			out = append(out, fmt.Sprintf("%d %s", int(e), e))
		default:
			out = append(out, fmt.Sprintf("%d %s", int(pcp.Code(err)), pcp.Code(err)))
		}
	}
	return out
}

func unescape(t testing.TB, s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, byte(n))
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// scratch is a directory of the whole test.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "importer"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// drive compiles the C program once.
var drive = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "drive")
	out, err := exec.Command("cc", "-O1", "-o", path, "testdata/drive.c", "-lpcp_import", "-lpcp").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// compare makes the calls of a script with both and compares the results and the
// files.
func compare(t *testing.T, version int, s *script) {
	t.Helper()
	oracle.Require(t)
	exe, err := drive()
	if err != nil {
		t.Skip("no C compiler, or no headers of PCP: ", err)
	}
	dir := t.TempDir()
	base := filepath.Join(dir, "c")
	head := new(script)
	head.call("start", base, 0)
	head.call("host", "import.example.com")
	head.call("zone", "CET-1CEST")
	head.call("version", version)
	text := head.String() + s.String()
	cmd := exec.Command(exe)
	cmd.Env = oracle.Env()
	cmd.Stdin = strings.NewReader(text)
	stdout, err := cmd.Output()
	if err != nil {
		lines := strings.Split(text, "\n")
		n := bytes.Count(stdout, []byte("\n"))
		t.Fatalf("drive: %v in call %d %q, after\n%s", err, n, lines[min(n, len(lines)-1)], strings.Join(lines[max(0, n-20):n], "\n"))
	}
	theirs := strings.Split(strings.TrimSuffix(string(stdout), "\n"), "\n")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines[0] = "start\t" + filepath.Join(dir, "go")
	mine := run(t, version, lines)
	for i := range lines {
		if mine[i] != theirs[i] {
			t.Errorf("call %d %q: %q, in C %q", i, lines[i], mine[i], theirs[i])
		}
	}
	for _, part := range []string{"index", "meta", "0", "1", "2"} {
		want, err1 := os.ReadFile(base + "." + part)
		got, err2 := os.ReadFile(filepath.Join(dir, "go."+part))
		if (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %v, in C %v", part, err2, err1)
			continue
		}
		if err1 != nil {
			continue
		}
		// The process differs.
		if len(want) > 12 && len(got) > 12 {
			copy(want[8:12], "pid.")
			copy(got[8:12], "pid.")
		}
		if i := diff(got, want); i >= 0 {
			t.Errorf("version %d, %s: %d bytes, in C %d; they differ from %d on\n%q\nin C\n%q", version, part, len(got), len(want), i, part16(got, i), part16(want, i))
			if os.Getenv("PCP_VERBOSE") != "" {
				t.Log(text)
			}
		}
	}
	if t.Failed() {
		return
	}
	if out := oracle.Run(t, "pmlogcheck", filepath.Join(dir, "go")); out.Exit != 0 || out.Stdout+out.Stderr != "" {
		theirs := oracle.Run(t, "pmlogcheck", base)
		if strings.ReplaceAll(theirs.Stdout+theirs.Stderr, base, "") != strings.ReplaceAll(out.Stdout+out.Stderr, filepath.Join(dir, "go"), "") {
			t.Errorf("pmlogcheck: exit %d, %s%s", out.Exit, out.Stdout, out.Stderr)
		}
	}
}

func diff(a, b []byte) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func part16(b []byte, i int) []byte { return b[max(0, min(i-32, len(b))):min(i+64, len(b))] }

const (
	dom  = 0x1000001
	null = 0xffffffff
)

// TestOracle makes calls of all kinds, including wrong ones.
func TestOracle(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		s := new(script)
		s.call("write", 1000, 0)
		s.call("metric", "a.b", null, 0, null, 3)
		for _, name := range []string{"", "9a", "a..b", "a.", ".a", "a.9", "a b", "a.b_1", "ä", "_a", "a.b", "A9.Z_"} {
			s.call("metric", name, null, 0, null, 3)
		}
		s.call("metric", "dup.id", 0x3d400001, 0, null, 3)
		s.call("metric", "bad.type", null, 7, null, 3)
		s.call("metric", "bad.type", null, -1, null, 3)
		s.call("metric", "bad.sem", null, 0, null, 2)
		for typ := range 7 {
			s.call("metric", fmt.Sprint("t", typ), null, typ, null, 1, 1, -1, 1, 2, 3, -1)
			s.call("metric", fmt.Sprint("i", typ), 0x1000000+typ, typ, dom, 4)
		}
		s.call("metric", "no.instances", null, 0, 0x1000009, 4)
		s.call("put", "i1", "one", 1)
		for i, name := range []string{"one", "two or 2", "two", "three 3 3", "one", "two x", "two ", ""} {
			s.call("instance", dom, name, 10+i)
		}
		s.call("instance", dom, "again", 10)
		s.call("instance", dom, "one", 12)
		s.call("instance", dom, "three ", 10)
		s.call("put", "a.b", "-", 12)
		s.call("put", "a.b", "x", 12)
		s.call("put", "i1", "-", 12)
		s.call("put", "none", "-", 12)
		s.call("put", "no.instances", "x", 12)
		s.call("put", "i1", "four", 12)
		for _, v := range numbers {
			for typ := range 7 {
				s.call("put", fmt.Sprint("t", typ), "-", v)
				for _, inst := range []string{"one", "two ", "two", "three 4"} {
					s.call("put", fmt.Sprint("i", typ), inst, v)
				}
				s.call("put", fmt.Sprint("i", typ), "one", v)
			}
			s.call("write", 1001, len(s.String()))
		}
		s.call("handle", "t1", "-")
		s.call("handle", "i1", "three ")
		s.call("handle", "i1", "nine")
		for h := range 4 {
			s.call("puth", h, h)
			s.call("puth", h, h)
		}
		s.call("write", 1000, 0)
		s.call("write", 1002, 0)
		s.call("write", 1002, 0)
		for _, kind := range []int{4, 8, 0, 1, 12} {
			for _, class := range []int{1, 2, 0, 3} {
				s.call("text", kind, class, 0x1000001, "some text")
				s.call("text", kind, class, 0x1000001, "some text")
				s.call("text", kind, class, 0x1000002, "other\ntext é")
			}
		}
		s.call("text", 4, 1, null, "x")
		s.call("text", 4, 1, 7, "")
		s.call("write", 1003, 5)
		for level := 1; level < 256; level *= 2 {
			for i, v := range []string{"value", "12", "-1.5e3", "true", "False", "null", `"`, "{}", "[1]", "a\"b", "0x10", "nan", "", "é"} {
				s.call("label", level, 0x1000001+i%2, 10+i%3, fmt.Sprint("name", i%7), v)
			}
		}
		s.call("label", 32, dom, -1, "n", "v")
		s.call("label", 2, null, -1, "n", "v")
		s.call("label", 1, null, -1, "", "v")
		s.call("label", 1, null, -1, "bad name", "v")
		s.call("label", 1, null, -1, "_n", "v")
		s.call("label", 1, null, -1, "compound.name", "v")
		s.call("label", 0x81, null, -1, "note", "v")
		s.call("label", 0x11, null, -1, "note", "v")
		s.call("write", 1004, 5)
		s.call("instance", dom, "new", 60)
		s.call("text", 8, 1, dom, "brings its instances along")
		s.call("write", 1005, 0)
		s.call("instance", dom, "newer", 61)
		s.call("label", 32, dom, 61, "brings", "them too")
		s.call("write", 1006, 0)
		s.call("result", 1007, 17, 0x1000001, 3)
		s.call("result", 1007, 18, 0x1000077, 0)
		s.call("result", 1007, 17, 0x1000000, 0)
		s.call("result", 1008, 0, 0x1000000, -12345)
		s.call("mark")
		s.call("put", "t1", "-", 1)
		s.call("write", 1010, 0)
		s.call("end")
		s.call("end")
		compare(t, version, s)
	}
}

// numbers are values that C reads in an unusual way.
var numbers = []string{
	"0", "1", "-1", "+5", " 7", "7 ", "", " ", "12x", "x", "2147483648", "4294967295", "4294967296", "-4294967297",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"18446744073709551616", "99999999999999999999999x", "-18446744073709551615", "-99999999999999999999999", "1.5", "-1.5e-3", ".5", "5.", ".", "1e", "1e400", "-1e400", "1e-400", "1e39",
	"0x10", "0x1.8p3", "0x", "0x.8", "inf", "-Infinity", "infin", "nan", "-nan", "NAN(12)", "nan(", "1_000", "+", "--1", "0b1", "1e5_0", "0x1_0", "\t3", "3\n", "٣",
	"0.1", "3.4028236e38", "1.17549435e-38", "1e-46",
}

// TestOracleVolumes has enough values for entries of the index by bytes.
func TestOracleVolumes(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		s := new(script)
		s.call("metric", "big.string", null, 6, null, 3)
		s.call("metric", "late.metric", null, 6, null, 3)
		for i := range 60 {
			s.call("put", "big.string", "-", strings.Repeat("0123456789", i*20))
			if i > 40 {
				s.call("put", "late.metric", "-", i)
			}
			s.call("write", 1000+i, 0)
		}
		s.call("end")
		compare(t, version, s)
	}
}

// TestOracleRandom makes random calls, most of them valid.
func TestOracleRandom(t *testing.T) {
	rounds := 6
	if longtest.Enabled() {
		rounds = 200
	}
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(round), 7))
		t.Run(strconv.Itoa(round), func(t *testing.T) { compare(t, 2+round%2, random(rnd)) })
	}
}

func random(rnd *rand.Rand) *script {
	s := new(script)
	var metrics, insts []string
	pick := func(list []string) string {
		if len(list) == 0 || rnd.IntN(20) == 0 {
			return "none"
		}
		return list[rnd.IntN(len(list))]
	}
	handles, sec, nsec := 0, 1000, 0
	s.call("metric", "first", null, 1, null, 3)
	s.call("put", "first", "-", 1)
	s.call("write", sec, nsec)
	for range 300 {
		switch n := rnd.IntN(100); {
		case n < 8:
			name := fmt.Sprintf("m%d.x", rnd.IntN(40))
			metrics = append(metrics, name)
			indom := uint32(null)
			if rnd.IntN(2) == 0 {
				indom = dom
			}
			s.call("metric", name, null, rnd.IntN(7), indom, 3)
		case n < 14:
			// Ascending numbers: see the package's comment for others.
			name := fmt.Sprintf("inst%d of many", len(insts))
			if rnd.IntN(3) == 0 {
				name = pick(insts)
			}
			insts = append(insts, name)
			s.call("instance", dom, name, len(insts)*3)
		case n < 60:
			s.call("put", pick(metrics), "-", numbers[rnd.IntN(len(numbers))])
			s.call("put", pick(metrics), pick(insts), rnd.IntN(1000))
		case n < 65:
			s.call("handle", pick(metrics), pick(insts))
			handles++
		case n < 75:
			s.call("puth", rnd.IntN(handles+1), rnd.IntN(1000))
		case n < 78:
			s.call("text", 4<<rnd.IntN(2), 1+rnd.IntN(2), 0x3d400000+rnd.IntN(9), fmt.Sprint("text ", rnd.IntN(5)))
		case n < 82:
			s.call("label", 1<<rnd.IntN(6), 0x3d400000+rnd.IntN(9), rnd.IntN(9), fmt.Sprint("n", rnd.IntN(4)), rnd.IntN(5))
		case n < 83:
			s.call("mark")
			nsec += 1_000_000
		default:
			if nsec += rnd.IntN(700_000_000); nsec >= 1e9 {
				sec, nsec = sec+1, nsec-1e9
			}
			s.call("write", sec, nsec)
		}
	}
	s.call("end")
	return s
}
