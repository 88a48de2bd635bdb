package agentadmin_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// silent is an agent that never sends anything.
func silent() { io.Copy(io.Discard, os.Stdin) }

// stuck is an agent that also does not end.
func stuck() { time.Sleep(time.Hour) }

func chatter() {
	fmt.Println("ready to serve, with a greeting on standard output")
	silent()
}

// odd is an agent that makes every possible mistake.
func odd() {
	d := &pmda.Daemon{Name: "pmdaodd", Domain: 400, LogFile: os.DevNull, KeepUser: true, New: func(domain int, _ *slog.Logger) (pmda.Agent, error) {
		a := &oddAgent{tree: pmns.New()}
		for i, name := range []string{"good", "type", "insitu", "inst", "twice", "single", "nodesc", "desc", "fails", "indom", "nohelp", "denied", "event"} {
			if err := a.tree.Add("odd."+name, pcp.NewPMID(domain, 0, i)); err != nil {
				return nil, err
			}
		}
		return a, a.tree.Add("odd.foreign", pcp.NewPMID(domain+1, 0, 0))
	}}
	d.Main()
}

type oddAgent struct {
	tree  *pmns.Tree
	asked bool
}

func (a *oddAgent) NameSpace() *pmns.Tree { return a.tree }

func (a *oddAgent) name(id pcp.PMID) string {
	names, err := a.tree.Names(id)
	if err != nil {
		return ""
	}
	return names[0]
}

func (a *oddAgent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	if !a.asked {
		a.asked = true
		return pcp.Desc{}, &pmda.NotReadyError{Until: time.Now()}
	}
	d := pcp.Desc{PMID: id, Type: pcp.TypeU64, Sem: pcp.SemInstant, InDom: pcp.NewInDom(400, 0)}
	switch a.name(id) {
	case "odd.insitu":
		d.Type = pcp.TypeFloat
	case "odd.single":
		d.InDom = pcp.InDomNull
	case "odd.event":
		d.Type = pcp.TypeEvent
	case "odd.nodesc":
		return d, pcp.ErrPMID
	case "odd.desc":
		d.PMID, d.Type, d.Sem, d.InDom = 0, 77, 2, pcp.NewInDom(401, 0)
	case "odd.indom":
		d.InDom = pcp.NewInDom(400, 1)
	}
	return d, nil
}

func (a *oddAgent) Instances(_ context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if indom.Serial() == 1 {
		return nil, pcp.ErrInDom
	}
	return []pcp.Instance{{Inst: 0, Name: "zero point"}, {Inst: 1, Name: "one"}, {Inst: 1, Name: "uno"}, {Inst: 2, Name: "zero line"}, {Inst: 3}}, nil
}

// LookupInstance and InstanceName contradict Instances.
func (a *oddAgent) LookupInstance(context.Context, pcp.InDom, string) (int32, error) { return 7, nil }

func (a *oddAgent) InstanceName(context.Context, pcp.InDom, int32) (string, error) {
	return "seven", nil
}

func (a *oddAgent) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if a.name(pcp.PMID(ident)) == "odd.nohelp" {
		return "", pcp.ErrText
	}
	return "help", nil
}

func (a *oddAgent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	for _, id := range req.PMIDs {
		set := pcp.ValueSet{PMID: id, ValFmt: pcp.ValDPtr, Values: []pcp.Value{pcp.Uint64Value(1).WithInst(0), pcp.Uint64Value(2).WithInst(1)}}
		switch a.name(id) {
		case "odd.type":
			set.Values = []pcp.Value{pcp.DoubleValue(1).WithInst(1)}
		case "odd.insitu":
			set.ValFmt, set.Values = pcp.ValInSitu, []pcp.Value{pcp.Uint32Value(1).WithInst(1)}
		case "odd.inst":
			set.Values[0].Inst = 5
		case "odd.twice":
			set.Values[0].Inst = 1
		case "odd.event":
			set.Values = []pcp.Value{pcp.BytesValue(pcp.TypeEvent, []byte{1, 2, 3, 4}).WithInst(1)}
		case "odd.denied":
			set.Err, set.Values = pcp.ErrPermission, nil
		case "odd.fails":
			return pcp.ErrAgain
		}
		req.Result.Sets = append(req.Result.Sets, set)
	}
	return nil
}
