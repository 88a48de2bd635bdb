package cache

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// driver compiles the program that does the same with the C library.
func driver(t *testing.T) string {
	t.Helper()
	oracle.Require(t)
	path := filepath.Join(t.TempDir(), "drive")
	if out, err := exec.Command("cc", "-o", path, "testdata/drive.c", "-lpcp_pmda", "-lpcp").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no C compiler, or no headers of PCP: %v\n%s", err, out)
	}
	return path
}

// theirs runs a script with the C library, with dir as its PCP_VAR_DIR.
func theirs(t *testing.T, drive, dir, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "config", "pmda"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(drive, "100", "3")
	cmd.Env = append(oracle.Env(), "PCP_VAR_DIR="+dir)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("driver: %v\n%s", err, out)
	}
	return string(out)
}

func code(err error) int {
	if errors.Is(err, syscall.ENOENT) {
		return -int(syscall.ENOENT)
	}
	return int(pcp.Code(err))
}

func result(inst int32, err error) int {
	if err != nil {
		return code(err)
	}
	return int(inst)
}

// ours runs a script with a Cache.
func ours(t *testing.T, dir, script string) string {
	t.Helper()
	c := New[uintptr](pcp.NewInDom(100, 3), &Options{Dir: filepath.Join(dir, "config", "pmda")})
	var b bytes.Buffer
	unhex := func(s string) []byte {
		x, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for line := range strings.Lines(script) {
		f := append(strings.Fields(line), "", "", "", "")
		arg, _ := strconv.Atoi(f[1])
		tok, _ := strconv.Atoi(f[3])
		switch f[0] {
		case "store":
			var inst int32
			var err error
			switch name := string(unhex(f[1])); f[2] {
			case "2":
				inst, err = c.Store(name, uintptr(tok))
			case "3":
				inst, err = c.Hide(name)
			case "4":
				inst, err = c.Cull(name)
			}
			fmt.Fprintf(&b, "%s %d\n", f[0], result(inst, err))
		case "storekey":
			var key []byte
			if f[2] != "-" {
				key = unhex(f[2])
			}
			fmt.Fprintf(&b, "%s %d\n", f[0], result(c.StoreKey(string(unhex(f[1])), key, uintptr(tok))))
		case "lookup":
			if e, err := c.Lookup(int32(arg)); err != nil {
				fmt.Fprintf(&b, "%s %d - 0\n", f[0], code(err))
			} else {
				fmt.Fprintf(&b, "%s %d %s %d\n", f[0], e.State, e.Name, e.Value)
			}
		case "lookupname":
			e, err := c.LookupName(string(unhex(f[1])))
			if err == ErrShortName { // the C library answers for the short name
				short, _, _ := strings.Cut(string(unhex(f[1])), " ")
				e, err = c.LookupName(short)
			}
			if err != nil {
				fmt.Fprintf(&b, "%s %d -1 0\n", f[0], code(err))
			} else {
				fmt.Fprintf(&b, "%s %d %d %d\n", f[0], e.State, e.Inst, e.Value)
			}
		case "lookupkey":
			if e, err := c.LookupKey(unhex(f[1])); err != nil {
				fmt.Fprintf(&b, "%s %d -1 - 0\n", f[0], code(err))
			} else {
				fmt.Fprintf(&b, "%s %d %d %s %d\n", f[0], e.State, e.Inst, e.Name, e.Value)
			}
		case "op":
			var n int
			var err error
			switch arg {
			case 1:
				n, err = c.Load()
			case 4:
				n = c.CullAll()
			case 6:
				n, err = c.Save()
			case 7:
				err = c.Strings()
			case 8:
				n = c.ShowAll()
			case 9:
				n = c.HideAll()
			case 10:
				n = c.Size()
			case 11:
				n = c.Count(Active)
			case 12:
				n = c.Count(Inactive)
			case 13:
				c.Reuse()
			case 16:
				n = 1 // there is one
			case 17:
				c.Reorg()
			case 18:
				n, err = c.Sync()
			case 19:
				err = c.Dump(&b)
			case 20:
				err = c.DumpAll(&b)
			case 21:
				n, err = c.Write()
			}
			if err != nil {
				n = code(err)
			}
			fmt.Fprintf(&b, "%s %d %d\n", f[0], arg, n)
		case "purge":
			fmt.Fprintf(&b, "%s %d\n", f[0], c.Purge(time.Duration(arg)*time.Second, nil))
		case "resize":
			fmt.Fprintf(&b, "%s %d\n", f[0], code(c.Resize(int32(arg))))
		case "walk":
			fmt.Fprintf(&b, "%s", f[0])
			list, err := c.List(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range list {
				fmt.Fprintf(&b, " %d", i.Inst)
			}
			b.WriteByte('\n')
		default:
			t.Fatalf("no such line: %s", line)
		}
	}
	return b.String()
}

var (
	chains  = regexp.MustCompile(`(?m)^(inst hash|name hash| \[\d+\].*)\n`)
	message = regexp.MustCompile(`(?m)^\[.*\n`)
	recent  = regexp.MustCompile(`(?m)^(\d+) (\d{10}) `)
)

// stamped replaces the times in a file that are not before start.
func stamped(t *testing.T, dir string, start int64) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "config", "pmda", "100.3"))
	if err != nil {
		return err.Error()[:4]
	}
	return recent.ReplaceAllStringFunc(string(text), func(s string) string {
		f := strings.Fields(s)
		if at, _ := strconv.ParseInt(f[1], 10, 64); at >= start {
			return f[0] + " NOW "
		}
		return s
	})
}

