package ui

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
)

// shows tests which texts are on the screen.
func (d *desk) shows(texts ...string) {
	d.t.Helper()
	s := d.screen()
	for _, text := range texts {
		if want, without := strings.CutPrefix(text, "!"); strings.Contains(s, want) == without {
			d.t.Errorf("%q is expected on the screen: %v\n%s", want, !without, s)
		}
	}
}

// TestExtraColumns shows what processes send and have of graphics cards only if there is a source, and else the help has
// the reason.
func TestExtraColumns(t *testing.T) {
	live(t, 200, 90, nil, func(d *desk) {
		d.press("2")
		d.wait(2)
		d.shows(" IN/s  OUT/s   GPU%  GMEM ", "700M")
		d.press("?")
		d.shows("!Not shown")
	})
	live(t, 200, 90, func(h *toptest.Host, _ *Config) {
		h.NetModule = "off"
		h.Without("bpf.proc.net.tcp.recv.bytes", "bpf.proc.net.tcp.send.bytes", "bpf.proc.net.udp.recv.bytes", "bpf.proc.net.udp.send.bytes",
			"drm.proc.time", "drm.proc.memory", "proc.io.read_bytes", "proc.io.write_bytes", "containers.name", "containers.cgroup")
	}, func(d *desk) {
		d.press("2")
		d.wait(2)
		d.shows("!IN/s", "!GPU%", "!READ/s", "the collector does not have proc.io.read_bytes")
		d.press("?")
		d.shows("Not shown", "READ WRIT", "IN OUT", "the collector does not have bpf.proc.net.tcp.recv.bytes; the", "module is off: pcp store -i netatop bpf.control.enabled 1", "GPU GMEM", "drm.proc.time")
		d.press("esc", "8", "?")
		d.wait(1)
		d.shows("the collector does not have containers.name")
		// The connections of the control groups are a source too.
		d.press("esc", "3")
		d.wait(2)
		d.shows("IN/s  OUT/s CONTROL GROUP", "29K    59K     nginx.service", "!unreachable")
	})
}

// TestThreads shows the threads of all processes, and of one.
func TestThreads(t *testing.T) {
	live(t, 100, 40, nil, func(d *desk) {
		d.press("2")
		d.wait(1)
		d.shows("13 processes", "!nginx:log")
		d.press("H", "c")
		d.wait(2)
		d.shows("14 processes and threads", "803 www-data", "nginx:log")
		d.press("3")
		d.wait(1)
		d.shows("300M     2 ", "     nginx.service") // which counts processes
		d.press("2", "/", "'801", "enter", "enter")
		d.wait(2)
		d.shows("Process 801", "─ Threads", "    803 S", "nginx:log", "!Memory")
		d.press("esc", "esc", "H")
		d.wait(2)
		d.shows("13 processes", "!nginx:log")
	})
	live(t, 100, 40, func(h *toptest.Host, _ *Config) { h.Without("proc.control.perclient.threads") }, func(d *desk) {
		d.press("2", "H")
		d.wait(1)
		d.shows("the collector does not have proc.control.perclient.threads")
	})
	replay(t, 160, 40, func(d *desk) {
		d.press("2", "H")
		d.shows("the archive has no threads; collectors list them to recorders after: pcp store proc.control.all.threads 1")
	})
}

// TestContainers opens the processes of a container.
func TestContainers(t *testing.T) {
	live(t, 120, 40, nil, func(d *desk) {
		d.press("8", "down", "down", "enter")
		d.wait(1)
		if d.app.view != Processes || d.app.procs.sel.CGroup != "/system.slice/nginx.service" {
			t.Errorf("the view is %d of %q", d.app.view, d.app.procs.sel.CGroup)
		}
		d.press("8", "home", "enter")
		d.shows("the control group of batch is not known")
	})
}

