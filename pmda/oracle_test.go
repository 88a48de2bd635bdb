package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// TestMain makes this program the agent whoami when it is called by that name,
// so that a real collector can start it.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "pmdawhoami" {
		d := &pmda.Daemon{Name: "pmdawhoami", Domain: 401, KeepUser: true, New: func(domain int, log *slog.Logger) (pmda.Agent, error) {
			for flag := os.Getenv("WHOAMI_WAITS_FOR"); flag != ""; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(flag); err == nil {
					break
				}
			}
			return newWhoami(domain, log)
		}}
		d.Main()
	}
	leak.Main(m)
}

// A whoami returns to clients their own attributes, invents names, and panics on
// demand.
type whoami struct {
	*pmda.Table
	domain  int
	clients map[*pmda.Client]bool
	ended   uint32
	renamed bool // since it was last asked
}

func newWhoami(domain int, log *slog.Logger) (*whoami, error) {
	a := &whoami{domain: domain, clients: make(map[*pmda.Client]bool)}
	fmt.Println("a stray line on standard output") // Main has redirected it
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name: "whoami", Domain: domain, Log: log,
		Metrics: []pmda.Metric{
			{
				Item: 0, Type: pcp.TypeU32, Sem: pcp.SemCounter,
				Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(a.ended), nil },
			},
			{
				Item: 1, Type: pcp.Type32, Sem: pcp.SemInstant,
				Value: func(int32, int) (pcp.Value, error) { panic("asked to") },
			},
			{
				Item: 2, Type: pcp.Type32, Sem: pcp.SemInstant,
				Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(0), nil },
				Store: func(*pmda.Client, int32, int, pcp.Value) error { a.renamed = true; return nil },
			},
			{
				Item: 3, Type: pcp.Type32, Sem: pcp.SemDiscrete,
				Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(0), nil },
				Store: func(client *pmda.Client, _ int32, _ int, _ pcp.Value) error {
					if uid, ok := client.UserID(); !ok || uid != os.Getuid() {
						return pcp.ErrPermission
					}
					return nil
				},
			},
			// Item 100+k is the attribute k.
			{Item: 100 + int(pmda.AttrUserID), Type: pcp.TypeString, Sem: pcp.SemDiscrete},
			{Item: 100 + int(pmda.AttrGroupID), Type: pcp.TypeString, Sem: pcp.SemDiscrete},
			{Item: 100 + int(pmda.AttrProcessID), Type: pcp.TypeString, Sem: pcp.SemDiscrete},
		},
		Value: func(req *pmda.FetchRequest, m *pmda.Metric, _ int32, _ int) (pcp.Value, error) {
			if !a.clients[req.Client] {
				return pcp.Value{}, pcp.ErrValue // its attributes did not come first
			}
			return pcp.StringValue(req.Client.Attrs[pmda.AttrKey(m.Item-100)]), nil
		},
	})
	return a, err
}

func (a *whoami) Attribute(_ context.Context, c *pmda.Client, key pmda.AttrKey, value string) error {
	a.clients[c] = true
	return nil
}

func (a *whoami) Changes() (names, labels bool) {
	names, a.renamed = a.renamed, false
	return names, names
}

func (a *whoami) EndContext(c *pmda.Client) {
	delete(a.clients, c)
	a.ended++
}

var whoamiNames = []string{"ended", "panic", "attr.a111", "attr.a112", "attr.a114"}

func (a *whoami) LookupName(_ context.Context, name string) (pcp.PMID, error) {
	name, ok := strings.CutPrefix(name, "whoami.")
	item := 0
	switch {
	case !ok || !slices.Contains(whoamiNames, name):
		return pcp.PMIDNull, pcp.ErrName
	case name == "panic":
		item = 1
	case name != "ended":
		fmt.Sscanf(name, "attr.a%d", &item)
	}
	return pcp.NewPMID(a.domain, 0, item), nil
}

func (a *whoami) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	for _, n := range whoamiNames {
		if got, _ := a.LookupName(ctx, "whoami."+n); got == id {
			return []string{"whoami." + n, "whoami.also." + n}, nil
		}
	}
	return nil, pcp.ErrPMID
}