// A scripter makes up operations. The C library loses its place when the last
// instance in its list is culled and the list is then tidied up. So a keyed
// script starts with a sentinel that has the largest number and stays. In other
// scripts numbers are given one after the other, and instances are not culled,
// or are culled and never tidied up.
type scripter struct {
	*rand.Rand
	b           strings.Builder
	names       []string
	token       int
	keyed, tidy bool
	stores      int
}

// sentinel is a key with a very large number; no other key sorts after it.
var sentinel = sync.OnceValue(func() []byte {
	best, most := []byte(nil), uint32(0)
	for i := range 100000 {
		k := []byte(fmt.Sprint(i))
		if n := Hash(k, 0) & maxInst; n > most {
			best, most = k, n
		}
	}
	return best
})

// low reports whether a key's number is below the sentinel's.
func low(key []byte) bool {
	h := uint32(0)
	for range 3 {
		if h = Hash(key, h); h&maxInst >= Hash(sentinel(), 0)&maxInst {
			return false
		}
	}
	return true
}

func (s *scripter) name() string {
	n := s.names[s.IntN(len(s.names))]
	if s.IntN(4) == 0 {
		n, _, _ = strings.Cut(n, " ")
	}
	return hex.EncodeToString([]byte(n))
}

func (s *scripter) key() []byte {
	for {
		k := make([]byte, 1+s.IntN(30))
		for i := range k {
			k[i] = byte(s.Uint32())
		}
		if s.IntN(3) == 0 { // the same key for some names
			k = []byte{0x80, byte(s.IntN(8))}
		}
		if low(k) {
			return k
		}
	}
}

func (s *scripter) line(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }

// step adds an operation.
func (s *scripter) step() {
	s.token++
	switch n := s.IntN(24); n {
	case 0, 1, 2, 3, 4, 5:
		if s.stores++; s.keyed || s.tidy || s.stores < 60 {
			s.line("store %s 2 %d", s.name(), s.token)
		}
	case 6, 7, 8, 9:
		if !s.keyed {
			return
		}
		name, key := s.name(), "-"
		if s.IntN(3) > 0 {
			key = hex.EncodeToString(s.key())
			if s.IntN(2) == 0 {
				s.line("lookupkey %s", key)
			}
		}
		s.line("storekey %s %s %d", name, key, s.token)
		if key != "-" {
			s.line("lookupkey %s", key)
		}
	case 10, 11:
		s.line("store %s 3 0", s.name())
	case 12, 13:
		if s.keyed || !s.tidy {
			s.line("store %s 4 0", s.name())
		}
	case 14, 15:
		s.line("lookupname %s", s.name())
	case 16:
		s.line("lookup %d", s.IntN(60))
	case 17:
		s.line("op %d", []int{8, 9, 9, 10, 11, 12, 16}[s.IntN(7)])
	case 19:
		s.line("op %d", []int{6, 18}[s.IntN(2)])
	case 20:
		if s.IntN(4) == 0 && (s.keyed || s.tidy) {
			s.line("op 13")
		}
	case 21:
		s.line("walk")
	case 22:
		s.line("op 19")
	default:
		switch s.IntN(8) {
		case 0:
			// Version 6 ignores the maximum when it hashes.
			if m := []int{-1, 5, 2147483646, 2147483647}[s.IntN(4)]; m != 2147483646 || !s.keyed {
				s.line("resize %d", m)
			}
		case 1:
			if s.keyed {
				s.line("op 17\npurge %d\nop 17", 1000000*(500+s.IntN(1200)))
			}
		case 2:
			s.line("op 7")
		default:
			if s.keyed || s.tidy {
				s.line("op 17")
			}
		}
	}
}

