package importrun

import (
	"fmt"
	"strconv"
	"strings"
)

// A Status is the content of a file. Fields that are empty have no line.
type Status struct {
	PID     int    // the process, or 0 for a program that runs from time to time
	Version string // of the program
	Args    string // the sources of its data
	Archive string // its archive, without the ending of a volume
}

// MaxFile is the maximum length of a file.
const MaxFile = 8192

// Append appends the lines of s to b.
func (s Status) Append(b []byte) ([]byte, error) {
	if s.PID < 0 {
		return b, fmt.Errorf("pid %d is not a process", s.PID)
	}
	was := len(b)
	if s.PID > 0 {
		b = fmt.Appendf(b, "pid=%d\n", s.PID)
	}
	for _, f := range []struct{ key, value string }{{"version", s.Version}, {"args", s.Args}, {"archive", s.Archive}} {
		if strings.ContainsAny(f.value, "\n\r\x00") {
			return b[:was], fmt.Errorf("%s %q has more than one line", f.key, f.value)
		}
		if f.value != "" {
			b = append(append(append(append(b, f.key...), '='), f.value...), '\n')
		}
	}
	if n := len(b) - was; n > MaxFile {
		return b[:was], fmt.Errorf("a status of %d bytes, the maximum is %d", n, MaxFile)
	}
	return b, nil
}

// Parse reads the lines of a file. Lines of other keys are ignored, and the last line of a key counts.
func Parse(text string) (Status, error) {
	var s Status
	if len(text) > MaxFile {
		return s, fmt.Errorf("more than %d bytes", MaxFile)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if strings.IndexByte(value, 0) >= 0 {
			return Status{}, fmt.Errorf("line %d: a value with a NUL", number)
		}
		switch key {
		case "pid":
			pid, err := strconv.ParseInt(value, 10, 32)
			if err != nil || pid < 1 {
				return Status{}, fmt.Errorf("line %d: %q is not a process", number, value)
			}
			s.PID = int(pid)
		case "version":
			s.Version = value
		case "args":
			s.Args = value
		case "archive":
			s.Archive = value
		}
	}
	return s, nil
}
