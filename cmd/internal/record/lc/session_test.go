package lc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/control"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// An ourLogger is our own recorder, the primary pmlogger of its directory, with a collector of its
// own.
type ourLogger struct {
	dir  string
	ends *control.Endpoints
}

// guide is an agent whose metrics have one instance domain, another, or none.
func guide(t *testing.T) pmda.Agent {
	t.Helper()
	list := func(names ...string) func(context.Context) ([]pcp.Instance, error) {
		var all []pcp.Instance
		for i, name := range names {
			all = append(all, pcp.Instance{Inst: int32(i), Name: name})
		}
		return func(context.Context) ([]pcp.Instance, error) { return all, nil }
	}
	disks, cpus := &pmda.InDom{Serial: 1, List: list("sda", "sdb", "sdc")}, &pmda.InDom{Serial: 2, List: list("cpu0")}
	none := &pmda.InDom{Serial: 3, List: list()}
	value := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil }
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, InDoms: []*pmda.InDom{disks, cpus, none}, Metrics: []pmda.Metric{
		{Name: "guide.answer", Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.question", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.disk.read", InDom: disks, Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.disk.write", InDom: disks, Item: 3, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.cpu", InDom: cpus, Item: 4, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.empty", InDom: none, Item: 5, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// startOurs runs a recorder with a configuration until the test ends.
func startOurs(t *testing.T, config string) *ourLogger {
	t.Helper()
	dir, err := os.MkdirTemp("", "lc") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &ourLogger{dir: dir}
	base := filepath.Join(t.TempDir(), "archive")
	text := fmt.Sprintf("PCP_RUN_DIR=%s\nPCP_TMP_DIR=%[1]s\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "pcp.conf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "pmcd")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	d, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "guide", Domain: 400, Agent: guide(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base, Host: "heart.example"})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := r.Configure(t.Context(), strings.NewReader(config), "config")
	if err != nil {
		t.Fatal(err)
	}
	l.ends, err = control.Listen(control.Ports{Tmp: dir, Run: dir, First: 24330, Local: true, Primary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.ends.Close() })
	if err := l.ends.Publish(r.Host(), r.Archive(), ""); err != nil {
		t.Fatal(err)
	}
	s, err := control.New(control.Config{Recorder: r, Listeners: l.ends.Listeners, Access: rules, Source: "unix:" + socket, TimeZone: "EST5"})
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { s.Run(ctx) })
	wg.Go(func() {
		defer c.Close()
		if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the recorder ends with %v", err)
		}
	})
	return l
}

// Text that differs between runs, or is long.
var (
	sessionTime  = regexp.MustCompile(`(\w{3} ){2}[ \d]\d \d\d:\d\d:\d\d\.\d{9} \d{4}`)
	sessionSize  = regexp.MustCompile(`(?m)^(log size +)[1-9]\d*$`)
	sessionInLog = regexp.MustCompile(`(?m)^(    (?:mand|adv ) (?:on |off)) n[la] `) // until the first sample
	sessionMenu  = regexp.MustCompile(`(?s)pmlc commands\n\n  show loggers.*?<metric-name> \[ <instance> \.\.\. \]\n`)
	sessionSpace = regexp.MustCompile(`(?m) +$`)
)

// run executes statements. It replaces text that differs between runs and removes trailing spaces.
func (l *ourLogger) run(t *testing.T, text string, args ...string) string {
	t.Helper()
	pid := fmt.Sprint(os.Getpid())
	text = strings.NewReplacer("PID", pid, "PORT", fmt.Sprint(l.ends.Port), "SOCKET", l.ends.Socket).Replace(text)
	env := []string{"PCP_CONF=" + l.dir + "/pcp.conf", "PCP_DIR=", "TZ=UTC"}
	out, status := runIn(t.Context(), env, strings.NewReader(text), args...)
	if status != 0 {
		t.Errorf("exit status %d", status)
	}
	out = strings.NewReplacer(l.ends.Socket, "SOCKET", l.dir, "DIR", "["+pid+"]", "[PID]", "("+pid+")", "(PID)", "pid="+pid, "pid=PID").Replace(out)
	out = sessionTime.ReplaceAllString(out, "TIME")
	out = sessionSize.ReplaceAllString(out, "${1}SIZE")
	out = sessionInLog.ReplaceAllString(out, "$1    ")
	out = sessionMenu.ReplaceAllString(out, "MENU\n")
	return sessionSpace.ReplaceAllString(out, "")
}

