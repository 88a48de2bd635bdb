package statsd

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// Settings are those of pmdastatsd.ini. Zero fields mean the defaults, except DurationType.
type Settings struct {
	Port           int // UDP port if there is no address in Config.Listen; 8125
	MaxUDP         int // size of datagrams, in bytes, from which on they are dropped; 1472
	Verbose        int // 2 logs all dropped messages, otherwise the first 100 are logged
	DurationType   int // 0 keeps all values, 1 aggregates them in a histogram
	ParserType     int // 0 or 1; there is one parser
	MaxUnprocessed int // only shown, as no datagrams wait in the agent; 2048
	DebugFile      string
}

// DefaultSettings returns the settings without a file.
func DefaultSettings() Settings {
	s := Settings{DurationType: 1}
	s.complete()
	return s
}

func (s *Settings) complete() {
	s.Port, s.MaxUDP = cmp.Or(s.Port, 8125), cmp.Or(s.MaxUDP, 1472)
	s.MaxUnprocessed, s.DebugFile = cmp.Or(s.MaxUnprocessed, 2048), cmp.Or(s.DebugFile, "debug")
}

// set sets a setting by its name in the file.
func (c *Config) set(name, value string) error {
	number := func(to *int, least, most int) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%s: a number from %d to %d is needed, not %.40q", name, least, most, value)
		}
		*to = n
		return nil
	}
	switch name {
	case "port":
		return number(&c.Port, 1, 65535)
	case "max_udp_packet_size":
		return number(&c.MaxUDP, 16, 64<<10)
	case "max_unprocessed_packets":
		return number(&c.MaxUnprocessed, 1, 1<<31-1)
	case "verbose":
		return number(&c.Verbose, 0, 2)
	case "debug_output_filename":
		c.DebugFile = value
	case "parser_type":
		return number(&c.ParserType, 0, 1)
	case "duration_aggregation_type":
		return number(&c.DurationType, 0, 1)
	case "listen":
		c.Listen = nil
		for addr := range strings.SplitSeq(value, ",") {
			if addr = strings.TrimSpace(addr); addr != "" {
				c.Listen = append(c.Listen, addr)
			}
		}
	case "max_metrics":
		return number(&c.Limits.Metrics, 1, 1_000_000)
	case "max_series":
		return number(&c.Limits.Series, 1, 10_000_000)
	case "max_memory":
		mb := 0
		if err := number(&mb, 1, 1<<20); err != nil {
			return err
		}
		c.Limits.Memory = int64(mb) << 20
	default:
		return errUnknown
	}
	return nil
}

var errUnknown = fmt.Errorf("not a setting")

// maxLine limits a line of the file of settings.
const maxLine = 64 << 10

// read reads a file of settings, pmdastatsd.ini. Unknown settings are logged, as older and newer agents have others.
func (c *Config) read(r io.Reader, path string, log *slog.Logger) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' || text[0] == ';' || text[0] == '[' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			name, value, ok = strings.Cut(text, ":")
		}
		if !ok {
			return fmt.Errorf("%s:%d: NAME = VALUE is needed", path, n)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch err := c.set(name, value); {
		case err == errUnknown:
			log.Warn("setting is not known", "file", path, "line", n, "name", name)
		case err != nil:
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
