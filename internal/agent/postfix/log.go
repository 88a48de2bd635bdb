package postfix

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Limits of the log.
const (
	maxLine   = 64 << 10 // bytes of a line; the rest is passed over
	maxRead   = 16 << 20 // bytes of a reading
	maxWays   = 1000
	maxWay    = 64 // bytes of the name of a transport
	chunkSize = 64 << 10
)

// A mailLog counts the messages that a log reports, from the end that it has at first.
type mailLog struct {
	path string
	f    *os.File
	rest []byte // of a line that is not complete

	ways          []string // of delivery; the first are those of the domain
	sent          []uint64
	local, remote uint64 // received
}

func newMailLog(path string) *mailLog {
	l := &mailLog{path: path, ways: []string{"smtp"}, sent: []uint64{0}}
	if l.open() == nil && l.f != nil {
		if _, err := l.f.Seek(0, io.SeekEnd); err != nil {
			l.close()
		}
	}
	return l
}

// open opens the log, if there is one.
func (l *mailLog) open() error {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.f, l.rest = f, nil
	return nil
}

func (l *mailLog) close() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// read reads the new lines. A renamed log is read to its end, and then the new log from its start, as is a log that was cut.
func (l *mailLog) read() error {
	if l.f == nil {
		if err := l.open(); err != nil || l.f == nil {
			return err
		}
	}
	if err := l.follow(); err != nil {
		return err
	}
	now, err := os.Stat(l.path)
	if err != nil {
		return nil // it is being rotated
	}
	old, err := l.f.Stat()
	if err != nil {
		return err
	}
	if os.SameFile(now, old) {
		at, err := l.f.Seek(0, io.SeekCurrent)
		if err != nil || at <= now.Size() {
			return err
		}
		l.rest = nil
		if _, err := l.f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return l.follow()
	}
	l.close()
	if err := l.open(); err != nil || l.f == nil {
		return err
	}
	return l.follow()
}

// follow reads to the end of the open file.
func (l *mailLog) follow() error {
	buf := make([]byte, chunkSize)
	for total := 0; total < maxRead; {
		n, err := l.f.Read(buf)
		total += n
		l.add(buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil // the rest comes next
}

// add counts the lines of a part of the log.
func (l *mailLog) add(b []byte) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.rest = append(l.rest, b[:min(len(b), maxLine-len(l.rest))]...)
			return
		}
		l.rest = append(l.rest, b[:min(i, maxLine-len(l.rest))]...)
		l.line(string(l.rest))
		l.rest, b = l.rest[:0], b[i+1:]
	}
}

// line counts a line, as the C agent does.
func (l *mailLog) line(s string) {
	_, relay, relayed := strings.Cut(s, "relay=")
	relay, _, _ = strings.Cut(relay, ",")
	switch {
	case strings.Contains(s, "status=sent"):
		if strings.Contains(s, " postfix/") {
			l.delivered(relay)
		}
	case strings.Contains(s, "stat=Sent"):
		if relayed && relay != "" {
			l.delivered(relay)
		}
	case has(s, "smtpd", "client="):
		l.remote++
	case has(s, "pickup", "sender="), has(s, "pickup", "uid="):
		l.local++
	}
}

// has reports whether a text has one part, and another behind it.
func has(s, first, second string) bool {
	_, rest, ok := strings.Cut(s, first)
	return ok && strings.Contains(rest, second)
}

// delivered counts a message that went to a relay: a host has an address in brackets, and others are names of transports.
func (l *mailLog) delivered(relay string) {
	if relay == "" || len(relay) > maxWay || strings.ContainsAny(relay, "[\x00") {
		l.sent[0]++
		return
	}
	if len(l.ways) == 1 && relay != "local" { // whose number is 1
		l.ways, l.sent = append(l.ways, "local"), append(l.sent, 0)
	}
	i := slices.Index(l.ways, relay)
	if i < 0 {
		if len(l.ways) == maxWays {
			return
		}
		i = len(l.ways)
		l.ways, l.sent = append(l.ways, relay), append(l.sent, 0)
	}
	l.sent[i]++
}
