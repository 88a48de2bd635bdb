package keys

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// Limits of stored text.
const (
	maxText  = 1 << 20 // bytes of a value or a string
	maxUnits = 256
)

// appendStamp appends the identifier of an entry in a stream.
func appendStamp(b []byte, t pcp.Timestamp) []byte {
	b = strconv.AppendUint(b, uint64(t.Sec)*1000+uint64(t.Nsec/1e6), 10)
	b = append(b, '-')
	return strconv.AppendUint(b, uint64(t.Nsec%1e6/1000), 10)
}

// parseStamp returns the time of an entry in a stream.
func parseStamp(s string) (pcp.Timestamp, error) {
	msText, usText, ok := strings.Cut(s, "-")
	ms, err := strconv.ParseUint(msText, 10, 63)
	us, err2 := strconv.ParseUint(usText, 10, 63)
	if !ok || err != nil || err2 != nil || us > 999 {
		return pcp.Timestamp{}, fmt.Errorf("%.40q is not the time of a value", s)
	}
	return pcp.Timestamp{Sec: int64(ms / 1000), Nsec: int32(ms%1000*1e6 + us*1000)}, nil
}

// types are the names of types in descriptors.
var types = [...]string{"32", "u32", "64", "u64", "float", "double", "string", "aggregate", "aggregate_static", "event", "highres_event"}

func typeText(t pcp.Type) string {
	switch {
	case t >= 0 && int(t) < len(types):
		return types[t]
	case t == pcp.TypeNoSupport:
		return "unsupported"
	}
	return "unknown"
}

func parseType(s string) (pcp.Type, error) {
	for i, name := range types {
		if name == s {
			return pcp.Type(i), nil
		}
	}
	switch s {
	case "unsupported":
		return pcp.TypeNoSupport, nil
	case "unknown":
		return pcp.TypeUnknown, nil
	}
	return 0, fmt.Errorf("%.40q is not a type", s)
}

func unitsText(u pcp.Units) string {
	if s := u.String(); s != "" {
		return s
	}
	return "none"
}

func parseUnits(s string) (pcp.Units, error) {
	if s == "none" || s == "" {
		return pcp.Units{}, nil
	}
	if len(s) > maxUnits {
		return pcp.Units{}, fmt.Errorf("units of %d bytes", len(s))
	}
	u, mult, err := pcp.ParseUnits(s)
	if err != nil || mult != 1 {
		return pcp.Units{}, fmt.Errorf("%.40q are not units", s)
	}
	return u, nil
}

func parseSem(s string) (pcp.Sem, error) {
	for _, sem := range []pcp.Sem{pcp.SemCounter, pcp.SemInstant, pcp.SemDiscrete} {
		if sem.String() == s {
			return sem, nil
		}
	}
	if s == pcp.Sem(0).String() { // of an expression
		return 0, nil
	}
	return 0, fmt.Errorf("%.40q is not semantics", s)
}

// parseNumbers parses numbers with dots between them.
func parseNumbers(s string, most ...int) ([]int, error) {
	list := strings.Split(s, ".")
	if len(list) != len(most) {
		return nil, fmt.Errorf("%.40q has not %d numbers", s, len(most))
	}
	numbers := make([]int, len(most))
	for i, text := range list {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || int(n) > most[i] {
			return nil, fmt.Errorf("%.40q has a wrong number", s)
		}
		numbers[i] = int(n)
	}
	return numbers, nil
}

// A description is the contents of pcp:desc:series:ID.
type description struct {
	desc   pcp.Desc
	source sid.ID
}

