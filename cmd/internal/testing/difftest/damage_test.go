package difftest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/damage"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// damageReaders are the tools that TestDamageIsNotSilent gives damaged archives.
var damageReaders = []string{"pmdumplog", "pmval", "pmlogsummary", "pmlogreduce", "pmlogextract"}

// A victim is an archive that is damaged.
type victim struct {
	*damage.Archive
	name    string
	metrics []string
	span    float64
}

// knownDamage was once passed over in silence, or made a tool of ours panic.
var knownDamage = map[string][]damage.Damage{
	"omnibus_v3":     {{File: ".0", Kind: damage.Zero, At: 51492, N: 163}, {File: ".meta", Kind: damage.Write, At: 3248, Bytes: "\x7f\x80\x02\x1e"}},
	"sample-labels":  {{File: ".0", Kind: damage.Write, At: 16, Bytes: "\x7f\xff\xff\x00"}},
	"20190628.04.03": {{File: ".1.xz", Kind: damage.Flip, At: 1235, Bytes: "\x01"}},
	"ok-mv-bar":      {{File: ".3", Kind: damage.Delete, At: 40, N: 4}, {File: ".0", Kind: damage.Write, At: 140, Bytes: "\xfe"}},
	"ok-mv-bar.gz":   {{File: ".1.gz", Kind: damage.Cut, At: 64}, {File: ".0.gz", Kind: damage.Cut, At: 0}},
	"ok-mv-bar.bz2":  {{File: ".3.bz2", Kind: damage.Flip, At: 216, Bytes: "\x10"}, {File: ".0.bz2", Kind: damage.Cut, At: 0}},
	"ok-foo":         {{File: ".meta", Kind: damage.Cut, At: 136}, {File: ".0", Kind: damage.Flip, At: 141, Bytes: "\x10"}},
}

// victims copies archives of the suite: of both versions, of one volume and of
// several, plain and compressed by each of the formats.
func victims(t *testing.T) []*victim {
	t.Helper()
	var list []*victim
	for _, v := range []struct {
		name     string
		compress []string // suffix of the compressed names; all files but the index
	}{
		{"ok-foo", nil},
		{"omnibus_v3", nil},
		{"sample-labels", nil},
		{"ok-mv-bar", nil},
		{"20190628.04.03", nil}, // .xz
		{"ok-mv-bar", []string{"gzip", ".gz"}},
		{"ok-mv-bar", []string{"bzip2", ".bz2"}},
		{"omnibus_v3", []string{"gzip", ".gz"}}, // .zst this C library does not know
	} {
		a, err := damage.Copy(t.TempDir(), filepath.Join(suiteDir, "archives", v.name))
		if err != nil {
			t.Skip("SKIPPED: the QA suite of PCP is not installed: ", err)
		}
		name := v.name
		if v.compress != nil {
			path, err := exec.LookPath(v.compress[0])
			if err != nil {
				t.Logf("SKIPPED: no %s", v.compress[0])
				continue
			}
			name += v.compress[1]
			for _, file := range a.Files {
				if file == ".index" {
					continue
				}
				if out, err := exec.Command(path, "-q", a.Base+file).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", path, err, out)
				}
				os.Remove(a.Base + file) // zstd leaves it
			}
			if a, err = damage.Copy(t.TempDir(), a.Base); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, open(t, name, a))
	}
	return list
}

func open(t *testing.T, name string, files *damage.Archive) *victim {
	t.Helper()
	v := &victim{Archive: files, name: name}
	a, err := archive.Open(v.Base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, d := range a.Meta().Descs() {
		if n := a.Meta().Names(d.PMID); len(n) > 0 && d.Type != pcp.TypeNoSupport {
			v.metrics = append(v.metrics, n[0])
		}
	}
	end, err := a.End()
	if err != nil {
		t.Fatal(err)
	}
	v.span = max(1, end.Sub(a.Label().Start))
	return v
}

// args draws arguments for a tool. Its output goes to out.
func (v *victim) args(rnd *rand.Rand, tool, out string) []string {
	step := fmt.Sprintf("%.3f", max(v.span/[]float64{5, 20, 60}[rnd.IntN(3)], 0.01))
	switch tool {
	case "pmdumplog":
		return []string{"-z", "-a", v.Base}
	case "pmval":
		metric := v.metrics[rnd.IntN(len(v.metrics))]
		switch rnd.IntN(4) {
		case 0:
			return []string{"-z", "-U", v.Base, metric}
		case 1:
			return []string{"-z", "-a", v.Base, "-t", step, "-r", metric}
		}
		return []string{"-z", "-a", v.Base, "-t", step, metric}
	case "pmlogsummary":
		return []string{"-z", "-alIm", v.Base}
	case "pmlogreduce":
		return []string{"-t", step, v.Base, out}
	}
	return []string{v.Base, out}
}

// An answer is the result of a tool for an archive.
type answer struct {
	result
	files map[string]string // its output files
}

// complains reports whether the tool reported an error.
func (a answer) complains() bool { return a.status != 0 || a.stderr != "" }

// warned are messages that have nothing to do with damage.
func (a *answer) strip() {
	var kept strings.Builder
	for line := range strings.Lines(a.stderr) {
		if !strings.Contains(line, "EVENT metric") {
			kept.WriteString(line)
		}
	}
	a.stderr = kept.String()
}

func collect(out string) map[string]string {
	files := make(map[string]string)
	paths, _ := filepath.Glob(out + ".*")
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil {
			if len(b) >= 12 {
				copy(b[8:12], "PID.") // in the label
			}
			files[filepath.Base(p)] = string(b)
		}
		os.Remove(p)
	}
	return files
}

