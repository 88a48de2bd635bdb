package options

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/helpfile"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

// localOptions returns the options of a tool on a host with these files: the
// collector's configuration and the name space, "" for none.
func localOptions(t testing.TB, conf, names string, args ...string) (o *Options, stderr *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	pcpConf := ""
	for name, text := range map[string]string{"pmcd.conf": conf, "root": names} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]string{
		"PCP_PMCDCONF_PATH": dir + "/pmcd.conf", "PCP_VAR_DIR": dir, "PCP_PMDAS_DIR": dir + "/pmdas", "PCP_SYSCONF_DIR": dir,
	} {
		pcpConf += name + "=" + path + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "pcp.conf"), []byte(pcpConf), 0o644); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"PCP_CONF": dir + "/pcp.conf"}
	if names != "" {
		vars["PMNS_DEFAULT"] = dir + "/root"
	}
	stderr = new(bytes.Buffer)
	return Parse(&getopt.Program{
		Stdout: new(bytes.Buffer), Stderr: stderr,
		Options: []getopt.Option{getopt.OptLocalPMDA, getopt.OptSpecLocal, getopt.OptNameSpace},
		Config:  config.New(func(name string) string { return vars[name] }),
	}, append([]string{"tool"}, args...)), stderr
}

// TestLocalWithoutPCP has no files of an installation at all, and no settings with
// their paths.
func TestLocalWithoutPCP(t *testing.T) {
	o, stderr := localOptions(t, "x 1 pipe\n", "", "-L")
	none := filepath.Join(t.TempDir(), "none")
	if err := o.loadLocalFrom(none, false, none); err != nil {
		t.Fatal(err)
	}
	if msg := o.SpecLocal("add,253,pmda_simple,simple_init"); msg != nil {
		t.Error(msg)
	}
	o.Program().Config = config.New(func(name string) string { return map[string]string{"PCP_VAR_DIR": none}[name] })
	if names := o.localNames(); names != nil {
		t.Error("a name space that is not there is looked for")
	}
	var agents []pmapi.LocalAgent
	for _, d := range o.local.list {
		b, _ := d.find(none)
		a, err := b.Open(builtin.Env{Domain: d.domain, Form: builtin.AsDSO})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, pmapi.LocalAgent{Name: b.Name, Domain: d.domain, Agent: a})
	}
	c, err := pmapi.OpenLocal(agents...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"simple.color", "kernel.all.load"} {
		if _, err := c.LookupName(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error: %s", stderr)
	}
}

