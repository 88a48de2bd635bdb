package dbpmda

import (
	"errors"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/wire"
)

// store replaces all values of a metric that the profile selects, as just fetched.
func (s *session) store(id pcp.PMID, text string) bool {
	s.printf("PMID: %s\n", id)
	s.printf("Getting description...\n")
	desc, ok := s.desc(id)
	if !ok {
		return false
	}
	if s.profileChanged {
		s.printf("Sending Profile...\n")
		if !s.sendProfile() {
			return false
		}
	}
	s.printf("Getting Result Structure...\n")
	var res wire.Result
	if !s.ask(callRefetch, &wire.Fetch{PMIDs: []pcp.PMID{desc.PMID}}, &res) {
		return false
	}
	if s.debug["fetch"] {
		if s.conn.InProc {
			s.printResult(&res, []pcp.Desc{desc})
		} else {
			s.printResult(&res, nil)
		}
	}
	if len(res.Sets) == 0 {
		s.printf("Error: %s not available!\n", id)
		return false
	}
	v, ok := s.parseValue(text, desc.Type)
	if !ok {
		return false
	}
	set := &res.Sets[0]
	switch {
	case set.Err != 0:
		s.printf("Error: %s: %s\n", id, set.Err)
		return false
	case len(set.Values) == 0:
		s.printf("Error: %s not available!\n", id)
		return false
	}
	update := wire.Result{Result: pcp.Result{Time: res.Time}}
	update.AddSet(set.PMID)
	for i, old := range set.Values {
		s.printf("%s", id)
		if len(set.Values) > 1 {
			s.printf(" [%d]", i)
		}
		s.printf(": %s -> %s\n", old.AppendPrint(nil, desc.Type, 1, s.loc), v.AppendPrint(nil, desc.Type, 1, s.loc))
		update.Add(v.WithInst(old.Inst))
	}
	if !s.conn.InProc {
		s.printf("Sending Result...\n")
	}
	return s.ask(callStore, &update, nil)
}

// parseValue parses a value as strtol(3) and similar functions do.
func (s *session) parseValue(text string, t pcp.Type) (v pcp.Value, ok bool) {
	trimmed := strings.TrimLeft(text, " \t\v\f\r")
	end := len(trimmed) // of the number
	var err error
	switch t {
	case pcp.Type32, pcp.Type64:
		var n int64
		n, err = strconv.ParseInt(trimmed, 10, 64)
		if v = pcp.Int64Value(n); t == pcp.Type32 {
			v = pcp.Int32Value(int32(n))
		}
	case pcp.TypeU32, pcp.TypeU64:
		// A minus sign is taken modulo 2^64.
		digits, negative := strings.CutPrefix(trimmed, "-")
		if !negative {
			digits = strings.TrimPrefix(digits, "+")
		}
		var n uint64
		if n, err = strconv.ParseUint(digits, 10, 64); negative {
			n = -n
		}
		if v = pcp.Uint64Value(n); t == pcp.TypeU32 {
			v = pcp.Uint32Value(uint32(n))
		}
	case pcp.TypeFloat:
		var f float32
		f, end, err = ctext.Strtof(trimmed)
		v = pcp.FloatValue(f)
	case pcp.TypeDouble:
		var f float64
		f, end, err = ctext.Strtod(trimmed)
		v = pcp.DoubleValue(f)
	case pcp.TypeString:
		return pcp.StringValue(text), true
	default:
		s.printf("Error: dbpmda does not support storing into %s metrics\n", t)
		return v, false
	}
	switch {
	case err == nil && end == len(trimmed):
		return v, true
	case errors.Is(err, strconv.ErrRange) && end == len(trimmed):
		s.printf("Error: Decoding value: %s\n", pcp.Error(-int32(syscall.ERANGE)))
	default:
		s.printf("Error: Value \"%s\" is incompatible with metric type (PM_TYPE_%s)\n", text, t)
	}
	return v, false
}