// ask has a tool read an archive. Some damage makes those of C loop for ever, or
// crash; ours must do neither.
func ask(t *testing.T, whose bool, tool string, args []string, out string) answer {
	t.Helper()
	limit := 20 * time.Second
	if whose == sideOurs {
		limit = 2 * time.Minute
	}
	a := answer{result: resultOf(twin.Call{Tool: tool, Args: args, KillAfter: limit}.Run(t, whose))}
	a.strip()
	a.files = collect(out)
	return a
}

// crashed reports whether a tool of ours panicked, or did not end.
func (a answer) crashed() bool { return a.status < 0 || strings.Contains(a.stderr, "\ngoroutine ") }

// silent names the reasons why ours may print nothing where the C tool
// complains. The program can check each reason; whole is our output for the
// archive before it was damaged.
var silent = []struct {
	why string
	ok  func(d damage.Damage, theirs, ours, whole answer) bool
}{
	{"the C tool dies", func(_ damage.Damage, theirs, _, _ answer) bool { return theirs.status < 0 }},
	{
		"the C tool exits with 0, and the answer is that of the whole archive: what is damaged is not needed for it",
		func(_ damage.Damage, theirs, ours, whole answer) bool {
			return theirs.status == 0 && ours.stdout == whole.stdout && maps.Equal(ours.files, whole.files)
		},
	},
	{
		"the answer is that of the whole archive: bzip2 refuses code tables that are of no use, with ours the check sum decides",
		func(d damage.Damage, _, ours, whole answer) bool {
			return strings.HasSuffix(d.File, ".bz2") && ours.stdout == whole.stdout && maps.Equal(ours.files, whole.files)
		},
	},
	{
		"the answer is that of the whole archive: where the temporal index leads astray we read on, the C library believes it",
		func(d damage.Damage, _, ours, whole answer) bool {
			return strings.HasPrefix(d.File, ".index") && ours.stdout == whole.stdout && maps.Equal(ours.files, whole.files)
		},
	},
}

// TestDamageIsNotSilent damages archives at random: flips bits, overwrites,
// zeroes, removes and inserts bytes, and cuts, in the volumes, the metadata and the index.
// Wherever the C tool fails or reports an error ours does too, except for the reasons in
// silent; and none of ours panics or hangs.
//
// By default there are few; with PCP_TEST_LONG=1 there are 2,000, of another seed
// with PCP_TEST_SEED.
func TestDamageIsNotSilent(t *testing.T) {
	oracle.Require(t)
	seed := longtest.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	list := victims(t)
	n := longtest.N(96, 2000) / len(list)
	counts := make(map[string]int)
	for _, v := range list {
		out := filepath.Join(t.TempDir(), "out")
		whole := make(map[string]answer)
		for _, d := range append(slices.Clone(knownDamage[v.name]), v.Draw(seed, n)...) {
			if err := v.Apply(d); err != nil {
				t.Fatal(err)
			}
			for _, tool := range damageReaders {
				args := v.args(rnd, tool, out)
				what := fmt.Sprintf("%s %v: %s %q", v.name, d, tool, args)
				theirs, ours := ask(t, sideC, tool, args, out), ask(t, sideOurs, tool, args, out)
				counts["runs"]++
				switch {
				case ours.crashed():
					t.Errorf("%s: exit status %d: %s", what, ours.status, ours.stderr)
				case theirs.complains() && ours.complains():
					counts["both complain"]++
				case ours.complains():
					counts["ours alone complains"]++
				case !theirs.complains():
					counts["neither complains"]++
				default:
					key := strings.Join(append(args, tool), " ")
					if _, ok := whole[key]; !ok {
						if err := v.Restore(); err != nil {
							t.Fatal(err)
						}
						whole[key] = ask(t, sideOurs, tool, args, out)
						if err := v.Apply(d); err != nil {
							t.Fatal(err)
						}
					}
					i := slices.IndexFunc(silent, func(s struct {
						why string
						ok  func(d damage.Damage, theirs, ours, whole answer) bool
					},
					) bool {
						return s.ok(d, theirs, ours, whole[key])
					})
					if i < 0 {
						t.Errorf("%s: the C tool exits with %d and says %q, ours says nothing", what, theirs.status, theirs.stderr)
						continue
					}
					counts[silent[i].why]++
				}
			}
			if err := v.Restore(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%d: %s", counts[what], what)
	}
}