// parseDesc decodes the fields of a descriptor.
func parseDesc(fields map[string]string) (d description, err error) {
	d.desc = pcp.Desc{PMID: pcp.PMIDNull, InDom: pcp.InDomNull}
	if s, ok := strings.CutSuffix(fields["pmid"], ".*.*"); ok { // the root of dynamic metrics
		n, err := parseNumbers(s, 4095)
		if err != nil {
			return d, fmt.Errorf("pmid: %w", err)
		}
		d.desc.PMID = pcp.NewPMID(511, n[0], 0)
	} else if s != "none" {
		n, err := parseNumbers(s, 511, 4095, 1023)
		if err != nil {
			return d, fmt.Errorf("pmid: %w", err)
		}
		d.desc.PMID = pcp.NewPMID(n[0], n[1], n[2])
	}
	if s := fields["indom"]; s != "none" {
		n, err := parseNumbers(s, 511, 1<<22-1)
		if err != nil {
			return d, fmt.Errorf("indom: %w", err)
		}
		d.desc.InDom = pcp.NewInDom(n[0], n[1])
	}
	if d.desc.Sem, err = parseSem(fields["semantics"]); err != nil {
		return d, err
	}
	if d.desc.Type, err = parseType(fields["type"]); err != nil {
		return d, err
	}
	if d.desc.Units, err = parseUnits(fields["units"]); err != nil {
		return d, err
	}
	if d.source, err = binaryID(fields["source"]); err != nil {
		return d, fmt.Errorf("source: %w", err)
	}
	return d, nil
}

// binaryID returns the identifier of 20 bytes.
func binaryID(s string) (id sid.ID, err error) {
	if len(s) != sid.Size {
		return id, fmt.Errorf("identifier of %d bytes", len(s))
	}
	copy(id[:], s)
	return id, nil
}

// parseValue decodes a value in a stream.
func parseValue(s string, t pcp.Type) (pcp.Value, error) {
	if len(s) > maxText {
		return pcp.Value{}, fmt.Errorf("value of %d bytes", len(s))
	}
	var v pcp.Value
	var err error
	switch t {
	case pcp.Type32:
		var n int64
		n, err = strconv.ParseInt(s, 10, 32)
		v = pcp.Int32Value(int32(n))
	case pcp.TypeU32:
		var n uint64
		n, err = strconv.ParseUint(s, 10, 32)
		v = pcp.Uint32Value(uint32(n))
	case pcp.Type64:
		var n int64
		n, err = strconv.ParseInt(s, 10, 64)
		v = pcp.Int64Value(n)
	case pcp.TypeU64:
		var n uint64
		n, err = strconv.ParseUint(s, 10, 64)
		v = pcp.Uint64Value(n)
	case pcp.TypeFloat:
		var f float64
		f, err = parseFloat(s)
		v = pcp.FloatValue(float32(f))
	case pcp.TypeDouble:
		var f float64
		f, err = parseFloat(s)
		v = pcp.DoubleValue(f)
	case pcp.TypeString, pcp.TypeAggregate, pcp.TypeAggregateStatic:
		var b []byte
		b, err = unquote(s)
		v = pcp.BytesValue(t, b)
	default:
		return pcp.RawValue(t, 0), nil // the value of an event is the number of an error
	}
	if err != nil {
		return pcp.Value{}, fmt.Errorf("%.40q is not a value of type %v", s, t)
	}
	return v, nil
}

// parseFloat parses a number as printf(3) writes it.
func parseFloat(s string) (float64, error) {
	if rest, ok := strings.CutPrefix(s, "-"); ok && rest == "nan" {
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(f, 0) { // out of range
		return f, nil
	}
	return f, err
}

// lost is in the place of a byte that is not ASCII, of which the text keeps only that there was one.
const lost = 0xff

// unquote decodes the text of a string: in quotes, with all but printable ASCII as \u00XX.
func unquote(s string) ([]byte, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return nil, fmt.Errorf("not in quotes")
	}
	s = s[1 : len(s)-1]
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if len(s)-i < 6 || s[i+1] != 'u' {
			return nil, fmt.Errorf("wrong escape")
		}
		n, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
		if err != nil {
			return nil, err
		}
		i += 5
		if n > 0x7f {
			n = lost
		}
		b = append(b, byte(n))
	}
	return b, nil
}
