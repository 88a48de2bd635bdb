package pcpjson

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
)

// A Desc has the fields of a descriptor, to embed in the object of a metric.
type Desc struct {
	Type      string `json:"type,omitempty"`
	InDom     string `json:"indom,omitempty"` // empty if the metric has a single value
	Semantics string `json:"semantics,omitempty"`
	Units     string `json:"units,omitempty"` // empty if the metric has no units
}

// Describe returns d as a Desc.
func Describe(d *pcp.Desc) Desc {
	j := Desc{Type: d.Type.String(), Semantics: d.Sem.String(), Units: d.Units.String()}
	if d.InDom != pcp.InDomNull {
		j.InDom = d.InDom.String()
	}
	return j
}

// Values has the values of a metric, to embed in its object: one Value, or the
// Instances of its instance domain.
type Values struct {
	Value     json.RawMessage `json:"value,omitempty"`
	Instances []Instance      `json:"instances,omitempty"`
}

// An Instance is the value of one instance.
type Instance struct {
	Inst     int32           `json:"inst"`
	Instance string          `json:"instance,omitempty"` // its name
	Value    json.RawMessage `json:"value"`
}

// A namer returns the name and the type of a metric that is a parameter of event
// records: "" and TypeUnknown if they are not known.
type namer func(pcp.PMID) (string, pcp.Type)

// Value returns v, a value of a metric of type t, as JSON: a number, or null if
// JSON has no such number (NaN, infinity); a string; the bytes of an aggregate in
// hexadecimal; or a list of event records, for whose parameters it calls metric
// unless that is nil.
func Value(v pcp.Value, t pcp.Type, metric namer) json.RawMessage {
	v = v.As(t)
	switch t {
	case pcp.TypeEvent, pcp.TypeHighResEvent:
		return events(v, metric)
	case pcp.TypeString:
		return marshal(string(v.Bytes()))
	case pcp.TypeAggregate, pcp.TypeAggregateStatic:
		return marshal(hex.EncodeToString(v.Bytes()))
	}
	x, err := v.Extract(t, t)
	if err != nil {
		return json.RawMessage("null")
	}
	var b []byte
	switch t {
	case pcp.Type32:
		b = strconv.AppendInt(nil, int64(x.Int32()), 10)
	case pcp.TypeU32:
		b = strconv.AppendUint(nil, uint64(x.Uint32()), 10)
	case pcp.Type64:
		b = strconv.AppendInt(nil, x.Int64(), 10)
	case pcp.TypeU64:
		b = strconv.AppendUint(nil, x.Uint64(), 10)
	case pcp.TypeFloat:
		b = float(float64(x.Float()), 32)
	case pcp.TypeDouble:
		b = float(x.Double(), 64)
	default:
		b = []byte("null")
	}
	return b
}

// Float returns f as JSON: null if it is NaN or infinite.
func Float(f float64) json.RawMessage { return float(f, 64) }

func float(f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null")
	}
	return strconv.AppendFloat(nil, f, 'g', -1, bits)
}

// Time returns ts in the form of RFC 3339, in UTC.
func Time(ts pcp.Timestamp) string { return ts.Time().UTC().Format(time.RFC3339Nano) }

type event struct {
	Time   string  `json:"time"`
	Flags  string  `json:"flags,omitempty"`
	Missed uint32  `json:"missed,omitempty"`
	Params []param `json:"parameters,omitempty"`
}

type param struct {
	Name  string          `json:"metric,omitempty"`
	PMID  string          `json:"pmid"`
	Value json.RawMessage `json:"value"`
}

func events(v pcp.Value, metric namer) json.RawMessage {
	records, err := v.EventRecords()
	if err != nil {
		return json.RawMessage("null")
	}
	list := make([]event, len(records))
	for i, r := range records {
		e := event{Time: Time(r.Time), Missed: r.Missed}
		if r.Flags != 0 {
			e.Flags = r.Flags.String()
		}
		for _, p := range r.Params {
			name, t := "", pcp.TypeUnknown
			if metric != nil {
				name, t = metric(p.PMID)
			}
			e.Params = append(e.Params, param{name, p.PMID.String(), Value(p.Value, t, metric)})
		}
		list[i] = e
	}
	return marshal(list)
}

// Line returns v as JSON with a newline. It panics if v cannot be encoded.
func Line(v any) []byte { return append(marshal(v), '\n') }

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
