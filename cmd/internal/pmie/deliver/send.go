package deliver

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Facilities of syslog(3).
const (
	facilities = 0x3f8 // all bits of them
	daemon     = 3 << 3
)

// logTimeout limits the time to write a message to the system log.
const logTimeout = time.Second

// log sends the text of an action to the system log, as syslog(3) does.
func (r *Runner) log(a Action) error {
	priority := a.Priority
	if priority&facilities == 0 {
		priority |= daemon
	}
	socket := cmp.Or(r.LogSocket, "/dev/log")
	conn, err := net.DialTimeout("unixgram", socket, logTimeout)
	end := ""
	if err != nil {
		if conn, err = net.DialTimeout("unix", socket, logTimeout); err != nil {
			return err
		}
		end = "\x00" // a stream has no other message ends
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(logTimeout)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "<%d>%s %s[%d]: %s%s", priority, time.Now().Format(time.Stamp), a.Tag, os.Getpid(), Plain(a.Text), end)
	return err
}

// maxLog limits the length of a text for the system log, in bytes. Daemons cut longer messages, or refuse
// them.
const maxLog = 8000

// Plain returns a text as one line of printable characters: characters that would begin another
// message, or control a terminal, become their numbers as syslog daemons write them. A text that is
// too long ends in dots.
func Plain(text string) string {
	if len(text) > maxLog {
		text = text[:maxLog] + "..."
	}
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		c, n := utf8.DecodeRuneInString(text)
		for _, octet := range []byte(text[:n]) {
			if isControl(c) {
				fmt.Fprintf(&b, "#%03o", octet)
			} else {
				b.WriteByte(octet)
			}
		}
		text = text[n:]
	}
	return b.String()
}

// isControl reports whether c is a control character, of ASCII or of those behind it, or represents invalid
// UTF-8.
func isControl(c rune) bool { return unicode.IsControl(c) || c == utf8.RuneError }
