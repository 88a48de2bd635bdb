package linux

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of nfsClientMetrics.
const (
	blockNFSClients = iota
	blockNFSOpens
)

// Columns of blockNFSOpens.
const (
	openInode = iota
	openType
	openAccess
	openFile
	openClient
	openAddr
	openHost
	numNFSOpen
)

// nfsClientsDir has a directory for each client of the NFS server, for root alone.
const nfsClientsDir = "proc/fs/nfsd/clients"

// An nfsClientReader reads the clients of the NFS server and the files that they
// have open. The keys of the block of clients are those of the file info.
type nfsClientReader struct {
	host                  *host
	blocks                []*column.Block
	clientInsts, openInst column.Names
	key                   []byte // room to make names in
}

func newNFSClientReader(h *host) *nfsClientReader {
	r := &nfsClientReader{host: h}
	r.blocks = column.NewBlocks(nfsClientMetrics, []column.Layout{
		blockNFSClients: {Lists: true, InDom: &column.InDom{Serial: 45, Help: "Clients of the NFS server, by identifier"}},
		blockNFSOpens: {Cols: numNFSOpen, Lists: true, InDom: &column.InDom{
			Serial: 46, Help: "Files that clients of the NFS server have open, by inode and client",
			Labels: `{"indom_name":"per inode, per client_id","inode":"client_id"}`,
			InstanceLabels: func(_ int32, name string) map[string]any {
				inode, client, _ := strings.Cut(name, ":")
				n, _ := strconv.ParseUint(inode, 10, 64)
				return map[string]any{"inode": n, "client_id": client}
			},
		}},
	}...)
	return r
}

func (r *nfsClientReader) family() column.Family {
	return column.Family{Name: "nfs clients", Metrics: nfsClientMetrics, Sources: []*column.Source{
		{Name: "/" + nfsClientsDir + ": info", Read: r.readClients, Blocks: r.blocks[:blockNFSOpens]},
		{Name: "/" + nfsClientsDir + ": states", Read: r.readOpens, Blocks: r.blocks[blockNFSOpens:]},
	}}
}

// A nfsClient has the values of the file info, without quotes.
type nfsClient map[string][]byte

// parseNFSClient reads lines such as
//
//	clientid: 0x5d3fb2a36517b1a4
//	address: "192.0.2.7:876"
//	name: "Linux NFSv4.2 host.example.com"
//
// Of the name the last word is the host.
func parseNFSClient(b []byte) nfsClient {
	c := make(nfsClient)
	for line := range procfs.Lines(b) {
		key, val, ok := procfs.Cut(line, ':')
		if !ok {
			continue
		}
		val = bytes.Trim(val, `"`)
		if string(key) == "name" {
			_, rest := procfs.Field(val)
			_, rest = procfs.Field(rest)
			val, _ = procfs.Field(rest)
		}
		if _, twice := c[string(key)]; !twice {
			c[string(key)] = val
		}
	}
	return c
}

// info reads the client of a directory.
func (r *nfsClientReader) info(dir string) (c nfsClient, ok bool) {
	b, err := procfs.ReadOnce(r.host.path(nfsClientsDir + "/" + dir + "/info"))
	if err != nil {
		return nil, false
	}
	c = parseNFSClient(b)
	return c, len(c["clientid"]) > 0
}

// clients returns the directories of clients.
func (r *nfsClientReader) clients() []string {
	dirs := procfs.Names(r.host.path(nfsClientsDir))
	slices.Sort(dirs)
	return dirs
}

func (r *nfsClientReader) readClients() error {
	out := r.blocks[blockNFSClients]
	out.Clear()
	r.clientInsts.Begin()
	for _, dir := range r.clients() {
		c, ok := r.info(dir)
		if !ok {
			continue
		}
		inst, name := r.clientInsts.ID(c["clientid"])
		if !r.clientInsts.First(inst) {
			continue
		}
		row := out.AddNamed(inst, name)
		for key, col := range out.Keys() {
			val, ok := c[key]
			if !ok {
				continue
			}
			switch key {
			case "admin-revoked states", "session slots", "session target slots":
				if v, _, ok := procfs.Uint(val); ok {
					out.Set(row, col, v)
				}
			default:
				out.SetString(row, col, val)
			}
		}
	}
	return nil
}

func (r *nfsClientReader) readOpens() error {
	out := r.blocks[blockNFSOpens]
	out.Clear()
	r.openInst.Begin()
	rows := make(map[int32]int)
	for _, dir := range r.clients() {
		b, err := procfs.ReadOnce(r.host.path(nfsClientsDir + "/" + dir + "/states"))
		if err != nil || len(b) == 0 {
			continue
		}
		if c, ok := r.info(dir); ok {
			r.parseStates(b, c, rows)
		}
	}
	return nil
}

