package report

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// TraceExtract has log print the value taken out of a set, and its conversion (-D value,
// pmExtractValue(3)), if that is enabled.
func TraceExtract(log *debug.Log, v *pcp.Value, from, to pcp.Type) {
	if !log.On(debugname.Value) || from == pcp.TypeUnknown || from == pcp.TypeEvent || from == pcp.TypeHighResEvent {
		return
	}
	before := "???"
	if t := v.Type(); t == pcp.TypeUnknown || t == from {
		before = v.As(from).String()
	}
	after, err := v.Extract(from, to)
	if err != nil {
		log.Printf("pmExtractValue:  %s [%s] -> Error: %s [%s]\n", before, from, pcp.Code(err), to)
		return
	}
	log.Printf("pmExtractValue:  %s [%s] -> %s [%s]\n", before, from, after, to)
}

// TracePrint is TraceExtract for a value that is printed with its own type (pmPrintValue(3)).
func TracePrint(log *debug.Log, v *pcp.Value, typ pcp.Type) { TraceExtract(log, v, typ, typ) }
