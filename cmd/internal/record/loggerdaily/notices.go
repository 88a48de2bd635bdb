package loggerdaily

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/internal/safefile"
)

// maxNotices is the number of bytes of the file NOTICES that are read for a mail.
const maxNotices = 64 << 20

// notices mails the entries of the last 24 hours, and starts a new file if the old one is
// long.
func (d *daily) notices() {
	path := filepath.Join(d.get("PCP_LOG_DIR"), "NOTICES")
	if d.mail != "" {
		d.mailNotices(path)
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() == 0 || st.Size() < d.rollAt || !housekeeping.Writable(filepath.Dir(path)) {
		return
	}
	d.verbosef("Roll %s -> %s.old\nStart new %s", path, path, path)
	if d.showMe {
		d.printf("+ mv -f %s %s.old\n+ touch %s\n", path, path, path)
		return
	}
	if err := d.roll(path); err != nil {
		d.printf("%s: %s\n", d.env.ProgName(), cli.FileErrText(err))
	}
}

func (d *daily) roll(path string) error {
	f, _, err := safefile.OpenAppend(path, 0, 0o664)
	if err != nil {
		return err
	}
	date := d.now.Format(time.UnixDate)
	_, err = fmt.Fprintf(f, "\n*** rotated by %s: %s\n", d.env.Command.Link, date)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(path, path+".old"); err != nil {
		return err
	}
	text := fmt.Sprintf("Started by %s: %s\n", d.env.Command.Link, date)
	if err := safefile.ReplaceBytes(path, []byte(text), safefile.Replacement{Mode: 0o664, Uid: -1, Gid: -1}); err != nil {
		return err
	}
	housekeeping.GiveAway(d.env, path)
	return nil
}

// mailNotices sends the entries of the last 24 hours to the addresses of -m, and keeps
// them in NOTICES.daily.
func (d *daily) mailNotices(path string) {
	f, err := os.Open(path)
	if err != nil {
		d.printf("%s: %s\n", d.env.ProgName(), cli.FileErrText(err))
		return
	}
	text, err := lastDay(f, d.now)
	f.Close()
	if err != nil {
		d.printf("%s: %s: %v\n", d.env.ProgName(), path, err)
		return
	}
	if len(text) == 0 {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	subject := "PCP NOTICES summary for " + host
	program := housekeeping.Mailer(d.env)
	switch {
	case program == "":
		d.printf("%s: Warning: cannot find a mail agent to send mail ...\n%s\n%s", d.env.ProgName(), subject, text)
	case d.showMe:
		d.printf("+ %s -s \"%s\" %s\n", filepath.Base(program), subject, d.mail)
	default:
		cmd := exec.CommandContext(d.ctx, program, append([]string{"-s", subject}, strings.Fields(d.mail)...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), d.out, d.errs
		cmd.WaitDelay = 5 * time.Second
		if err := cmd.Run(); err != nil {
			d.printf("%s: Warning: %s: %v\n", d.env.ProgName(), program, err)
		}
	}
	if !d.showMe && housekeeping.Writable(filepath.Dir(path)) {
		if err := safefile.ReplaceBytes(path+".daily", text, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}); err != nil {
			d.printf("%s: %s\n", d.env.ProgName(), cli.FileErrText(err))
		}
	}
}

// lastDay returns the entries of a file NOTICES that are at most 24 hours old, with their
// date lines.
func lastDay(r io.Reader, now time.Time) ([]byte, error) {
	var b bytes.Buffer
	yesterday := now.AddDate(0, 0, -1)
	today, before := false, false
	lines := bufio.NewScanner(io.LimitReader(r, maxNotices))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if date, ok := entryDate(line); ok {
			switch date {
			case now.Format("2006 Jan 2"):
				today = true
				fmt.Fprintln(&b, asDate(line))
				continue
			case yesterday.Format("2006 Jan 2"):
				before = true
				fmt.Fprintln(&b, asDate(line))
				continue
			}
		}
		hour, minute, ok := clockTime(line)
		if today || before && ok && (hour > yesterday.Hour() || hour == yesterday.Hour() && minute >= yesterday.Minute()) {
			fmt.Fprintln(&b, line)
		}
	}
	return b.Bytes(), lines.Err()
}

// asDate returns a date line as "DATE: Mon Jan 2 15:04:05 2006".
func asDate(line string) string {
	if f := strings.Fields(line); strings.HasPrefix(line, "Started") && len(f) > 8 {
		return strings.Join([]string{"DATE:", f[3], f[4], f[5], f[6], f[8]}, " ")
	}
	return line
}

// entryDate returns the date of a date line.
func entryDate(line string) (string, bool) {
	f := strings.Fields(asDate(line))
	if len(f) != 6 || f[0] != "DATE:" {
		return "", false
	}
	t, err := time.Parse("2006 Jan 2", f[5]+" "+f[2]+" "+strings.TrimPrefix(f[3], "0"))
	if err != nil {
		return "", false
	}
	return t.Format("2006 Jan 2"), true
}

// clockTime returns the time at the beginning of an entry.
func clockTime(line string) (hour, minute int, ok bool) {
	h, rest, ok := strings.Cut(line, ":")
	if !ok || len(rest) < 2 {
		return 0, 0, false
	}
	hour, err1 := strconv.Atoi(h)
	minute, err2 := strconv.Atoi(rest[:2])
	return hour, minute, err1 == nil && err2 == nil
}
