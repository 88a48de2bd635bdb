package linux

import (
	"bytes"
	"encoding/binary"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of utmpMetrics.
const (
	utmpUsers = iota
	utmpRoots
	utmpSessions
	numUtmp
)

// utmpFamily reads /var/run/utmp. Without the file there are no logins.
func utmpFamily(h *host) column.Family {
	b := column.NewBlocks(utmpMetrics, column.Layout{Cols: numUtmp})
	file := h.file("var/run/utmp")
	return column.Family{Name: "utmp", Metrics: utmpMetrics, Sources: []*column.Source{{
		Name: "/var/run/utmp", Blocks: b,
		Read: func() error {
			text, err := file.Read()
			if err != nil {
				text = nil
			}
			parseUtmp(text, b[0])
			return nil
		},
	}}}
}

// parseUtmp counts the records of utmp(5). A record has 384 bytes on every
// architecture that keeps 32-bit times there: its type in the first two, the
// user's name in 32 from the 44th.
func parseUtmp(b []byte, out *column.Block) {
	const (
		size        = 384
		userProcess = 7
	)
	var users, roots, sessions uint64
	for ; len(b) >= size; b = b[size:] {
		sessions++
		user, _, _ := bytes.Cut(b[44:76], []byte{0})
		if binary.NativeEndian.Uint16(b) != userProcess || len(user) == 0 {
			continue
		}
		users++
		if string(user) == "root" {
			roots++
		}
	}
	out.Set(0, utmpUsers, users)
	out.Set(0, utmpRoots, roots)
	out.Set(0, utmpSessions, sessions)
}

// utmpMetrics are the metrics of logins.
var utmpMetrics = []column.Metric{
	{Name: "kernel.all.nusers", Cluster: 25, Item: 0, Type: pcp.TypeU32, Sem: instant, Col: utmpUsers, Help: "Logged in users"},
	{Name: "kernel.all.nroots", Cluster: 25, Item: 1, Type: pcp.TypeU32, Sem: instant, Col: utmpRoots, Help: "Logins of root"},
	{Name: "kernel.all.nsessions", Cluster: 25, Item: 2, Type: pcp.TypeU32, Sem: instant, Col: utmpSessions, Help: "Records of logins in utmp, of whatever kind"},
}