func (a *whoami) Children(_ context.Context, name string, traverse bool) ([]pmns.Child, error) {
	var list []pmns.Child
	for _, n := range whoamiNames {
		full := "whoami." + n
		if traverse && (full == name || strings.HasPrefix(full, name+".")) {
			list = append(list, pmns.Child{Name: full, Leaf: true})
		}
		if rest, ok := strings.CutPrefix(full, name+"."); ok && !traverse {
			first, _, more := strings.Cut(rest, ".")
			if c := (pmns.Child{Name: first, Leaf: !more}); !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	if list == nil {
		return nil, pcp.ErrName
	}
	return list, nil
}

// startWhoami starts a C collector with this program as its agent whoami.
func startWhoami(t *testing.T) *oracle.PMCD {
	t.Helper()
	oracle.Require(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "pmdawhoami")
	if err := os.Symlink(self, agent); err != nil {
		t.Fatal(err)
	}
	return oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{"whoami 401 pipe binary " + agent + " -d 401"},
		PMNS:   "root {\n\twhoami\t401:*:*\n}\n",
	})
}

// TestOracleChanges has a client of the C collector learn of a change.
func TestOracleChanges(t *testing.T) {
	d := startWhoami(t)
	c, err := pmapi.Dial(t.Context(), d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := pcp.NewPMID(401, 0, 2)
	res := new(pcp.Result)
	fetch := func(want pmapi.Changes) {
		t.Helper()
		got, err := c.FetchInto(t.Context(), []pcp.PMID{id}, res)
		if got != want || err != nil {
			t.Errorf("a fetch brings the changes %#x, %v, want %#x", got, err, want)
		}
	}
	fetch(0)
	err = c.Store(t.Context(), &pcp.Result{Sets: []pcp.ValueSet{{PMID: id, Values: []pcp.Value{pcp.Int32Value(1)}}}})
	if err != nil {
		t.Fatal(err)
	}
	fetch(pmapi.NamesChange | pmapi.LabelChange)
	fetch(0)
}

// TestOracleStoreByUser has an agent that lets only its own user store. The C
// collector names the user of a client by its Unix socket, but not by TCP.
func TestOracleStoreByUser(t *testing.T) {
	d := startWhoami(t)
	for spec, want := range map[string]error{d.Unix: nil, d.TCP: pcp.ErrPermission} {
		c, err := pmapi.Dial(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		id := pcp.NewPMID(401, 0, 3)
		err = c.Store(t.Context(), &pcp.Result{Sets: []pcp.ValueSet{{PMID: id, Values: []pcp.Value{pcp.Int32Value(1)}}}})
		if !errors.Is(err, want) {
			t.Errorf("a store by way of %s: %v, want %v", spec, err, want)
		}
		c.Close()
	}
}

// TestOracleWhoami tests features under the C collector that other tests do not:
// attributes of clients, the end of clients, dynamic names, a panic.
func TestOracleWhoami(t *testing.T) {
	d := startWhoami(t)
	run := func(want string, tool string, args ...string) {
		t.Helper()
		out := d.Run(t, tool, args...)
		if got := out.Stdout + out.Stderr; got != want {
			t.Errorf("%s %s prints\n%s\nwant\n%s", tool, strings.Join(args, " "), got, want)
		}
	}
	unix := []string{"-h", d.Unix}
	with := func(args ...string) []string { return append(slices.Clone(unix), args...) }

	run("whoami.ended\nwhoami.panic\nwhoami.attr.a111\nwhoami.attr.a112\nwhoami.attr.a114\n", "pminfo", with("whoami")...)
	run("whoami.attr.a111\nwhoami.attr.a112\nwhoami.attr.a114\n", "pminfo", with("whoami.attr")...)
	run("Error: whoami.no: Unknown metric name\n", "pminfo", with("-f", "whoami.no")...)
	run("\nwhoami.attr.a111\n    value \"0\"\n\nwhoami.attr.a112\n    value \"0\"\n", "pminfo", with("-f", "whoami.attr.a111", "whoami.attr.a112")...)
	run("\nwhoami.panic\nError: Generic error, already reported above\n", "pminfo", with("-f", "whoami.panic")...)
	run("whoami.attr.a111 1 \"0\"\n", "pmprobe", with("-v", "whoami.attr.a111")...)
	// Each client so far has gone, and the collector has notified the agent.
	run("whoami.ended 1 6\n", "pmprobe", with("-v", "whoami.ended")...)

	log, err := os.ReadFile(filepath.Join(filepath.Dir(d.Log), "whoami.log"))
	if err != nil || !strings.Contains(string(log), `agent panicked request=FETCH panic="asked to" at="`) {
		t.Errorf("whoami.log: %v\n%s", err, log)
	}
	status := d.Run(t, "pminfo", "-f", "pmcd.agent.status")
	if !strings.Contains(status.Stdout, "inst [401 or \"whoami\"] value 0\n") {
		t.Errorf("pmcd.agent.status:\n%s", status.Stdout)
	}
}
