package options_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/timecontrol"
	"github.com/go-pcp/pcp/options"
)

// parse returns the options of a program with an archive "store" in dir.
func parse(t *testing.T, dir string, args ...string) (o *options.Options, stdout *bytes.Buffer) {
	t.Helper()
	stdout = new(bytes.Buffer)
	o = options.Parse(&getopt.Program{
		Options: getopt.General, Stdout: stdout, Stderr: stdout, QuietZone: true,
		Config: config.New(func(name string) string { return map[string]string{"TZ": "UTC", "PCP_CONF": "/dev/null"}[name] }),
	}, append([]string{"tool", "-a", filepath.Join(dir, "store")}, args...))
	if status, exit := o.Done(); exit {
		t.Fatalf("%q: status %d: %s", args, status, stdout)
	}
	return o, stdout
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	newArchive(t, filepath.Join(dir, "store"), "cellar", noon)
	f := func(args, metric, want string) {
		t.Helper()
		o, _ := parse(t, dir, strings.Fields(args)...)
		c, err := o.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var got []string
		for s, err := range o.Watch(t.Context(), c, metric) {
			text := s.Time.Time().In(o.Zone).Format("15:04:05")
			for _, v := range s.Values {
				text += fmt.Sprint(" ", v.Value.Float())
			}
			if err != nil {
				text += " " + getopt.ErrText(err)
			}
			got = append(got, text)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", args, s, want)
		}
	}
	f("-s 2", "store.flow", "12:00:00 0, 12:00:01 1")
	f("-s 0", "store.flow", "")
	f("-s 2 -Z EST5EDT", "store.flow", "07:00:00 0, 07:00:01 1")
	f("-t 4", "store.flow", "12:00:00 0, 12:00:04 16, 12:00:08 64")
	f("-t 4 -S +1sec -T +5sec", "store.flow", "12:00:01 1, 12:00:05 25")
	f("-t 2 -O +6sec", "store.flow,rate", "12:00:06, 12:00:08 14, 12:00:10 18")
	f("-s 1", "store.none", "00:00:00 Unknown metric name")
}

// TestWatchControl has a time control determine when samples are taken.
func TestWatchControl(t *testing.T) {
	dir := t.TempDir()
	newArchive(t, filepath.Join(dir, "store"), "cellar", noon)
	l, err := timecontrol.Listen(0, 43400)
	if err != nil {
		t.Fatal(err)
	}
	server := timecontrol.NewServer(timecontrol.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	buttons := server.Control(timecontrol.Archive)
	buttons.SetMode(timecontrol.StepMode)

	o, stdout := parse(t, dir, "-p", strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "-t", "2")
	c, err := o.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	shown := make(chan string)
	ended := make(chan error, 1)
	go func() {
		var last error
		for s, err := range o.Watch(t.Context(), c, "store.flow") {
			if last = err; err == nil {
				shown <- fmt.Sprintln(s.Time.Time().In(o.Zone).Format("15:04:05"), s.Values[0].Value.Float())
			}
		}
		ended <- last
	}()
	step := func(want string) {
		t.Helper()
		select {
		case got := <-shown:
			if strings.TrimSpace(got) != want {
				t.Errorf("%q, want %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("there is no %q", want)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); buttons.Report().Followers == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing follows")
		}
	}
	buttons.Play()
	step("12:00:02 4")
	buttons.Play()
	step("12:00:04 16")
	buttons.SetPosition(pcp.Timestamp{Sec: noon + 1})
	buttons.Play()
	step("12:00:03 9")
	buttons.SetZone("EST5EDT", "there")
	buttons.Play()
	step("07:00:05 25")
	buttons.SetPosition(pcp.Timestamp{Sec: noon})
	buttons.Play()
	step("07:00:02 4")
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, options.ErrControlGone) {
			t.Errorf("the last error is %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"new timezone: EST5EDT (there)", "[Time Control] Repositioned in archive"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("it printed %q, without %q", stdout, want)
		}
	}
}

// TestOpenAll opens all archives of a program that is Multi.
func TestOpenAll(t *testing.T) {
	dir := t.TempDir()
	newArchive(t, filepath.Join(dir, "store"), "cellar", noon)
	newArchive(t, filepath.Join(dir, "attic"), "roof", noon+60)
	o := options.Parse(&getopt.Program{
		Options: getopt.General, Multi: true, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
		Config: config.New(func(string) string { return "" }),
	}, []string{"tool", "-z", "-a", dir + "/store", "-a", dir + "/attic"})
	list, err := o.OpenAll(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d contexts, %v", len(list), err)
	}
	for i, want := range []string{"cellar", "roof"} {
		if host, err := list[i].HostName(t.Context()); host != want || err != nil {
			t.Errorf("context %d is of %s (%v), want %s", i, host, err, want)
		}
		list[i].Close()
	}
	if o.Window.Start.Sec != noon || o.Window.Finish.Sec != noon+70 {
		t.Errorf("window %v", o.Window)
	}
	o.Archives = append(o.Archives, dir+"/none")
	if list, err := o.OpenAll(t.Context()); err == nil || list != nil || o.Fatal(err) != 1 {
		t.Errorf("%d contexts, %v", len(list), err)
	}
}