// TestLocalMissing names files that are not there: no values, as in C.
func TestLocalMissing(t *testing.T) {
	o, _ := localOptions(t, "", "", "-L")
	if _, err := o.OpenLocal(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without pmcd.conf: %v", err)
	}
	o, stderr := localOptions(t, "simple 253 dso simple_init /x/pmda_simple.so\n", "root {}\n", "-L")
	root := o.Program().Config.Getenv("PMNS_DEFAULT")
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	c, err := o.OpenLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if stderr.Len() > 0 {
		t.Errorf("before a name is looked up: %s", stderr)
	}
	if _, err := c.LookupName(t.Context(), "simple.color"); !errors.Is(err, pcp.ErrNoPMNS) {
		t.Errorf("LookupName: %v", err)
	}
	if _, err := c.Children(t.Context(), ""); !errors.Is(err, pcp.ErrNoPMNS) {
		t.Errorf("Children: %v", err)
	}
	if _, err := c.NameID(t.Context(), pcp.NewPMID(253, 0, 0)); !errors.Is(err, pcp.ErrNoPMNS) {
		t.Errorf("NameID: %v", err)
	}
	if n := strings.Count(stderr.String(), "Error Parsing ASCII PMNS: Cannot open"); n != 3 {
		t.Errorf("%d messages, want one for each look-up: %s", n, stderr)
	}
	if _, err := c.LookupDesc(t.Context(), pcp.NewPMID(253, 0, 0)); err != nil {
		t.Errorf("a metric by its number: %v", err)
	}
	// It may come.
	if err := os.WriteFile(root, []byte("root {\n color 253:0:1\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LookupName(t.Context(), "color"); err != nil {
		t.Error(err)
	}
}

// TestLocalNotBuilt has the settings of an installation whose name space was never built: the
// names are those of the agents.
func TestLocalNotBuilt(t *testing.T) {
	o, stderr := localOptions(t, "simple 253 dso simple_init /x/pmda_simple.so\n", "", "-L")
	c, err := o.OpenLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(t.Context(), "simple.color")
	if want := pcp.NewPMID(253, 0, 1); err != nil || ids[0] != want {
		t.Errorf("LookupName = %v, %v, want %v", ids, err, want)
	}
	if _, err := c.LookupName(t.Context(), "kernel.all.load"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("a name of no agent: %v, want %v", err, pcp.ErrName)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error: %s", stderr)
	}
}

// TestLocalSilent has files of programs that have gone, and damaged ones: a tool
// prints nothing about them.
func TestLocalSilent(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mmv", "bad"), []byte("MMV\x00\x03\x00\x00\x00"+strings.Repeat("a", 60)), 0o644); err != nil {
		t.Fatal(err)
	}
	o, stderr := localOptions(t, "mmv 70 dso mmv_init mmv/pmda_mmv.so\n", "root {\n mmv 70:*:*\n}\n", "-L")
	before := o.Program().Config
	o.Program().Config = config.New(func(name string) string {
		if name == "PCP_TMP_DIR" {
			return dir
		}
		return before.Getenv(name)
	})
	c, err := o.OpenLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.LookupName(t.Context(), "mmv.control.reload"); err != nil {
			t.Error(err)
		}
		for _, err := range c.Traverse(t.Context(), "mmv") {
			if err != nil {
				t.Error(err)
			}
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error: %s", stderr)
	}
}

// TestLocalConf takes the agents from a configuration, which -K changes.
func TestLocalConf(t *testing.T) {
	const conf = "# Name Id IPC\npmcd 2 dso pmcd_init /x/pmda_pmcd.so\nproc 3 pipe binary /x/pmdaproc\n" +
		"linux 60 pipe binary /x/pmdalinux\npmproxy 4 dso pmproxy_init /x/pmda_mmv.so\nbpf 157 dso bpf_init /x/pmda_bpf.so\n" +
		"simple 253 dso simple_init /x/pmda_simple.so\nsample 29 pipe binary /x/pmdasample\nodd\nworse 1x dso\n[access]\nallow \"local:*\" : all;\n"
	const names = "root {\n kernel\n color 253:0:1\n count 157:0:0\n}\nkernel {\n ncpu 60:0:32\n}\n"
	f := func(want, stderr string, args ...string) {
		t.Helper()
		o, errs := localOptions(t, conf, names, append([]string{"-L"}, args...)...)
		if status, exit := o.Done(); exit {
			t.Errorf("%q: exit status %d: %s", args, status, errs)
			return
		}
		c, err := o.OpenLocal(t.Context())
		if err != nil {
			t.Errorf("%q: %v", args, err)
			return
		}
		defer c.Close()
		got := describe(t.Context(), c, "kernel.ncpu") + describe(t.Context(), c, "color") + describe(t.Context(), c, "count")
		if got != want || !strings.Contains(errs.String(), stderr) || stderr == "" && errs.Len() > 0 {
			t.Errorf("%q: %s and %s, want %s and %q", args, got, errs, want, stderr)
		}
	}
	const ok, none = "ok ", "No PMCD agent for domain of request "
	f(ok+ok+none, "cannot find DSO at") // reported on the first request
	f(none+none+none, "", "-K", "clear")
	f(none+ok+none, "cannot find DSO at", "-K", "del,60")
	f(ok+none+none, "cannot find DSO at", "-K", "del,,/x/pmda_simple.so")
	f(none+ok+none, "", "-K", "clear", "-K", "add,253,simple/pmda_simple,simple_init")
	f(none+none+none, `couldn't find init function "x_init" in DSO`, "-K", "clear", "-K", "add,253,pmda_simple.so,x_init")
	f(none+none+none, `cannot find DSO at "/none/x.so" or "/none/x"`, "-K", "clear", "-K", "add,253,/none/x,x_init")
	f(none+none+none, "invalid ELF header", "-K", "clear", "-K", "add,253,/etc/passwd,x_init")
	f(none+none+none, `cannot find DSO at "pmda_pmcd.so" or "pmda_pmcd"`, "-K", "clear", "-K", "add,2,pmda_pmcd,pmcd_init")
}

