package cli

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
)

// OptJSON is our own: the C tools do not have it.
var OptJSON = Option{Long: "json", Help: "write one JSON object a line (docs/json.md)", Extra: true}

// A JSONDesc is what a descriptor says, in the line of a metric.
type JSONDesc struct {
	Type      string `json:"type,omitempty"`
	InDom     string `json:"indom,omitempty"` // not of a metric with a single value
	Semantics string `json:"semantics,omitempty"`
	Units     string `json:"units,omitempty"` // not of a metric without
}

// DescribeJSON returns the part of a metric's line that describes it.
func DescribeJSON(d *pcp.Desc) JSONDesc {
	j := JSONDesc{Type: d.Type.String(), Semantics: d.Sem.String(), Units: d.Units.String()}
	if d.InDom != pcp.InDomNull {
		j.InDom = d.InDom.String()
	}
	return j
}

// A JSONInstance is the value of an instance.
type JSONInstance struct {
	Inst     int32           `json:"inst"`
	Instance string          `json:"instance,omitempty"` // its name
	Value    json.RawMessage `json:"value"`
}

// JSONValue returns v, a value of a metric of type t, as JSON: a number, or
// null where JSON has none (NaN, infinity); a string; the bytes of an aggregate
// in hexadecimal; or a list of event records, whose parameters metric tells the
// names and types of.
func JSONValue(v pcp.Value, t pcp.Type, metric func(pcp.PMID) (string, pcp.Type)) json.RawMessage {
	v = v.As(t)
	switch t {
	case pcp.TypeEvent, pcp.TypeHighResEvent:
		return jsonEvents(v, metric)
	case pcp.TypeString:
		return mustJSON(string(v.Bytes()))
	case pcp.TypeAggregate, pcp.TypeAggregateStatic:
		return mustJSON(hex.EncodeToString(v.Bytes()))
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
		b = jsonFloat(float64(x.Float()), 32)
	case pcp.TypeDouble:
		b = jsonFloat(x.Double(), 64)
	default:
		b = []byte("null")
	}
	return b
}

// JSONFloat returns f as JSON, null where JSON has no such number.
func JSONFloat(f float64) json.RawMessage { return jsonFloat(f, 64) }

func jsonFloat(f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null")
	}
	return strconv.AppendFloat(nil, f, 'g', -1, bits)
}

// JSONTime returns ts in the form of RFC 3339, in UTC.
func JSONTime(ts pcp.Timestamp) string { return ts.Time().UTC().Format(time.RFC3339Nano) }

type jsonEvent struct {
	Time   string      `json:"time"`
	Flags  string      `json:"flags,omitempty"`
	Missed uint32      `json:"missed,omitempty"`
	Params []jsonParam `json:"parameters,omitempty"`
}

type jsonParam struct {
	Name  string          `json:"metric,omitempty"`
	PMID  string          `json:"pmid"`
	Value json.RawMessage `json:"value"`
}

func jsonEvents(v pcp.Value, metric func(pcp.PMID) (string, pcp.Type)) json.RawMessage {
	records, err := v.EventRecords()
	if err != nil {
		return json.RawMessage("null")
	}
	events := make([]jsonEvent, len(records))
	for i, r := range records {
		e := jsonEvent{Time: JSONTime(r.Time), Missed: r.Missed}
		if r.Flags != 0 {
			e.Flags = r.Flags.String()
		}
		for _, p := range r.Params {
			name, t := metric(p.PMID)
			e.Params = append(e.Params, jsonParam{name, p.PMID.String(), JSONValue(p.Value, t, metric)})
		}
		events[i] = e
	}
	return mustJSON(events)
}

// JSONLine returns v as JSON with a newline. v is of our own making and can
// always be encoded.
func JSONLine(v any) []byte { return append(mustJSON(v), '\n') }

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
