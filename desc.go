package pcp

import "strconv"

// A Desc describes a metric (pmDesc).
type Desc struct {
	PMID  PMID
	Type  Type
	InDom InDom // InDomNull for a metric with a single value
	Sem   Sem
	Units Units
}

// A Type is the data type of a metric's values (PM_TYPE_*).
type Type int32

// Data types. The numbers are part of the protocol and of the archive format.
const (
	TypeNoSupport       Type = -1  // PM_TYPE_NOSUPPORT: not available on this system
	Type32              Type = 0   // PM_TYPE_32: int32
	TypeU32             Type = 1   // PM_TYPE_U32: uint32
	Type64              Type = 2   // PM_TYPE_64: int64
	TypeU64             Type = 3   // PM_TYPE_U64: uint64
	TypeFloat           Type = 4   // PM_TYPE_FLOAT: IEEE 754, 32 bits
	TypeDouble          Type = 5   // PM_TYPE_DOUBLE: IEEE 754, 64 bits
	TypeString          Type = 6   // PM_TYPE_STRING: bytes, with a closing NUL on the wire
	TypeAggregate       Type = 7   // PM_TYPE_AGGREGATE: opaque bytes
	TypeAggregateStatic Type = 8   // PM_TYPE_AGGREGATE_STATIC: opaque bytes
	TypeEvent           Type = 9   // PM_TYPE_EVENT: packed event records, microseconds
	TypeHighResEvent    Type = 10  // PM_TYPE_HIGHRES_EVENT: packed event records, nanoseconds
	TypeUnknown         Type = 255 // PM_TYPE_UNKNOWN: only in a value block, never in a Desc
)

// String names t as pmTypeStr(3) does: U64, DOUBLE, NO_SUPPORT, ...
func (t Type) String() string {
	switch t {
	case TypeNoSupport:
		return "NO_SUPPORT"
	case Type32:
		return "32"
	case TypeU32:
		return "U32"
	case Type64:
		return "64"
	case TypeU64:
		return "U64"
	case TypeFloat:
		return "FLOAT"
	case TypeDouble:
		return "DOUBLE"
	case TypeString:
		return "STRING"
	case TypeAggregate:
		return "AGGREGATE"
	case TypeAggregateStatic:
		return "AGGREGATE_STATIC"
	case TypeEvent:
		return "EVENT"
	case TypeHighResEvent:
		return "HIGHRES_EVENT"
	case TypeUnknown:
		return "UNKNOWN"
	}
	return "???"
}

// IsNumeric reports whether values of type t are numbers.
func (t Type) IsNumeric() bool { return t >= Type32 && t <= TypeDouble }

// InSitu reports whether values of type t are stored in the value set itself
// (PM_VAL_INSITU), not in a separate block.
func (t Type) InSitu() bool { return t == Type32 || t == TypeU32 }

// A Sem is the semantics of a metric: how its values follow each other (PM_SEM_*).
type Sem int32

// Semantics. The numbers are part of the protocol and of the archive format.
const (
	SemCounter  Sem = 1 // PM_SEM_COUNTER: grows monotonically; its rate is of interest
	SemInstant  Sem = 3 // PM_SEM_INSTANT: continuous, no relation between values
	SemDiscrete Sem = 4 // PM_SEM_DISCRETE: holds until the next value
)

// String names s as pmSemStr(3) does.
func (s Sem) String() string {
	switch s {
	case SemCounter:
		return "counter"
	case SemInstant:
		return "instant"
	case SemDiscrete:
		return "discrete"
	}
	return "???"
}

// A TextKind selects help text (PM_TEXT_*); one of TextOneLine and TextHelp,
// with one of TextPMID and TextInDom in a request.
type TextKind int32

// Kinds of help text.
const (
	TextOneLine TextKind = 1  // PM_TEXT_ONELINE: one line
	TextHelp    TextKind = 2  // PM_TEXT_HELP: the long form
	TextPMID    TextKind = 4  // PM_TEXT_PMID: of a metric
	TextInDom   TextKind = 8  // PM_TEXT_INDOM: of an instance domain
	TextDirect  TextKind = 16 // PM_TEXT_DIRECT: do not fall back from help to the one-line text
)

// String names the bits of k, for messages: "help|pmid".
func (k TextKind) String() string {
	var b []byte
	for i, name := range [...]string{"oneline", "help", "pmid", "indom", "direct"} {
		if k&(1<<i) == 0 {
			continue
		}
		if b != nil {
			b = append(b, '|')
		}
		b = append(b, name...)
	}
	if rest := k &^ 31; rest != 0 || k == 0 {
		if b != nil {
			b = append(b, '|')
		}
		b = strconv.AppendInt(b, int64(rest), 10)
	}
	return string(b)
}
