package mmvdump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/mmv"
)

// A document is the --json output for a file.
type document struct {
	File      string   `json:"file"`
	Version   int      `json:"version"`
	Generated uint64   `json:"generated"`
	Cluster   int      `json:"cluster"`
	Process   int      `json:"process"`
	Flags     []string `json:"flags"`
	InDoms    []inDom  `json:"indoms"`
	Metrics   []metric `json:"metrics"`
	Labels    []label  `json:"labels"`
	Problems  []string `json:"problems"` // broken references
}

type inDom struct {
	Serial    int        `json:"serial"`
	OneLine   string     `json:"oneline,omitempty"`
	Help      string     `json:"help,omitempty"`
	Instances []instance `json:"instances"`
}

type instance struct {
	Inst int32  `json:"inst"`
	Name string `json:"instance"`
}

type metric struct {
	Name    string  `json:"metric"`
	Item    int     `json:"item"`
	Type    string  `json:"type"`
	Sem     string  `json:"semantics"`
	Units   string  `json:"units"`
	InDom   int     `json:"indom,omitempty"` // serial
	OneLine string  `json:"oneline,omitempty"`
	Help    string  `json:"help,omitempty"`
	Values  []value `json:"values"`
}

type value struct {
	Inst  *int32 `json:"inst,omitempty"`
	Name  string `json:"instance,omitempty"` // its name
	Value any    `json:"value"`
}

type label struct {
	Level    string          `json:"level"`
	Identity int             `json:"identity"`
	Inst     *int32          `json:"inst,omitempty"`
	Optional bool            `json:"optional,omitempty"`
	Label    json.RawMessage `json:"label"`
}

// readDocument reads definitions and values of a file.
func readDocument(path string, now time.Time) (*document, error) {
	r, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return nil, unix.EINVAL // as mmap(2) returns
	}
	f, err := mmv.NewFile(r, st.Size())
	if err != nil {
		return nil, err
	}
	doc := &document{
		File: path, Version: f.Version, Generated: f.Generation, Cluster: f.Cluster, Process: f.Process,
		Flags: []string{}, InDoms: []inDom{}, Metrics: []metric{}, Labels: []label{}, Problems: []string{},
	}
	for i, name := range []string{"noprefix", "process", "sentinel"} {
		if f.Flags&(1<<i) != 0 {
			doc.Flags = append(doc.Flags, name)
		}
	}
	names := map[[2]int64]string{}
	for _, d := range f.InDoms {
		in := inDom{Serial: d.Serial, OneLine: d.OneLine, Help: d.Help, Instances: []instance{}}
		for _, i := range d.Instances {
			in.Instances = append(in.Instances, instance{i.Inst, i.Name})
			names[[2]int64{int64(d.Serial), int64(i.Inst)}] = i.Name
		}
		doc.InDoms = append(doc.InDoms, in)
	}
	var raw []mmv.RawValue
	if f.ValuesCount > 0 {
		if _, raw, err = f.ReadValues(r, nil, nil); err != nil {
			return nil, err
		}
	}
	for _, m := range f.Metrics {
		out := metric{
			Name: m.Name, Item: m.Item, Type: typeName(int32(m.Type)), Sem: semName(int32(m.Sem)), Units: m.Units.String(),
			InDom: m.InDom, OneLine: m.OneLine, Help: m.Help, Values: []value{},
		}
		for _, v := range m.Values {
			var val value
			if m.InDom != 0 {
				val.Inst, val.Name = &v.Inst, names[[2]int64{int64(m.InDom), int64(v.Inst)}]
			}
			if m.Type == mmv.TypeString {
				text, err := f.ReadText(r, v.Index)
				if err != nil {
					doc.Problems = append(doc.Problems, fmt.Sprintf("value[%d]: %v", v.Index, err))
				} else {
					val.Value = text
				}
			} else {
				val.Value = number(m.Type, raw[v.Index], now)
			}
			out.Values = append(out.Values, val)
		}
		doc.Metrics = append(doc.Metrics, out)
	}
	for _, l := range f.Labels {
		out := label{Level: l.Kind.Level().String(), Identity: l.Identity, Optional: l.Kind&pcp.LabelOptional != 0}
		if l.Kind&pcp.LabelInstances != 0 {
			out.Inst = &l.Inst
		}
		if out.Label = json.RawMessage(l.JSON); !json.Valid(out.Label) {
			out.Label, _ = json.Marshal(l.JSON)
		}
		doc.Labels = append(doc.Labels, out)
	}
	for _, err := range f.Problems {
		doc.Problems = append(doc.Problems, err.Error())
	}
	return doc, nil
}

