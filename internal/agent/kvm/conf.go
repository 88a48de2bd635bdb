package kvm

import (
	"bytes"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
)

// maxConfLine is the length of a line of the configuration in the C agent. The rest of a
// longer line counts as another line.
const maxConfLine = 8191

// ReadConf reads kvm.conf: trace points are added to c.Trace, and paths replace those of
// c.
//
//	[paths]
//	debugfs=/sys/kernel/debug
//	tracefs=/sys/kernel/debug/tracing
//
//	[trace]
//	kvm_exit
//	kvm_entry
//
// Lines of other sections are skipped.
func (c *Config) ReadConf(path string) error {
	b, err := procfs.ReadOnce(path)
	if err != nil {
		return err
	}
	c.parse(b)
	return nil
}

func (c *Config) parse(b []byte) {
	var section string
	for len(b) > 0 {
		n := min(len(b), maxConfLine)
		if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
			n = i + 1
		}
		l := strings.Trim(string(ctext.Bytes(b[:n])), " \t\n\v\f\r")
		b = b[n:]
		switch {
		case l == "" || l[0] == '#':
		case l[0] == '[':
			section = l
		case section == "[paths]":
			c.setPath(l)
		case section == "[trace]" || section == "[dynamic]":
			c.Trace = append(c.Trace, l)
		}
	}
}

// setPath applies a line of the section paths.
func (c *Config) setPath(l string) {
	key, path, ok := strings.Cut(l, "=")
	words := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && ctext.IsSpace(byte(r)) })
	if !ok || len(words) == 0 {
		return
	}
	switch key {
	case "debugfs":
		c.Debug = words[0]
	case "tracefs":
		c.Tracing = words[0]
	case "lockdown":
		c.Lockdown = words[0]
	}
}