// TestHeads sorts tables by clicks on their heads.
func TestHeads(t *testing.T) {
	live(t, 120, 40, nil, func(d *desk) {
		f := func(view, head string, first ...string) {
			t.Helper()
			d.press(view)
			d.wait(2)
			for _, want := range first {
				for y, line := range strings.Split(d.screen(), "\n") {
					if before, _, ok := strings.Cut(line, head); ok {
						d.app.Click(len([]rune(before))+1, y)
						break
					}
				}
				s := d.screen()
				_, rows, _ := strings.Cut(s, head)
				_, rows, _ = strings.Cut(rows, "\n")
				if row, _, _ := strings.Cut(rows, "\n"); !strings.Contains(row, want) {
					t.Errorf("after a click on %s the first row is %q, want %q:\n%s", head, row, want, s)
				}
			}
		}
		f("4", "r_wait", "nvme0n1", "sda")
		f("4", "DISK ", "nvme0n1", "sda")
		f("5", "outp/s", "lo", "wlan0")
		f("8", "MEM", "db ", "batch")
		f("3", "io psi", "/init.scope", "100M")
		d.press("home", "enter") // the group at the cursor is that of the sorted table
		if got := d.app.procs.sel.CGroup; got != "/" {
			t.Errorf("the processes are those of %q", got)
		}
	})
}

// TestContainerStates has a state for each container.
func TestContainerStates(t *testing.T) {
	live(t, 120, 40, nil, func(d *desk) {
		d.press("8")
		var got []string
		for i := range d.app.film.now.Containers {
			c := &d.app.film.now.Containers[i]
			got = append(got, c.Name+" "+c.State)
		}
		if text := strings.Join(got, ", "); text != "batch stopped, db \x1b[1mbold running, web running" {
			t.Errorf("the containers are %q", text)
		}
		if c := d.app.film.now.Containers[2].CGroup; c.Processes != 2 || c.Path != "/system.slice/nginx.service" {
			t.Errorf("the control group of web is %+v", c)
		}
		if d.app.film.now.Groups&model.Containers == 0 {
			t.Error("containers were not sampled")
		}
	})
}

// TestUnread shows that the collector may not read the I/O of other users, in the table and in the page of a process.
func TestUnread(t *testing.T) {
	const why = "The I/O of 11 of 13 processes is missing: only a collector that runs as root may read it for all users (sudo pcp up)."
	live(t, 160, 40, func(h *toptest.Host, _ *Config) { h.Alone = "alice" }, func(d *desk) {
		d.press("2")
		d.wait(2)
		d.shows(why)
		d.press("/", "'nginx", "enter", "enter")
		d.wait(1)
		d.shows("disk          " + why)
		d.press("esc", "/", "ctrl+u", "'evil", "enter", "enter")
		d.wait(1)
		d.shows("disk          0/s read")
	})
	live(t, 160, 40, nil, func(d *desk) {
		d.press("2")
		d.wait(2)
		d.shows("!is missing")
	})
}

// TestNetHint has the reason why the bytes of processes are not known.
func TestNetHint(t *testing.T) {
	f := func(state, want string, without ...string) {
		t.Helper()
		live(t, 200, 90, func(h *toptest.Host, _ *Config) {
			h.NetModule = state
			h.Without(append(without, "bpf.proc.net.tcp.recv.bytes", "bpf.proc.net.tcp.send.bytes", "bpf.proc.net.udp.recv.bytes", "bpf.proc.net.udp.send.bytes")...)
		}, func(d *desk) {
			d.press("2")
			d.wait(1)
			if got := d.app.film.now.NetHint(); !strings.Contains(got, want) {
				t.Errorf("in the state %q the hint is %q, want %q", state, got, want)
			}
		})
	}
	f("off", "the module is off: pcp store -i netatop bpf.control.enabled 1")
	f("load: operation not permitted", "the kernel refuses the module netatop: load: operation not permitted")
	f("", "sudo pcp up --agent bpf", "bpf.module.state")
}