const sessionConfig = `log mandatory on 2 hours { guide.disk.read [ "sda" ] }
log advisory on 1 hour { guide.answer }
`

// TestSession executes statements against our own recorder.
func TestSession(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		in   string
		want string
	}{
		{
			"show", nil, "show loggers\nshow\n", `The following pmloggers are running on local::
    primary (PID)
The following pmloggers are running on local::
    primary (PID)
`,
		},
		{
			"connect primary", nil, "connect primary\nstatus\nquit\nstatus\n", `pmlogger [primary] on host local: is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in local time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
Goodbye
`,
		},
		{
			"connect pid", nil, "connect PID @local:\ndisconnect\nstatus\ndisconnect\n", `Error [<stdin>, line 3]
Not connected to any pmlogger instance
`,
		},
		{
			"connect port", nil, "connect port PORT @localhost\nstatus\n", `pmlogger [PID] on host localhost is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in local time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
`,
		},
		{
			"connect socket", nil, "connect socket @unix:SOCKET\nstatus\n", `pmlogger [PID] on host unix:SOCKET is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in local time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
`,
		},
		{
			"options", []string{"-P", "-z"}, "status\ntimezone local\nstatus\ntimezone logger\nstatus\ntimezone \"JST-9\"\nstatus\n", `Connected to primary pmlogger at local:
pmlogger [primary] on host local: is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in pmlogger time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
pmlogger [primary] on host local: is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in local time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
pmlogger [primary] on host local: is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in pmlogger time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
pmlogger [primary] on host local: is logging metrics from host heart.example
PMCD host        unix:DIR/pmcd
log started      TIME (times in JST-9 time)
last log entry   TIME
current time     TIME
log volume       0
log size         SIZE
`,
		},
		{
			"cannot connect", nil, "connect 1\nconnect socket @unix:\nconnect socket @local:\nconnect socket @unix:/no/such\nconnect port\nconnect\nconnect primary @ {\nconnect port 1 @localhost\n", `Unable to connect to pmlogger pid 1 at local:: Connection refused
The 'unix:' url requires either 'primary', a pid or a socket path
The 'local:' url requires either 'primary', a pid, a port or a socket path
Unable to connect to pmlogger via local socket at unix:/no/such: No such file or directory
Error [<stdin>, line 5]
syntax error
Error [<stdin>, line 6]
syntax error
Error [<stdin>, line 7]
syntax error
Unable to connect to pmlogger on port 1 at localhost: Connection refused
`,
		},
		{
			"requests", []string{"-P"}, "new volume\nflush\nsync\nnew volume\nsleep 1\nhelp\nqa 0\nqa 7\n", `Connected to primary pmlogger at local:
New log volume 1
New log volume 2
MENU

QA Test Case deactivated
Error: Lost connection to the pmlogger instance
QA Test Case #7 activated
Error [<stdin>, line 8]
Not connected to any pmlogger instance
`,
		},
		{
			"query", []string{"-P"}, "query guide\nquery { guide.disk.read[sda, \"sdb\" 2] guide.answer }\n", `Connected to primary pmlogger at local:
guide.answer
    adv  on           1 hour

guide.question
    adv  off

guide.disk.read
    mand on           2 hour [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

guide.disk.write
    adv  off                 [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

guide.cpu
    adv  off                 [0 or "cpu0"]

guide.empty
    (no instances)

guide.disk.read
    mand on           2 hour [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

guide.answer
    adv  on           1 hour

`,
		},
		{
			"log",
			[]string{"-P"},
			"log mandatory on 5 seconds guide.answer\nquery guide.answer\n" +
				"log mandatory on once guide.question\nquery guide.question\n" +
				"log mandatory on every 90 minutes { guide.disk.write[sda], guide.cpu }\nquery { guide.disk.write[sda], guide.cpu }\n" +
				"log mandatory on 1500 msec guide.cpu\nquery guide.cpu\n" +
				"mandatory off guide.disk\nquery guide.disk\n" +
				"log mandatory maybe { guide.answer\nguide.disk.write }\nlog advisory on 36 hours guide.disk.write[0]\nquery guide.disk.write[sda]\n" +
				"advisory off { guide.disk.write }\nquery guide.disk.write\n", `Connected to primary pmlogger at local:
guide.answer
    mand on           5 sec

guide.question
    mand on             once

guide.disk.write
    mand on        1.5 hour [0 or "sda"]

guide.cpu
    mand on        1.5 hour [0 or "cpu0"]

guide.cpu
    mand on        1.5 sec  [0 or "cpu0"]

guide.disk.read
    mand off                 [0 or "sda"]
    mand off                 [1 or "sdb"]
    mand off                 [2 or "sdc"]

guide.disk.write
    mand off                 [0 or "sda"]
    mand off                 [1 or "sdb"]
    mand off                 [2 or "sdc"]

guide.disk.write
    adv  on        1.5 hour [0 or "sda"]

guide.disk.write
    adv  off                 [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

`,
		},
		{
			"unable",
			[]string{"-P"},
			"log mandatory off { guide.answer guide.disk.read }\nlog advisory on 1 min { guide.answer guide.disk.read }\n" +
				"log advisory on 1 min guide.disk.read[sdb]\nlog mandatory on 999 hours guide.answer\n" +
				"log mandatory on 1 sec guide.empty\nquery guide.empty\n", `Connected to primary pmlogger at local:
Warning: unable to change logging state for:
guide.answer

guide.disk.read instance(s):
    [0 or "sda"]
    [1 or "sdb"]
    [2 or "sdc"]

Warning: unable to change logging state for:
guide.disk.read instance(s):
    [1 or "sdb"]

Logging delta (3596400000 msec) cannot be bigger than 268435455 msec
guide.empty
    (no instances)

`,
		},
		{
			"instances",
			[]string{"-P"},
			"query guide.disk.read[sdx]\nquery guide.disk.read[7]\nquery guide.answer[sda]\nquery guide[sda]\nquery nosuch\nquery nosuch[1]\n" +
				"query { guide.disk.read[sda] guide.disk.read[sda] }\nquery { guide.disk.read[sda] guide.disk.read[0] }\n" +
				"query { guide.disk.read[sda] guide.disk.read }\nquery { guide.disk.read guide.disk.read }\n" +
				"query { guide.disk.read guide.disk.read[sda] }\nquery { guide.disk.read guide.disk.read[sdx] }\n" +
				"query { guide.answer guide.answer }\n", `Connected to primary pmlogger at local:
Error: metric guide.disk.read currently has no instance named sdx
    - you may only specify metric instances active now.  However if no
      instances are specified, pmlogger will use all of the instances
      available at the time the metric is logged
Logging statement ignored due to error(s)
Error: metric guide.disk.read currently has no instance number 7
Logging statement ignored due to error(s)
Error: guide.answer has no instance domain but an instance was specified
Logging statement ignored due to error(s)
Error: guide.answer has no instance domain but an instance was specified
Error: guide.question has no instance domain but an instance was specified
Error: different instance domains:
    guide.answer (PM_INDOM_NULL)
    guide.disk.read (400.1)
    guide.disk.write (400.1)
    guide.cpu (400.2)
    guide.empty (400.3)
Logging statement ignored due to error(s)
Warning [<stdin>, line 5]
Problem with lookup for metric "nosuch" ...
Reason: Unknown metric name
Logging statement ignored due to error(s)
Warning [<stdin>, line 6]
Problem with lookup for metric "nosuch" ...
Reason: Unknown metric name
Logging statement ignored due to error(s)
Warning: instance name sda already specified for metric guide.disk.read
guide.disk.read
    mand on           2 hour [0 or "sda"]

Warning: instance number 0 already specified for guide.disk.read
guide.disk.read
    mand on           2 hour [0 or "sda"]

Warning: guide.disk.read had instance(s) specified previously.
         Using all instances since none specified this time
guide.disk.read
    mand on           2 hour [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

Warning: already using all instances for guide.disk.read
guide.disk.read
    mand on           2 hour [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

Warning: instance(s) specified for guide.disk.read
         (already using all instances)
guide.disk.read
    mand on           2 hour [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

Warning: instance name sdx not currently in metric guide.disk.read's instance domain
         (getting all instances anyway)
Warning: instance(s) specified for guide.disk.read
         (already using all instances)
guide.disk.read
    mand on           2 hour [0 or "sda"]
    adv  off                 [1 or "sdb"]
    adv  off                 [2 or "sdc"]

Warning: guide.answer has already been specified
guide.answer
    adv  on           1 hour

`,
		},
		{
			"mistakes",
			[]string{"-P"},
			"frobnicate\nlog\nlog mandatory\nlog mandatory on\nlog mandatory on 5\nlog mandatory on 5 parsecs guide\nlog advisory maybe guide\n" +
				"new\nnew flush\ntimezone\ntimezone mars\nsleep\nsleep long\nqa x\nstatus now\nshow @ {\nquery\nquery {\nquery { 5 }\n" +
				"query guide.disk.read[{]\n% \nstatus ! \ntimezone \"\"\n\n# comment\n", `Connected to primary pmlogger at local:
Error [<stdin>, line 1]
syntax error
Error [<stdin>, line 2]
syntax error
Error [<stdin>, line 3]
syntax error
Error [<stdin>, line 4]
syntax error
Error [<stdin>, line 5]
syntax error
Error [<stdin>, line 6]
syntax error
Error [<stdin>, line 7]
syntax error
Error [<stdin>, line 8]
syntax error
Error [<stdin>, line 9]
syntax error
Error [<stdin>, line 10]
syntax error
Error [<stdin>, line 11]
syntax error
Error [<stdin>, line 12]
syntax error
Error [<stdin>, line 13]
syntax error
Error [<stdin>, line 14]
syntax error
Error [<stdin>, line 15]
syntax error
Error [<stdin>, line 16]
syntax error
Error [<stdin>, line 17]
syntax error
Warning [<stdin>, line 19]
Problem with lookup for metric "query" ...
Reason: Unknown metric name
Error [<stdin>, line 19]
syntax error
Error [<stdin>, line 20]
syntax error
Error [<stdin>, line 21]
Unexpected character '%'
Error [<stdin>, line 22]
Unexpected character '!'
Error [<stdin>, line 23]
syntax error
`,
		},
		{
			"debug", []string{"-P", "-D", "appl0,appl1"}, "query { guide.answer guide.cpu guide.disk.read[sdb] }\nshow @localhost\n", `Connected to primary pmlogger at local:
     Inst  Inst Name
    ====== =========
guide.answer
           singular instance

guide.cpu
         0 cpu0

guide.disk.read
         1 sdb

stmt=265, state=13, control=0, hostspec=(null), pid=PID, port=-2
guide.answer
    adv  on           1 hour

guide.cpu
    adv  off                 [0 or "cpu0"]

guide.disk.read
    adv  off                 [1 or "sdb"]

stmt=278, state=13, control=0, hostspec=localhost, pid=PID, port=-2
The following pmloggers are running on localhost:
    primary (PID)
`,
		},
		{
			"prompt", []string{"-P", "-e", "-i"}, "query {\n guide.answer\n}\n?\nquery what\nquit\n", `Performance Co-Pilot Logger Control (pmlc), Version 0

MENU

Connected to primary pmlogger at local:
pmlc> query {
?  guide.answer
? }
guide.answer
    adv  on           1 hour

pmlc> ?
MENU

pmlc> query what
Warning [<stdin>, line 5]
Problem with lookup for metric "what" ...
Reason: Unknown metric name
Logging statement ignored due to error(s)
pmlc> quit
Goodbye
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := startOurs(t, sessionConfig)
			if got := l.run(t, test.in, test.args...); got != test.want {
				t.Errorf("printed\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