// TestOracleRandom runs the same random operations with both libraries and
// compares every result, the dumps, and the files.
func TestOracleRandom(t *testing.T) {
	drive := driver(t)
	start := time.Now().Unix()
	base := longtest.Seed(t)
	for round := range 40 {
		seed := base + uint64(round)
		s := &scripter{Rand: rand.New(rand.NewPCG(seed, 0)), keyed: round%2 == 0, tidy: round%4 == 1}
		s.names = append(s.names, "always there")
		for i := range 10 + s.IntN(200) {
			n := fmt.Sprintf("n%d", s.IntN(1+i))
			for range s.IntN(3) {
				n += fmt.Sprintf(" %c\xe9", 'a'+s.IntN(3))
			}
			if low([]byte(n)) {
				s.names = append(s.names, n)
			}
		}
		dirs := []string{t.TempDir(), t.TempDir()}
		stringy := round%8 == 7
		if stringy {
			s.line("op 7")
		}
		if s.IntN(2) == 0 {
			// A file from before, with old times; the last is kept.
			b := fmt.Sprintf("2 %d 2147483647\n", s.IntN(2))
			for i := range s.IntN(60) {
				b += fmt.Sprintf("%d %d", 3*i, s.IntN(1700000000)+1)
				if s.IntN(2) == 0 {
					b += fmt.Sprintf(" [80%02x%02x]", i, s.IntN(256))
				}
				b += fmt.Sprintf(" n%d old\n", i)
			}
			b += fmt.Sprintf("%d %d the very last\n", 200+s.IntN(5), start)
			for _, dir := range dirs {
				path := filepath.Join(dir, "config", "pmda", "100.3")
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(b), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.line("op 1")
		if s.keyed {
			s.line("storekey %x %x 7", "sentinel", sentinel())
		}
		for range 100 + s.IntN(700) {
			s.step()
		}
		s.line("op 20")
		s.line("op 18")
		s.line("op 20")
		script := s.b.String()
		want := theirs(t, drive, dirs[0], script)
		want = message.ReplaceAllString(chains.ReplaceAllString(want, ""), "")
		got := ours(t, dirs[1], script)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-theirs +ours):\n%s", seed, diff)
		}
		if diff := cmp.Diff(stamped(t, dirs[0], start), stamped(t, dirs[1], start)); diff != "" {
			t.Fatalf("seed %d, file (-theirs +ours):\n%s", seed, diff)
		}
		// Each reads the other's file.
		again := "op 1\nop 20\nstore 6e6577 2 1\nop 6\n"
		if stringy {
			again = "op 7\n" + again
		}
		want = message.ReplaceAllString(chains.ReplaceAllString(theirs(t, drive, dirs[1], again), ""), "")
		if got = ours(t, dirs[0], again); want != got {
			t.Fatalf("seed %d, reading each other's file (-theirs +ours):\n%s", seed, cmp.Diff(want, got))
		}
	}
}

// TestOracleHash compares the numbers of keys of every length.
func TestOracleHash(t *testing.T) {
	drive := driver(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range 300 {
		k := make([]byte, 1+i%60)
		for j := range k {
			k[j] = byte(rnd.Uint32())
		}
		fmt.Fprintf(&b, "storekey %x %x 0\n", fmt.Sprintf("k%d", i), k)
	}
	want := theirs(t, drive, t.TempDir(), b.String())
	if diff := cmp.Diff(want, ours(t, t.TempDir(), b.String())); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
}

// TestOracleFiles compares how files are read, and which are refused.
func TestOracleFiles(t *testing.T) {
	drive := driver(t)
	for _, text := range []string{
		"", "\n", "0 0 0\n", "1 0\n5 77 five\n", "1\n", "2 0\n", "2 2 7\n", "2 1 -1\n", "3 0 7\n", "x\n", "2 1 2147483647",
		"2 0 2147483647\n5 77 five\n6 0 six and more\n", "2 1 100\n  7 1   [0102ff]   seven up\n",
		"2 0 2147483647\n5 77\n", "2 0 2147483647\n5 77 \n", "2 0 2147483647\n\n",
		"2 0 2147483647\n5 77 five\n5 78 five\n3 1 three",
		"2 0 2147483647\n5 77 five\n5 77 other\n6 1 five\n7 1 five b\n",
	} {
		dirs := []string{t.TempDir(), t.TempDir()}
		script := "op 1\nop 19\nstore 6e6577 2 1\nop 19\n"
		for _, dir := range dirs {
			path := filepath.Join(dir, "config", "pmda", "100.3")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := theirs(t, drive, dirs[0], script)
		var kept []string
		for line := range strings.Lines(want) {
			if strings.HasPrefix(line, "op") || strings.HasPrefix(line, "store") || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "pmdaCacheDump") {
				kept = append(kept, line)
			}
		}
		want, got := strings.Join(kept, ""), ours(t, dirs[1], script)
		if strings.HasPrefix(want, "op 1 -") { // the instances read before the error may differ
			want, _, _ = strings.Cut(want, "\n")
			got, _, _ = strings.Cut(got, "\n")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-theirs +ours):\n%s", text, diff)
		}
	}
}