// parseStates reads the states that a client has, a line each:
//
//   - 0x0100000025deb1: { type: open, access: rw, deny: --, superblock: "fd:00:143", filename: "srv/data", owner: "open id:x" }
//
// If a client has several of one file the last is reported.
func (r *nfsClientReader) parseStates(b []byte, c nfsClient, rows map[int32]int) {
	out := r.blocks[blockNFSOpens]
	for line := range procfs.Lines(b) {
		_, attrs, ok := bytes.Cut(line, []byte("{"))
		if !ok {
			continue
		}
		block := bytes.Split(stateAttr(attrs, "superblock"), []byte(":"))
		inode, _, ok := procfs.Uint(block[len(block)-1])
		if len(block) != 3 || !ok || inode == 0 {
			continue
		}
		r.key = append(append(strconv.AppendUint(r.key[:0], inode, 10), ':'), c["clientid"]...)
		inst, name := r.openInst.ID(r.key)
		row, known := rows[inst]
		if !known {
			row = out.AddNamed(inst, name)
			rows[inst] = row
		}
		file := stateAttr(attrs, "filename")
		out.Set(row, openInode, inode)
		for col, s := range map[int][]byte{
			openType: stateAttr(attrs, "type"), openAccess: stateAttr(attrs, "access"), openFile: file[bytes.LastIndexByte(file, '/')+1:],
			openClient: c["clientid"], openAddr: c["address"], openHost: c["name"],
		} {
			out.Row(row)[col].OK = false
			if len(s) > 0 {
				out.SetString(row, col, s)
			}
		}
	}
}

// stateAttr returns the value of an attribute, which ends at the closing quote if it has
// quotes, otherwise at a comma or blank.
func stateAttr(attrs []byte, name string) []byte {
	_, val, ok := bytes.Cut(attrs, []byte(" "+name+": "))
	if !ok {
		return nil
	}
	if val, ok := bytes.CutPrefix(val, []byte(`"`)); ok {
		val, _, _ = bytes.Cut(val, []byte(`"`))
		return val
	}
	if end := bytes.IndexAny(val, ", }"); end >= 0 {
		val = val[:end]
	}
	return val
}

// nfsClientMetrics are newer than PCP 6.0.3.
var nfsClientMetrics = []column.Metric{
	{Name: "nfs4.server.clients.client_id", Cluster: 96, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockNFSClients, Key: "clientid", Help: "Identifier of each client of the NFS server"},
	{Name: "nfs4.server.clients.addr", Cluster: 96, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockNFSClients, Key: "address", Help: "Address of each client of the NFS server"},
	{Name: "nfs4.server.clients.status", Cluster: 96, Item: 2, Type: pcp.TypeString, Sem: discrete, From: blockNFSClients, Key: "status", Help: "Whether each client of the NFS server is confirmed"},
	{Name: "nfs4.server.clients.hostname", Cluster: 96, Item: 3, Type: pcp.TypeString, Sem: discrete, From: blockNFSClients, Key: "name", Help: "Host name that each client of the NFS server gives itself"},
	{Name: "nfs4.server.clients.callback_state", Cluster: 96, Item: 4, Type: pcp.TypeString, Sem: discrete, From: blockNFSClients, Key: "callback state", Help: "Whether each client of the NFS server can be called back"},
	{Name: "nfs4.server.clients.callback_addr", Cluster: 96, Item: 5, Type: pcp.TypeString, Sem: discrete, From: blockNFSClients, Key: "callback address", Help: "Address at which each client of the NFS server is called back"},
	{Name: "nfs4.server.clients.admin_revoked_states", Cluster: 96, Item: 6, Type: pcp.TypeU64, Sem: instant, From: blockNFSClients, Key: "admin-revoked states", Help: "States that an administrator took from each client of the NFS server"},
	{Name: "nfs4.server.clients.session_slots", Cluster: 96, Item: 7, Type: pcp.TypeU64, Sem: instant, From: blockNFSClients, Key: "session slots", Help: "Session slots of each client of the NFS server"},
	{Name: "nfs4.server.clients.session_target_slots", Cluster: 96, Item: 8, Type: pcp.TypeU64, Sem: instant, From: blockNFSClients, Key: "session target slots", Help: "Session slots that each client of the NFS server is to have"},
	{Name: "nfs4.server.open.inode", Cluster: 97, Item: 0, Type: pcp.TypeU64, Sem: instant, From: blockNFSOpens, Col: openInode, Help: "Inode of each file that a client of the NFS server has open"},
	{Name: "nfs4.server.open.type", Cluster: 97, Item: 1, Type: pcp.TypeString, Sem: instant, From: blockNFSOpens, Col: openType, Help: "What a client of the NFS server has of each file: open, lock, deleg or layout"},
	{Name: "nfs4.server.open.access", Cluster: 97, Item: 2, Type: pcp.TypeString, Sem: instant, From: blockNFSOpens, Col: openAccess, Help: "Access that a client of the NFS server has to each file"},
	{Name: "nfs4.server.open.filename", Cluster: 97, Item: 3, Type: pcp.TypeString, Sem: instant, From: blockNFSOpens, Col: openFile, Help: "Name of each file that a client of the NFS server has open"},
	{Name: "nfs4.server.open.client_id", Cluster: 97, Item: 4, Type: pcp.TypeString, Sem: instant, From: blockNFSOpens, Col: openClient, Help: "Identifier of the client that has the file open"},
	{Name: "nfs4.server.open.client_addr", Cluster: 97, Item: 5, Type: pcp.TypeString, Sem: instant, From: blockNFSOpens, Col: openAddr, Help: "Address of the client that has the file open"},
	{Name: "nfs4.server.open.client_hostname", Cluster: 97, Item: 6, Type: pcp.TypeString, Sem: instant, From: blockNFSOpens, Col: openHost, Help: "Host of the client that has the file open"},
}
