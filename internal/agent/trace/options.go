package trace

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/trace"
)

// setOption applies one of the options of the agent's program, by its letter. Messages are those of the C
// agent.
func (cfg *Config) setOption(letter rune, arg string) (err error) {
	switch letter {
	case 'A':
		_, err = parseAccess(arg)
	case 'I':
		_, err = parsePort(arg)
	case 'N':
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > maxBuckets {
			return fmt.Errorf("-N requires a positive number%s", ".") // a message of the C agent, with its full stop
		}
		cfg.Buckets = n
	case 'T':
		if cfg.Period, err = pcptime.ParseInterval(arg); err != nil {
			return fmt.Errorf("-T requires a time interval: %w", err)
		}
		if cfg.Period <= 0 || cfg.Period > maxPeriod {
			return fmt.Errorf("-T requires a time interval: %s", arg)
		}
	case 'U':
		cfg.ObserveUnits, err = parseUnits(arg)
	case 'V':
		cfg.CounterUnits, err = parseUnits(arg)
	}
	return err
}

// parseUnits reads six numbers: the dimensions of space, time and count, and the scale of each.
func parseUnits(spec string) (pcp.Units, error) {
	var n [6]int
	words := strings.FieldsFunc(spec, func(r rune) bool { return r == ',' })
	for i := range n {
		if i >= len(words) {
			return pcp.Units{}, fmt.Errorf("token parse error in string \"%s\"", spec)
		}
		v, err := strconv.Atoi(strings.TrimLeft(words[i], " \t"))
		low, high := -8, 7
		if i == 3 || i == 4 {
			low, high = 0, 15
		}
		if err != nil || v < low || v > high {
			return pcp.Units{}, fmt.Errorf("integer parse error for substring \"%s\"", words[i])
		}
		n[i] = v
	}
	return pcp.NewUnits(n[0], n[1], n[2], n[3], n[4], n[5]), nil
}

// A hostRule is the rule of an option -A.
type hostRule struct {
	host string
	rule access.Rule
}

// parseAccess reads allow:HOST:MAX, or disallow:HOST.
func parseAccess(spec string) (hostRule, error) {
	r := hostRule{rule: access.Rule{Ops: access.OpAll}}
	keyword, rest, _ := strings.Cut(spec, ":")
	switch rest = strings.TrimLeft(rest, " \t"); strings.ToLower(keyword) {
	case "disallow":
		r.host, r.rule.Deny = rest, access.OpAll
	case "allow":
		r.host = rest
		if i := strings.LastIndexByte(rest, ':'); i >= 0 {
			n, err := strconv.Atoi(rest[i+1:])
			if err != nil || n < 0 {
				return r, fmt.Errorf("bogus max connection in '%s'", rest[i+1:])
			}
			r.host, r.rule.Max = rest[:i], n
		}
	default:
		return r, fmt.Errorf("access spec is invalid (%s)", spec)
	}
	if r.host == "" {
		return r, fmt.Errorf("invalid %s (%s)", strings.ToLower(keyword), spec)
	}
	return r, nil
}

// addAccess adds a rule. As in C an invalid rule is logged.
func addAccess(rules *access.Rules, spec string, log *slog.Logger) error {
	r, err := parseAccess(spec)
	if err != nil {
		return err
	}
	notes, err := rules.AddHost(r.host, r.rule)
	for _, n := range notes {
		log.Log(context.Background(), n.Level, n.Text)
	}
	if err != nil {
		log.Error(fmt.Sprintf("failed to add authorisation (%s)", r.host), "err", err)
	}
	return nil
}

// parsePort returns a port by its number, or by the name of its service.
func parsePort(arg string) (int, error) {
	if n, err := strconv.Atoi(arg); err == nil {
		if n < 0 || n > math.MaxUint16 {
			return 0, fmt.Errorf("-I requires a port: %d is not in 0..%d", n, math.MaxUint16)
		}
		return n, nil
	}
	n, err := net.LookupPort("tcp", arg)
	if err != nil {
		return 0, fmt.Errorf("-I requires a port: %w", err)
	}
	return n, nil
}

// portFrom returns the port that PCP_TRACE_PORT names, and whether it can be read.
func portFrom(getenv func(string) string) (int, bool) {
	v := getenv("PCP_TRACE_PORT")
	if v == "" {
		return trace.Port, true
	}
	n, err := strconv.ParseUint(v, 0, 16)
	if err != nil {
		return trace.Port, false
	}
	return int(n), true
}
