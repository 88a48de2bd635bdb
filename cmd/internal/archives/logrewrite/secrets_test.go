package logrewrite

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

var secretProc = pcp.NewInDom(3, 9)

// makeSecrets writes an archive in which confidential strings contain "secret".
func makeSecrets(t *testing.T, base string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	start := pcp.Timestamp{Sec: 1700000000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{PID: 1, Start: start, Host: "secret.example.com", TimeZone: "UTC"}})
	must(err)
	labels, err := pcp.ParseLabels(`{"domainname":"secret.example.com","groupid":7,"hostname":"secret","machineid":"secret5"}`, pcp.LabelContext)
	must(err)
	must(w.Labels(start, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{labels}))
	must(w.InDom(start, secretProc, []pcp.Instance{{Inst: 17, Name: "17 /home/secret/bin/vault --key secret -f /a/b"}}))
	var res pcp.Result
	res.Time = start
	add := func(id pcp.PMID, in pcp.InDom, name, value string) {
		must(w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeString, InDom: in, Sem: pcp.SemDiscrete}, name))
		res.AddSet(id)
		res.Sets[len(res.Sets)-1].ValFmt = pcp.ValDPtr
		v := pcp.StringValue(value)
		if in != pcp.InDomNull {
			v = v.WithInst(17)
		}
		res.Add(v)
	}
	add(pcp.NewPMID(60, 12, 2), pcp.InDomNull, "kernel.uname.nodename", "secret")
	add(pcp.NewPMID(60, 12, 5), pcp.InDomNull, "pmda.uname", "Linux secret.example.com 6.1.0 x86_64")
	add(pcp.NewPMID(2, 0, 21), pcp.InDomNull, "pmcd.hostname", "secret")
	add(pcp.NewPMID(3, 8, 3), secretProc, "proc.psinfo.cmd", "vault")
	add(pcp.NewPMID(3, 8, 29), secretProc, "proc.psinfo.psargs", "vault --key secret")
	add(pcp.NewPMID(3, 8, 60), secretProc, "proc.psinfo.exe", "/home/secret/bin/vault")
	add(pcp.NewPMID(3, 31, 8), secretProc, "proc.id.uid_nm", "secret")
	must(w.WriteResult(&res))
	must(w.Close())
}