// number returns a value for JSON, which has neither NaN nor infinities: they
// are strings.
func number(typ mmv.Type, raw mmv.RawValue, now time.Time) any {
	var f float64
	switch typ {
	case mmv.TypeI32:
		return int32(raw.Bits)
	case mmv.TypeU32:
		return uint32(raw.Bits)
	case mmv.TypeI64:
		return int64(raw.Bits)
	case mmv.TypeU64:
		return raw.Bits
	case mmv.TypeElapsed:
		v := int64(raw.Bits)
		if raw.Extra < 0 {
			v += now.UnixMicro() + raw.Extra
		}
		return v
	case mmv.TypeFloat:
		f = float64(math.Float32frombits(uint32(raw.Bits)))
	case mmv.TypeDouble:
		f = math.Float64frombits(raw.Bits)
	default:
		return nil
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return f
}

func printJSON(env *cli.Env, path string) int {
	doc, err := readDocument(path, time.Now())
	if err != nil {
		return env.Fatalf("%s: %s", path, message(err))
	}
	e := json.NewEncoder(env.Stdout)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// message returns the error message for a file that cannot be read.
func message(err error) string {
	var code pcp.Error
	if errors.As(err, &code) && err.Error() != code.Error() || errors.Is(err, mmv.ErrInFlux) {
		return err.Error()
	}
	return cli.ErrText(err)
}

// A change is a line of --watch --json.
type change struct {
	Time   string `json:"time"`
	Metric string `json:"metric"`
	value
}

// watch prints all values, and then repeatedly those that have changed, until ctx is
// done or the file is removed. While the file is in flux it waits.
func watch(ctx context.Context, env *cli.Env, path string, interval time.Duration, asJSON bool) int {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := map[string]string{}
	for first := true; ; first = false {
		now := time.Now()
		doc, err := readDocument(path, now)
		if err != nil && (first || !errors.Is(err, mmv.ErrInFlux)) {
			return env.Fatalf("%s: %s", path, message(err))
		}
		if err == nil {
			if err := printChanges(env, doc, now, last, asJSON); err != nil {
				return 1
			}
		}
		select {
		case <-ctx.Done():
			return 0
		case <-tick.C:
		}
	}
}

func printChanges(env *cli.Env, doc *document, now time.Time, last map[string]string, asJSON bool) error {
	e := json.NewEncoder(env.Stdout)
	for _, m := range doc.Metrics {
		for _, v := range m.Values {
			key := m.Name
			if v.Inst != nil {
				key += fmt.Sprintf("[%d or %q]", *v.Inst, v.Name)
			}
			text := display(v.Value)
			if old, ok := last[key]; ok && old == text {
				continue
			}
			last[key] = text
			var err error
			if asJSON {
				err = e.Encode(change{now.Format(time.RFC3339Nano), m.Name, v})
			} else {
				_, err = fmt.Fprintf(env.Stdout, "%s %s = %s\n", now.Format("15:04:05.000"), key, text)
			}
			if err != nil {
				return err
			}
		}
	}
	return env.FlushOut()
}

func display(v any) string {
	switch v := v.(type) {
	case nil:
		return "?"
	case string:
		return strconv.Quote(v)
	case float64:
		return fixed(v)
	}
	return fmt.Sprint(v)
}
