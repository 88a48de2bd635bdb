package mmv

import "github.com/go-pcp/pcp"

// Versions of the file format. A file has the lowest version that can hold its contents.
const (
	Version1 = 1 // names of at most 63 bytes, kept in the records
	Version2 = 2 // names in the strings section, at most 255 bytes
	Version3 = 3 // as 2, with labels
)

// Limits of the format and of its readers.
const (
	NameMax       = 64  // MMV_NAMEMAX: bytes of a version 1 name, closing NUL included
	StringMax     = 256 // MMV_STRINGMAX: bytes of any string, closing NUL included
	labelMax      = 244 // MMV_LABELMAX: bytes of a label's "name":value, closing NUL included
	MaxItem       = 1<<10 - 1
	MaxCluster    = 1<<12 - 1
	MaxSerial     = 1<<22 - 1 // of an instance domain
	maxMetrics    = MaxItem   // in one file
	maxFileLabels = 1<<8 - 1  // in one file
	maxFileValues = 1 << 20   // in one file, and the same number of instances: a limit of this package
)

// Flags of a file (mmv_stats_flags_t).
type Flags uint32

// File flags. The numbers are part of the file format; do not change.
const (
	FlagNoPrefix Flags = 1 << 0 // MMV_FLAG_NOPREFIX: names are mmv.METRIC, without the file's name
	FlagProcess  Flags = 1 << 1 // MMV_FLAG_PROCESS: the metrics go when the process does
	FlagSentinel Flags = 1 << 2 // MMV_FLAG_SENTINEL: a value of all ones, NaN or "" means no value
)

// A Type is the type of a metric's values (mmv_metric_type_t).
type Type int32

// Metric types. The numbers are part of the file format; do not change.
const (
	TypeNoSupport Type = -1 // MMV_TYPE_NOSUPPORT
	TypeI32       Type = 0  // MMV_TYPE_I32
	TypeU32       Type = 1  // MMV_TYPE_U32
	TypeI64       Type = 2  // MMV_TYPE_I64
	TypeU64       Type = 3  // MMV_TYPE_U64
	TypeFloat     Type = 4  // MMV_TYPE_FLOAT
	TypeDouble    Type = 5  // MMV_TYPE_DOUBLE
	TypeString    Type = 6  // MMV_TYPE_STRING
	TypeElapsed   Type = 9  // MMV_TYPE_ELAPSED: 64 bits of microseconds, growing inside a section
)

// valid reports whether the C library accepts t.
func (t Type) valid() bool { return t >= TypeNoSupport && t <= TypeElapsed }

// PCP returns the type under which a collector serves values of type t.
func (t Type) PCP() pcp.Type {
	switch {
	case t == TypeElapsed:
		return pcp.Type64
	case t >= TypeI32 && t <= TypeString:
		return pcp.Type(t)
	}
	return pcp.TypeNoSupport
}

// Sections of a file (mmv_toc_type_t).
const (
	tocInDoms    = 1
	tocInstances = 2
	tocMetrics   = 3
	tocValues    = 4
	tocStrings   = 5
	tocLabels    = 6
)

// Sizes of records. Part of the file format; do not change.
//
//	header    magic[4] version:4 g1:8 g2:8 tocs:4 flags:4 process:4 cluster:4
//	toc       type:4 count:4 offset:8
//	indom     serial:4 count:4 offset:8 shorttext:8 helptext:8
//	instance  indom:8 pad:4 internal:4 external[64]      (version 1)
//	          indom:8 pad:4 internal:4 external:8        (versions 2, 3)
//	metric    name[64] item:4 type:4 sem:4 units:4 indom:4 pad:4 shorttext:8 helptext:8
//	          name:8   item:4 type:4 sem:4 units:4 indom:4 pad:4 shorttext:8 helptext:8
//	value     value:8 extra:8 metric:8 instance:8
//	string    payload[256]
//	label     flags:4 identity:4 internal:4 payload[244]
//
// All in the byte order of the machine that wrote it.
const (
	headerSize    = 40
	tocSize       = 16
	inDomSize     = 32
	instance1Size = 80
	instance2Size = 24
	metric1Size   = 104
	metric2Size   = 48
	valueSize     = 32
	stringSize    = StringMax
	labelSize     = 256
)

// Offsets in the header.
const (
	hdrVersion = 4
	hdrG1      = 8
	hdrG2      = 16
	hdrTOCs    = 24
	hdrFlags   = 28
	hdrProcess = 32
	hdrCluster = 36
)