func describe(ctx context.Context, c *pmapi.Context, name string) string {
	ids, err := c.LookupName(ctx, name)
	if err == nil {
		_, err = c.LookupDesc(ctx, ids[0])
	}
	if err != nil {
		return getopt.ErrText(err) + " "
	}
	return "ok "
}

func TestChangeLocal(t *testing.T) {
	f := func(spec, want string) {
		t.Helper()
		o, _ := localOptions(t, "linux 60 pipe\n", "")
		if got := o.changeLocal(spec); got != want {
			t.Errorf("%q: %q, want %q", spec, got, want)
		}
	}
	// More of them are in cmd/internal/testing/difftest, compared with the C
	// library.
	f("add,253,x,y", "")
	f("add,253,x,y,z", "")
	f("add, 253,x,y", "")
	f("add,253,,y", "")
	f("del,60", "")
	f("del,,nosuch", "__pmLocalPMDA: Unknown or illegal instance domain identifier")
	f("clear", "")
	f("clean", "bad op in spec")
	f("add,99999999999999999999,x,y", "bad domain in spec")
}

func FuzzLocal(f *testing.F) {
	f.Add("linux 60 pipe\nx 1 dso x_init /x", "add,1,x,y")
	f.Add("x 1 dso\n\x00", "del,,")
	f.Add("pmcd\nproc\n x 511 dso a b c", "clear")
	f.Fuzz(func(t *testing.T, conf, spec string) {
		list := parseLocal(conf, "/pmdas")
		o := &Sources{local: localTable{loaded: true, list: list}}
		before := len(list)
		if msg := o.changeLocal(spec); msg == "" && len(o.local.list) > before+1 {
			t.Errorf("%q made %d of %d", spec, len(o.local.list), before)
		}
		for _, d := range o.local.list {
			if d.domain < -1 || d.domain > 510 {
				t.Errorf("domain %d", d.domain)
			}
			if _, msg := d.find("/nonexistent"); strings.Contains(msg, "%!") {
				t.Error(fmt.Sprint(msg))
			}
		}
	})
}

// TestLocalHelp checks that the texts of an installed help file take precedence over those of the agent.
func TestLocalHelp(t *testing.T) {
	o, _ := localOptions(t, "simple 253 dso simple_init /x/pmdas/simple/pmda_simple.so\n", "root {\n\tsimple\n}\nsimple {\n\tcolor 253:0:1\n\tnow 253:2:4\n}\n", "-L")
	dir := filepath.Join(o.config().Get("PCP_PMDAS_DIR"), "simple")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := helpfile.Compiler{Lookup: pmns.New().Lookup}
	if err := c.Add(strings.NewReader("@ 253.0.1 hue of the site\nAs the site has it.\n"), "help"); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"help.dir": c.Dir(), "help.pag": c.Pag()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	local, err := o.OpenLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	f := func(id pcp.PMID, kind pcp.TextKind) string {
		t.Helper()
		text, err := local.LookupText(t.Context(), id, kind)
		if err != nil {
			t.Errorf("Text(%v): %v", id, err)
		}
		return text
	}
	color, now := pcp.NewPMID(253, 0, 1), pcp.NewPMID(253, 2, 4)
	if got, want := f(color, pcp.TextOneLine), "hue of the site"; got != want {
		t.Errorf("one line of %v is %q, not %q", color, got, want)
	}
	if got, want := f(color, pcp.TextHelp), "As the site has it."; got != want {
		t.Errorf("help of %v is %q, not %q", color, got, want)
	}
	if got := f(now, pcp.TextOneLine); got == "" {
		t.Errorf("%v, which the file does not have, has no text", now)
	}
}
