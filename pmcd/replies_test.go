package pmcd_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// startTwin runs our server with the configuration and names of a real one.
func startTwin(t *testing.T, real *oracle.PMCD) *testServer {
	t.Helper()
	return start(t, twinConfig(t, real))
}

// twinConfig is the configuration and the names that a real one has now.
func twinConfig(t *testing.T, real *oracle.PMCD) pmcd.Config {
	t.Helper()
	file, err := conf.ReadFile(real.Dir + "/pmcd.conf")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pmns.Load(real.PMNS, true)
	if err != nil {
		t.Fatal(err)
	}
	cfg := pmcd.Config{
		Access: file.Access, NameSpace: names,
		AgentEnv: []string{"PCP_PMDAS_DIR=" + real.PMDAs}, // has their help
	}
	for _, spec := range pmcd.AgentSpecs(file.Agents) {
		if spec.Kind == conf.DSO {
			spec.Open = builtin(t, spec.Name).Open
		}
		cfg.Agents = append(cfg.Agents, spec)
	}
	return cfg
}

// TestRepliesAreThoseOfTheRealOne sends the same requests to a real collector and
// to ours, both with the same C agents.
func TestRepliesAreThoseOfTheRealOne(t *testing.T) {
	real := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple"}})
	ours := startTwin(t, real)

	const sample, simple, nobody = 29, 253, 400
	id := pcp.NewPMID
	one, ten, bin := id(sample, 0, 10), id(sample, 0, 11), id(sample, 0, 6)
	str := id(sample, 0, 31)
	binDom := pcp.NewInDom(sample, 2)
	type req = wire.PDU
	reqs := []req{
		&wire.DescReq{PMID: one},
		&wire.DescReq{PMID: id(sample, 0, 999)},
		&wire.DescReq{PMID: id(nobody, 0, 1)},
		&wire.DescReq{PMID: pcp.PMIDNull},
		&wire.DescReq{PMID: id(2, 0, 4)},
		&wire.DescIDs{PMIDs: []pcp.PMID{one, ten, bin}},
		&wire.DescIDs{PMIDs: []pcp.PMID{one, id(nobody, 1, 1), id(sample, 0, 999)}},
		&wire.DescIDs{PMIDs: []pcp.PMID{id(nobody, 1, 1)}},
		&wire.DescIDs{PMIDs: []pcp.PMID{id(sample, 0, 999)}},
		&wire.DescIDs{PMIDs: []pcp.PMID{one}},
		&wire.InstanceReq{InDom: binDom, Inst: pcp.InNull},
		&wire.InstanceReq{InDom: binDom, Inst: 300},
		&wire.InstanceReq{InDom: binDom, Inst: 301},
		&wire.InstanceReq{InDom: binDom, Inst: pcp.InNull, Name: "bin-400"},
		&wire.InstanceReq{InDom: binDom, Inst: pcp.InNull, Name: "bin-401"},
		&wire.InstanceReq{InDom: pcp.NewInDom(sample, 4000), Inst: pcp.InNull},
		&wire.InstanceReq{InDom: pcp.NewInDom(nobody, 1), Inst: pcp.InNull},
		&wire.InstanceReq{InDom: pcp.InDomNull, Inst: pcp.InNull},
		// The real pmcd's own agent is in process, as ours is.
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 2), Inst: pcp.InNull},
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 2), Inst: 3},
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 2), Inst: pcp.InNull, Name: "7"},
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 2), Inst: pcp.InNull, Name: "77"},
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 2), Inst: 77},
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 3), Inst: pcp.InNull},
		&wire.InstanceReq{InDom: pcp.NewInDom(2, 3), Inst: pcp.InNull, Name: "sample"},
		&wire.TextReq{Ident: uint32(one), Kind: pcp.TextPMID | pcp.TextOneLine},
		&wire.TextReq{Ident: uint32(one), Kind: pcp.TextPMID | pcp.TextHelp},
		&wire.TextReq{Ident: uint32(binDom), Kind: pcp.TextInDom | pcp.TextOneLine},
		&wire.TextReq{Ident: uint32(binDom), Kind: pcp.TextInDom | pcp.TextHelp},
		&wire.TextReq{Ident: uint32(id(sample, 0, 999)), Kind: pcp.TextPMID | pcp.TextHelp},
		&wire.TextReq{Ident: uint32(id(nobody, 0, 999)), Kind: pcp.TextPMID | pcp.TextHelp},
		&wire.LabelReq{Ident: 0, Kind: pcp.LabelContext},
		&wire.LabelReq{Ident: uint32(pcp.PMIDNull), Kind: pcp.LabelContext},
		&wire.LabelReq{Ident: sample, Kind: pcp.LabelDomain},
		&wire.LabelReq{Ident: simple, Kind: pcp.LabelDomain},
		&wire.LabelReq{Ident: 2, Kind: pcp.LabelDomain},
		&wire.LabelReq{Ident: nobody, Kind: pcp.LabelDomain},
		&wire.LabelReq{Ident: uint32(one), Kind: pcp.LabelCluster},
		&wire.LabelReq{Ident: uint32(one), Kind: pcp.LabelItem},
		&wire.LabelReq{Ident: uint32(id(nobody, 0, 1)), Kind: pcp.LabelItem},
		&wire.LabelReq{Ident: uint32(id(nobody, 0, 1)), Kind: pcp.LabelCluster},
		&wire.LabelReq{Ident: uint32(id(2, 0, 1)), Kind: pcp.LabelItem},
		&wire.LabelReq{Ident: uint32(binDom), Kind: pcp.LabelInDom},
		&wire.LabelReq{Ident: uint32(binDom), Kind: pcp.LabelInstances},
		&wire.LabelReq{Ident: uint32(pcp.NewInDom(nobody, 2)), Kind: pcp.LabelInstances},
		&wire.LabelReq{Ident: uint32(pcp.NewInDom(2, 2)), Kind: pcp.LabelInstances},
		&wire.LabelReq{Ident: uint32(pcp.NewInDom(simple, 0)), Kind: pcp.LabelInstances},
		&wire.LabelReq{Ident: uint32(binDom), Kind: 64},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{one}},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{id(sample, 0, 999)}},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{id(nobody, 0, 999)}},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{id(2, 0, 999)}},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{id(sample, 1009, 0)}},
		&wire.PMNSNames{Names: []string{"sample.long.one"}},
		&wire.PMNSNames{Names: []string{"sample.long.one", "sample.no.such"}},
		&wire.PMNSNames{Names: []string{"sample.no.such"}},
		&wire.PMNSNames{Names: []string{"nothing"}},
		&wire.PMNSNames{Names: []string{"sample.long"}},
		&wire.PMNSNames{Names: []string{"sample.long", "sample.long.one"}},
		&wire.PMNSNames{Names: []string{"sample.long", "sample.no", "nothing"}},
		&wire.PMNSNames{Names: []string{""}},
		&wire.PMNSNames{Names: []string{"sample.secret.foo.bar.max.redirect"}},
		&wire.PMNSNames{Names: []string{"sample.secret"}},
		&wire.PMNSNames{Names: []string{"sample.secret.foo"}},
		&wire.PMNSNames{Names: []string{"sample.secret.no.such"}},
		&wire.PMNSNames{Names: []string{"sample.secret.no.such", "sample.secret.bar"}},
		&wire.PMNSNames{Names: []string{"sample.secret.foo", "sample.secret.bar", "sample.secret"}},
		&wire.PMNSChild{Name: "sample", WithStatus: true},
		&wire.PMNSChild{Name: "sample"},
		&wire.PMNSChild{Name: "", WithStatus: true},
		&wire.PMNSChild{Name: "sample.long.one", WithStatus: true},
		&wire.PMNSChild{Name: "sample.no.such", WithStatus: true},
		&wire.PMNSChild{Name: "sample.secret", WithStatus: true},
		&wire.PMNSChild{Name: "sample.secret"},
		&wire.PMNSChild{Name: "sample.secret.foo", WithStatus: true},
		&wire.PMNSChild{Name: "sample.secret.foo.one", WithStatus: true},
		&wire.PMNSChild{Name: "sample.secret.no", WithStatus: true},
		&wire.PMNSTraverse{Name: "sample"},
		&wire.PMNSTraverse{Name: "sample.long"},
		&wire.PMNSTraverse{Name: "sample.long.one"},
		&wire.PMNSTraverse{Name: "sample.no.such"},
		&wire.PMNSTraverse{Name: "simple"},
		&wire.PMNSTraverse{Name: "sample.secret"},
		&wire.PMNSTraverse{Name: "sample.secret.foo"},
		&wire.PMNSTraverse{Name: "sample.secret.bar"},
		&wire.PMNSTraverse{Name: "sample.secret.no"},
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{one}}, // without a profile
	}
	fetches := []req{
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{one}},
		&wire.Fetch{PMIDs: []pcp.PMID{one}},
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{one, bin, str, id(nobody, 0, 0), id(sample, 0, 999), ten}},
		&wire.Fetch{PMIDs: []pcp.PMID{id(nobody, 0, 0), id(2, 0, 4), str, id(simple, 0, 1), one}},
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id(2, 0, 999), id(2, 0, 8)}},
		&wire.Fetch{HighRes: true, Context: 7, PMIDs: []pcp.PMID{one}}, // a context without a profile
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.PMIDNull, one}},
		// The same metric twice.
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{one, one, id(2, 0, 4), one}},
		&wire.Result{Result: storeOf(id(sample, 0, 0), 5)},
		&wire.Result{Result: storeOf(one, 5)},
		&wire.Result{Result: storeOf(id(nobody, 0, 0), 5)},
		&wire.Result{Result: storeOf(id(sample, 0, 14), 99)},
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id(sample, 0, 14)}},
		&wire.Result{Result: storeOf(id(2, 0, 4), 17)},
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id(2, 0, 4)}},
		&wire.Result{Result: storeOf(id(2, 0, 7), 17)},
		&wire.Result{Result: storeOf(id(2, 0, 24), 17)},
		&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id(2, 0, 24)}},
	}
	for _, by := range []struct{ network, real, ours string }{
		{"tcp", real.TCP, ours.TCP},
		{"unix", real.Socket, ours.Socket},
	} {
		a, b := dial(t, by.network, by.real), dial(t, by.network, by.ours)
		compare := func(p wire.PDU) {
			t.Helper()
			want, got := a.ask(p), b.ask(p)
			blankInDom(want, got)
			blankTime(want)
			blankTime(got)
			if !bytes.Equal(got, want) {
				t.Errorf("%s: reply to %v %+v\ngot\n%swant\n%s", by.network, p.Type(), p, dump(got), dump(want))
			}
		}
		for _, p := range reqs {
			compare(p)
		}
		profiles := []*wire.Profile{
			{},
			{Profile: pcp.Profile{State: pcp.ProfileExclude, InDoms: []pcp.ProfileInDom{
				{InDom: binDom, State: pcp.ProfileExclude, Insts: []int32{200, 900}},
			}}},
			{Profile: pcp.Profile{InDoms: []pcp.ProfileInDom{
				{InDom: pcp.NewInDom(2, 2), State: pcp.ProfileExclude, Insts: []int32{2, 9}},
				{InDom: binDom, State: pcp.ProfileInclude, Insts: []int32{100}},
			}}},
		}
		for _, p := range profiles {
			a.send(p)
			b.send(p)
			for _, f := range fetches {
				compare(f)
			}
		}
	}
}

func storeOf(id pcp.PMID, v int32) pcp.Result {
	var res pcp.Result
	res.AddSet(id)
	res.Add(pcp.Int32Value(v))
	return res
}

// blankTime takes the time out of a result.
func blankTime(b []byte) {
	switch wire.Type(binary.BigEndian.Uint32(b[4:])) {
	case wire.TypeResult:
		clear(b[12:20])
	case wire.TypeHighResResult:
		clear(b[16:32])
	}
}

// blankInDom takes over the instance domain of our reply: the real one leaves
// arbitrary memory there for agents in its process.
func blankInDom(want, got []byte) {
	if wire.Type(binary.BigEndian.Uint32(want[4:])) == wire.TypeInstance && len(got) >= 16 {
		copy(want[12:16], got[12:16])
	}
}

func dump(b []byte) string {
	if len(b) > 512 {
		return hex.Dump(b[:512]) + fmt.Sprintf("... %d bytes\n", len(b))
	}
	return hex.Dump(b)
}
