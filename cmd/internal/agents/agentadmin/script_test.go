package agentadmin_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/agents/agentadmin"
	"github.com/go-pcp/pcp/cmd/internal/agents/agentcmd"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// TestMain makes this program act as the tool, one of our agents, or a faulty agent, by
// the name it is called by.
func TestMain(m *testing.M) {
	programs := map[string]func(){
		"pmdasilent":  silent,
		"pmdastuck":   stuck,
		"pmdachatter": chatter,
		"pmdaodd":     odd,
		"agent":       func() { os.Exit(tool(os.Args[1:], os.Getenv)) },
	}
	for _, c := range agentcmd.Commands() {
		programs[c.Link] = func() {
			os.Exit(c.Run(context.Background(), &cli.Env{
				Name: c.Link, Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Getenv: os.Getenv, Command: c,
			}))
		}
	}
	if len(os.Args) == 2 && os.Args[1] == "fake-pmcd" {
		fakeCollector()
		return
	}
	testscript.Main(m, programs)
}

func tool(args []string, getenv func(string) string) int {
	return agentadmin.Command.Run(context.Background(), &cli.Env{
		Name: "pcp agent", Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: getenv, Version: "test", Command: agentadmin.Command,
	})
}

// TestScripts runs the scripts in testdata/script; UPDATE=1 writes the outputs
// into them. Each has a collector with the agents pmcd and simple.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			socket, err := collect(env)
			if err != nil {
				return err
			}
			conf := "PCP_PMDAS_DIR=/var/lib/pcp/pmdas\nPCP_RUN_DIR=" + env.WorkDir + "\nPCP_PMCDCONF_PATH=" + env.WorkDir + "/pmcd.conf\n"
			if err := os.WriteFile(filepath.Join(env.WorkDir, "pcp.conf"), []byte(conf), 0o644); err != nil {
				return err
			}
			env.Setenv("PCP_CONF", filepath.Join(env.WorkDir, "pcp.conf"))
			env.Setenv("PMCD_SOCKET", socket)
			env.Setenv("PMCD_PORT", "1") // there is no other way to it
			env.Setenv("PMNS_DEFAULT", filepath.Join(env.WorkDir, "names"))
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mode": func(ts *testscript.TestScript, neg bool, args []string) {
				st, err := os.Stat(ts.MkAbs(args[0]))
				ts.Check(err)
				perm := uint32(st.Mode().Perm())
				if st.Mode()&fs.ModeSticky != 0 {
					perm |= 0o1000
				}
				if got := fmt.Sprintf("%o", perm); (got == args[1]) == neg {
					ts.Fatalf("mode of %s is %s", args[0], got)
				}
			},
			// plain removes the differences between files made in different places.
			"plain": func(ts *testscript.TestScript, _ bool, args []string) {
				text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "$WORK")
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
			},
		},
	})
}

// collect starts a collector for a script and returns its socket.
func collect(env *testscript.Env) (string, error) {
	dir, err := os.MkdirTemp("", "pcp") // the path of a socket must be short
	if err != nil {
		return "", err
	}
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	var specs []pmcd.AgentSpec
	for _, name := range []string{"pmcd", "simple"} {
		b, _ := agent.Named(name)
		specs = append(specs, pmcd.AgentSpec{Name: name, Domain: b.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			return b.Open(builtin.Env{Host: s.Host(), Version: "test"})
		}})
	}
	server, err := pmcd.New(pmcd.Config{Agents: specs, Listeners: []net.Listener{ln}, HostName: "testhost"})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	env.Defer(func() {
		cancel()
		if err := <-done; err != nil {
			env.T().Log("collector:", err)
		}
		os.RemoveAll(dir)
	})
	return socket, nil
}

// fakeCollector reports that it has received a SIGHUP.
func fakeCollector() {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	fmt.Println("ready")
	<-hup
	fmt.Println("SIGHUP")
}

// TestReload checks that the collector, and no other process, is notified of a changed
// configuration.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("pcp.conf", "PCP_RUN_DIR="+dir+"\nPCP_PMCDCONF_PATH="+dir+"/pmcd.conf\n")
	getenv := func(name string) string {
		if name == "PCP_CONF" {
			return dir + "/pcp.conf"
		}
		return ""
	}
	reload := func(args ...string) (string, int) {
		t.Helper()
		write("pmcd.conf", "a 400 pipe binary /bin/true\n")
		var b bytes.Buffer
		status := agentadmin.Command.Run(t.Context(), &cli.Env{
			Name: "pcp agent", Args: append(args, "--reload", "a"), Stdout: &b, Stderr: &b,
			Getenv: getenv, Command: agentadmin.Command,
		})
		return b.String(), status
	}
	refused := func(want string) {
		t.Helper()
		out, status := reload("disable")
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("disable --reload: status %d, %q; want 1 and %q", status, out, want)
		}
	}
	refused("none is running")
	write("pmcd.pid", "no number")
	refused("holds no number")
	write("pmcd.pid", "1")
	refused("holds no number")
	if runtime.GOOS == "linux" {
		sleeper := exec.Command("sleep", "1000")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		defer sleeper.Wait()
		defer sleeper.Process.Kill()
		write("pmcd.pid", strconv.Itoa(sleeper.Process.Pid))
		refused("is no collector")
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "fake-pmcd")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	buf := make([]byte, 6)
	if _, err := out.Read(buf); err != nil || string(buf) != "ready\n" {
		t.Fatalf("fake collector says %q, %v", buf, err)
	}
	write("pmcd.pid", strconv.Itoa(cmd.Process.Pid)+"\n")
	if out, status := reload("disable"); status != 0 {
		t.Fatalf("disable --reload: status %d, %q", status, out)
	}
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(out); err != nil || rest.String() != "SIGHUP\n" {
		t.Errorf("fake collector says %q, %v; want SIGHUP", rest.String(), err)
	}
	if err := await.Exit(t, cmd); err != nil {
		t.Error(err)
	}
}
