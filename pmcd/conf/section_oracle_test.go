package conf_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// A sectionMaker writes random [access] sections. It leaves out what the C
// collector judges wrongly: "unlimited connections", which it refuses; and a rule
// for the user "*" after others, for which it reads memory that it has not
// written.
type sectionMaker struct {
	*rand.Rand
	accounts map[string]bool // kinds that have a rule
}

func (m *sectionMaker) of(words ...string) string { return words[m.IntN(len(words))] }

func (m *sectionMaker) section() string {
	m.accounts = map[string]bool{}
	var b strings.Builder
	for range 1 + m.IntN(5) {
		b.WriteString(m.statement())
	}
	return b.String()
}

func (m *sectionMaker) statement() string {
	allow := m.of("allow", "disallow", "Allow")
	kind := m.of("", "", "", "hosts ", "host ", "user ", "users ", "group ", "groups ")
	var names []string
	for range 1 + m.IntN(1+m.IntN(3)) {
		names = append(names, m.name(strings.TrimSuffix(strings.TrimSpace(kind), "s")))
	}
	text := allow + " " + kind + strings.Join(names, m.of(", ", ",", " , ")) + m.of(" : ", ":") + m.ops(allow) + m.of(";\n", " ; ", ";")
	if m.IntN(40) == 0 { // a mistake
		i := m.IntN(len(text))
		text = text[:i] + m.of(":", ",", ";", " all ", "x", "") + text[i+1:]
		text = strings.ReplaceAll(text, `"`, "") // which would continue into other lines
		text += ";\n"
	}
	return text
}

func (m *sectionMaker) name(kind string) string {
	if kind == "user" || kind == "group" {
		name := m.of("root", "root", "daemon", "games", "no-such-one", "*")
		if name == "*" && m.accounts[kind] {
			name = "root"
		}
		m.accounts[kind] = true
		return name
	}
	return m.of("*", `"*"`, ".*", `".*"`, `":*"`, `"local:*"`, `"local:"`, `"unix:"`, `"unix:*"`, `"unix:/run/x"`, "localhost", "LOCALHOST",
		"127.0.0.1", `"::1"`, "10.*", "10.1.*", "10.1.2.*", "10.1.2.3", "10.1.2.3", "10.2*", "10..*", "10.1.2.3.*", "10.300.*", "10*",
		"1.*.2", "..*", `"fe80:*"`, `"fe80::*"`, `"fe80:1:*"`, `"::*"`, `"1:2:3:4:5:6:7:*"`, `"1:2:3:4:5:6:7:8:*"`, `"fe8z:*"`,
		`"fe80:::*"`, `"fe80::1:*"`, `"::1:*"`, `"1::2:3:*"`, `"::ffff:10.1.2.3"`, `"2001:db8::1"`, `"local:/x"`, "no-such-host.invalid")
}

func (m *sectionMaker) ops(allow string) string {
	ops := m.of("all", "all", "fetch", "store", "store", "fetch, store", "store,fetch", "all except store", "all except fetch", "ALL EXCEPT Store, fetch", "all except all", "fetch, all")
	if !strings.EqualFold(allow, "disallow") && m.IntN(4) == 0 || m.IntN(40) == 0 {
		ops += ", maximum " + m.of("1", "2", "2", "100", "0", "x") + " connections"
	}
	return ops
}

var (
	stamp       = regexp.MustCompile(`(?m)^\[[^]]*\] pmcd\(\d+\)`)
	accessTrace = regexp.MustCompile(`(?m)^(HOST|USER|GROUP) ACCESS: .*\n`)
)

// TestAccessSectionsLikeTheRealOne has pmcd -v read many sections: its messages
// and the resulting rules must be ours, too.
func TestAccessSectionsLikeTheRealOne(t *testing.T) {
	oracle.Require(t)
	n := longtest.N(300, 5000)
	path := filepath.Join(t.TempDir(), "pmcd.conf")
	good := 0
	for seed := range uint64(n) {
		m := &sectionMaker{Rand: rand.New(rand.NewPCG(seed, 20))}
		text := "a 2 dso x /y\n[access]\n" + m.section()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out := oracle.Run(t, "pmcd", "-v", "-D", "appl1", "-c", path)
		said, table, _ := strings.Cut(out.Stderr, "\nHost access list")
		want := fmt.Sprintf("status %d\n%s", out.Exit, accessTrace.ReplaceAllString(said, ""))

		file, err := conf.ReadFile(path)
		status, msg, rules := 0, "", ""
		if err != nil {
			msg = err.Error() + "\n"
			if !err.(*conf.Error).Harmless {
				status = 1
			}
		}
		if file == nil {
			table = "" // regardless of the real one's output by then
		} else {
			rules = file.Access.Describe()
			table = "Host access list" + strings.TrimSuffix(table, "\n")
			good++
		}
		want += table
		got := fmt.Sprintf("status %d\n%s%s", status, msg, rules)
		if d := cmp.Diff(plain(want), plain(got)); d != "" {
			t.Errorf("seed %d:\n%s(-real +ours)\n%s", seed, text, d)
			if seed > 2000 {
				break
			}
		}
	}
	if good < n/6 {
		t.Errorf("only %d of %d sections are good", good, n)
	}
	t.Logf("%d sections, %d of them good", n, good)
}

// plain removes the time and the process.
func plain(log string) string { return stamp.ReplaceAllString(log, "[] pmcd(0)") }
