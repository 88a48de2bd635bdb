package postfix

import (
	"errors"
	"fmt"
	"io/fs"
	"net/smtp"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

// A server is a Postfix below a directory.
type server struct {
	dir, programs, log string
	port               int
	env                []string
}

const (
	mainFile = `compatibility_level = 3.6
queue_directory = DIR/spool
command_directory = DIR/package/usr/sbin
daemon_directory = DIR/package/usr/lib/postfix/sbin
shlib_directory = DIR/package/usr/lib/postfix
meta_directory = DIR/etc
data_directory = DIR/data
mail_owner = daemon
default_privs = nobody
setgid_group = games
myhostname = mail.example.com
mydestination = example.com
inet_interfaces = loopback-only
maillog_file = DIR/mail.log
maillog_file_prefixes = DIR
import_environment = MAIL_CONFIG LD_LIBRARY_PATH
export_environment = MAIL_CONFIG LD_LIBRARY_PATH
alias_maps =
local_recipient_maps =
local_transport = discard
relayhost = [127.0.0.1]:NOBODY
smtpd_recipient_restrictions = permit_mynetworks, reject
`
	masterFile = `127.0.0.1:PORT inet n - n - - smtpd
pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
smtp unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
postlog unix-dgram n - n - 1 postlogd
`
)

// startServer unpacks Debian's package, whose installation would remove other mail servers, and starts it.
func startServer(t *testing.T) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "postfix") // t.TempDir is too long for its sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{dir: dir, programs: dir + "/package/usr/lib/postfix/sbin/", log: dir + "/mail.log", port: oracle.FreePort(t)}
	get := exec.Command("sh", "-c", "apt-get -q download postfix && dpkg -x postfix_*.deb package")
	get.Dir = dir
	if out, err := get.CombinedOutput(); err != nil {
		oracle.Missing(t, fmt.Sprintf("no package postfix: %v: %s", err, out))
	}
	s.env = append(os.Environ(), "LD_LIBRARY_PATH="+dir+"/package/usr/lib/postfix", "MAIL_CONFIG="+dir+"/etc")
	owner, err := user.Lookup("daemon")
	if err != nil {
		t.Fatal(err)
	}
	group, err := user.LookupGroup("games")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(group.Gid)
	for name, mode := range map[string]fs.FileMode{
		"etc": 0o755, "spool": 0o755, "spool/pid": 0o755, "data": 0o700, "spool/maildrop": 0o730, "spool/public": 0o710, "spool/private": 0o700, "spool/hold": 0o700,
		"spool/incoming": 0o700, "spool/active": 0o700, "spool/bounce": 0o700, "spool/defer": 0o700, "spool/deferred": 0o700, "spool/flush": 0o700, "spool/saved": 0o700,
		"spool/trace": 0o700, "spool/corrupt": 0o700,
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(path, mode)
		if mode != 0o755 {
			err = errors.Join(err, os.Chown(path, uid, gid))
		}
		if err := errors.Join(err, os.Chmod(path, mode)); err != nil { // despite the umask
			t.Fatal(err)
		}
	}
	values := strings.NewReplacer("DIR", dir, "PORT", strconv.Itoa(s.port), "NOBODY", strconv.Itoa(oracle.FreePort(t)))
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(dir+"/etc/main.cf", []byte(values.Replace(mainFile)), 0o644),
		os.WriteFile(dir+"/etc/master.cf", []byte(values.Replace(masterFile)), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	master := exec.Command(s.programs+"master", "-d", "-c", dir+"/etc")
	master.Env, master.Stderr = s.env, os.Stderr
	if err := oracle.StartWith(master, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = master.Process.Signal(syscall.SIGTERM)
		_ = master.Wait()
	})
	return s
}

// run runs one of its commands.
func (s *server) run(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.dir, "package/usr/sbin", name), args...)
	cmd.Env, cmd.Stdin = s.env, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

// TestServer sends messages to a Postfix of Debian, and compares the queues with postqueue's list and the counts with the messages.
func TestServer(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set: Postfix is not downloaded for each test")
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: Postfix needs root")
	}
	s := startServer(t)
	a := newAgent(t, Config{Queues: s.dir + "/spool", Log: s.log})
	address := "127.0.0.1:" + strconv.Itoa(s.port)
	logged := func(what string, n int) func() bool {
		return func() bool { b, _ := os.ReadFile(s.log); return strings.Count(string(b), what) >= n }
	}
	await.Until(t, "Postfix has started", logged("daemon started", 1))
	s.run(t, "Subject: one\n\none\n", "sendmail", "-i", "-f", "a@example.com", "b@example.com")
	s.run(t, "Subject: two\n\ntwo\n", "sendmail", "-i", "-f", "a@example.com", "c@other.example", "d@other.example")
	await.Until(t, "Postfix takes a message", func() bool {
		return smtp.SendMail(address, nil, "x@example.com", []string{"z@example.com", "w@third.example"}, []byte("Subject: three\r\n\r\nthree\r\n")) == nil
	})
	await.Until(t, "all is delivered or deferred", func() bool { return logged("status=deferred", 3)() && logged("status=sent", 2)() })
	listed := func() int {
		return strings.Count(s.run(t, "", "postqueue", "-p"), "@other.example") + strings.Count(s.run(t, "", "postqueue", "-p"), "@third.example\n")
	}
	await.Until(t, "the queue is listed", func() bool { return listed() >= 3 })
	var got map[string]map[string]string
	await.Until(t, "the messages are deferred", func() bool {
		got = servicetest.Read(t, a)
		return got["postfix.queues.active"]["total"] == "0" && got["postfix.queues.deferred"]["total"] != "0"
	})
	if want := strconv.Itoa(listed()); got["postfix.queues.deferred"]["total"] != want || got["postfix.queues.deferred"]["0-5 mins"] != want {
		t.Errorf("deferred: %v; postqueue lists %s recipients", got["postfix.queues.deferred"], want)
	}
	if d := fmt.Sprint(got["postfix.received"]); d != "map[local:2 smtp:1]" {
		t.Errorf("received: %s", d)
	}
	if d := fmt.Sprint(got["postfix.sent"]); d != "map[local:0 none:2 smtp:0]" {
		t.Errorf("sent: %s", d)
	}
}
