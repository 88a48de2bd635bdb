package linux

import (
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of nfsMetrics.
const (
	blockNFSClient = iota
	blockNFSServer
	blockNFSAhead
	blockNFSPools
	blockNFS2Client
	blockNFS2Server
	blockNFS3Client
	blockNFS3Server
	blockNFS4Client
	blockNFS4Server
)

// Columns of blockNFSClient.
const (
	nfsCliNet = iota
	nfsCliNetUDP
	nfsCliNetTCP
	nfsCliNetConn
	nfsCliRPC
	nfsCliRetrans
	nfsCliAuthRefresh
	nfsCliCalls2
	nfsCliCalls3
	nfsCliCalls4
	numNFSClient
)

// Columns of blockNFSServer.
const (
	nfsSvrHits = iota
	nfsSvrMisses
	nfsSvrNoCache
	nfsSvrFHCached
	nfsSvrFHValid
	nfsSvrFHFixup
	nfsSvrFHLookup
	nfsSvrFHStale
	nfsSvrFHConcurrent
	nfsSvrFHAnon
	nfsSvrFHNoDir
	nfsSvrFHNoFile
	nfsSvrRead
	nfsSvrWrite
	nfsSvrThreads
	nfsSvrThreadsFull
	nfsSvrNet
	nfsSvrNetUDP
	nfsSvrNetTCP
	nfsSvrNetConn
	nfsSvrRPC
	nfsSvrRPCErr
	nfsSvrBadFmt
	nfsSvrBadAuth
	nfsSvrBadClient
	nfsSvrCalls2
	nfsSvrCalls3
	nfsSvrCalls4
	numNFSServer
)

// Columns of blockNFSAhead.
const (
	nfsAheadSize = iota
	nfsAheadHits
	nfsAheadMisses
	numNFSAhead
)

// Columns of blockNFSPools.
const (
	nfsThreads = iota
	nfsPools
	nfsArrived
	nfsEnqueued
	nfsWoken
	nfsTimedOut
	numNFSPools
)

// nfsOps are the operations of each version of the protocol, in the order of
// the kernel's counters, which determines their instances.
var nfsOps = [...]struct {
	serial int    // of the instance domain
	help   string // of that
	lists  int    // the block that lists the instances
	first  int32  // instance of the first operation
	names  []string
}{
	{7, "Operations of NFS version 2", blockNFS2Client, 0, []string{
		"null", "getattr", "setattr", "root", "lookup", "readlink", "read", "wrcache", "write", "create",
		"remove", "rename", "link", "symlink", "mkdir", "rmdir", "readdir", "statfs",
	}},
	{8, "Operations of NFS version 3", blockNFS3Client, 0, []string{
		"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write", "create", "mkdir",
		"symlink", "mknod", "remove", "rmdir", "rename", "link", "readdir", "readdir+", "statfs",
		"fsinfo", "pathconf", "commit",
	}},
	{14, "Operations of NFS version 4, as the client counts them", blockNFS4Client, 0, []string{
		"null", "read", "write", "commit", "open", "open_conf", "open_noat", "open_dgrd", "close",
		"setattr", "fsinfo", "renew", "setclntid", "confirm", "lock", "lockt", "locku", "access",
		"getattr", "lookup", "lookup_root", "remove", "rename", "link", "symlink", "create", "pathconf",
		"statfs", "readlink", "readdir", "server_caps", "delegreturn", "getacl", "setacl", "fs_locations",
		"rel_lkowner", "secinfo", "fsid_present", "exchange_id", "create_ses", "destroy_ses", "sequence",
		"get_lease_t", "reclaim_comp", "layoutget", "getdevinfo", "layoutcommit", "secinfononam",
		"test_stateid", "free_stateid", "getdevlist", "bind_ses", "destroy_clntid", "seek", "allocate",
		"deallocate",
	}},
	{15, "Operations of NFS version 4, as the server counts them", blockNFS4Server, 1, []string{
		"op0-unused", "op1-unused", "op2-future", "access", "close", "commit", "create", "delegpurge",
		"delegreturn", "getattr", "getfh", "link", "lock", "lockt", "locku", "lookup", "lookup_root",
		"nverify", "open", "openattr", "open_conf", "open_dgrd", "putfh", "putpubfh", "putrootfh", "read",
		"readdir", "readlink", "remove", "rename", "renew", "restorefh", "savefh", "secinfo", "setattr",
		"setcltid", "setcltidconf", "verify", "write", "rellockowner", "bc_ctl", "bind_conn",
		"exchange_id", "create_ses", "destroy_ses", "free_stateid", "getdirdeleg", "getdevinfo",
		"getdevlist", "layoutcommit", "layoutget", "layoutreturn", "secinfononam", "sequence", "set_ssv",
		"test_stateid", "want_deleg", "destroy_clid", "reclaim_comp", "allocate", "copy", "copy_notify",
		"deallocate", "io_advise", "layouterror", "layoutstats", "offload_cancel", "offload_status",
		"read_plus", "seek", "write_same",
	}},
}

// An nfsReader reads the statistics of the NFS client and server.
type nfsReader struct {
	blocks                         []*column.Block
	client, server, threads, pools *procfs.File
}

func nfsFamily(h *host) column.Family {
	r := newNFSReader(h)
	return column.Family{Name: "nfs", Metrics: nfsMetrics, Sources: []*column.Source{{
		Name: "/proc/net/rpc", Read: r.read, Blocks: r.blocks,
	}}}
}

func newNFSReader(h *host) *nfsReader {
	layouts := make([]column.Layout, blockNFS4Server+1)
	layouts[blockNFSClient].Cols, layouts[blockNFSServer].Cols = numNFSClient, numNFSServer
	layouts[blockNFSAhead].Cols, layouts[blockNFSPools].Cols = numNFSAhead, numNFSPools
	for _, ops := range nfsOps {
		indom := &column.InDom{Serial: ops.serial, Help: ops.help}
		layouts[ops.lists] = column.Layout{Cols: 1, InDom: indom, Lists: true}
		if ops.lists < blockNFS4Client { // the server has the same operations
			layouts[ops.lists+1] = column.Layout{Cols: 1, InDom: indom}
		}
	}
	return &nfsReader{
		blocks:  column.NewBlocks(nfsMetrics, layouts...),
		client:  h.wholeFile("proc/net/rpc/nfs"),
		server:  h.wholeFile("proc/net/rpc/nfsd"),
		threads: h.wholeFile("proc/fs/nfsd/pool_threads"),
		pools:   h.file("proc/fs/nfsd/pool_stats"),
	}
}

// read fills all blocks. A machine may be a client, a server, both, or neither.
func (r *nfsReader) read() error {
	r.list()
	for _, id := range [...]int{blockNFSClient, blockNFSServer, blockNFSPools} {
		r.blocks[id].Clear()
	}
	r.blocks[blockNFSAhead].Zero() // also without a server, as in the real agent
	var failed error
	for _, f := range [...]struct {
		file  *procfs.File
		parse func(b []byte)
	}{{r.client, r.parseClient}, {r.server, r.parseServer}} {
		b, err := f.file.Read()
		switch {
		case err == nil:
			f.parse(b)
		case !errors.Is(err, fs.ErrNotExist):
			failed = err
		}
	}
	threads, err := r.threads.Read()
	if err != nil {
		return failed // no server
	}
	stats, err := r.pools.Read()
	if err != nil {
		stats = nil
	}
	r.parsePools(threads, stats)
	return failed
}

// list gives the blocks of operations a row for each, without values.
func (r *nfsReader) list() {
	for _, ops := range nfsOps {
		for _, out := range r.blocks[blockNFS2Client:] {
			if out.InDom() != r.blocks[ops.lists].InDom() {
				continue
			}
			if out.Rows() == 0 {
				for i, name := range ops.names {
					out.AddNamed(ops.first+int32(i), name)
				}
			}
			clear(out.Cells())
		}
	}
}

// columns stores the numbers of a line in columns from first on.
func columns(line []byte, out *column.Block, cols ...int) {
	for _, col := range cols {
		v, rest, ok := procfs.Uint(line)
		if !ok {
			return
		}
		line = rest
		out.Set(0, col, v)
	}
}

// counters stores the numbers after the count in "proc3 22 0 5 ..." in the rows
// of out, and their sum in total. Rows for which there is no number have 0.
func counters(line []byte, out, total *column.Block, col int) {
	_, line, _ = procfs.Uint(line)
	sum := uint64(0)
	for row := range out.Rows() {
		v, rest, ok := procfs.Uint(line)
		if ok {
			line = rest
		}
		out.Set(row, 0, v)
		sum += uint64(uint32(v))
	}
	total.Set(0, col, sum)
}

// parseClient reads /proc/net/rpc/nfs.
func (r *nfsReader) parseClient(b []byte) {
	out := r.blocks[blockNFSClient]
	out.Zero()
	for _, id := range [...]int{blockNFS2Client, blockNFS3Client, blockNFS4Client} {
		r.blocks[id].Zero()
	}
	for line := range procfs.Lines(b) {
		key, line := procfs.Field(line)
		switch string(key) {
		case "net":
			columns(line, out, nfsCliNet, nfsCliNetUDP, nfsCliNetTCP, nfsCliNetConn)
		case "rpc":
			columns(line, out, nfsCliRPC, nfsCliRetrans, nfsCliAuthRefresh)
		case "proc2":
			counters(line, r.blocks[blockNFS2Client], out, nfsCliCalls2)
		case "proc3":
			counters(line, r.blocks[blockNFS3Client], out, nfsCliCalls3)
		case "proc4":
			counters(line, r.blocks[blockNFS4Client], out, nfsCliCalls4)
		}
	}
}

// parseServer reads /proc/net/rpc/nfsd.
func (r *nfsReader) parseServer(b []byte) {
	out := r.blocks[blockNFSServer]
	out.Zero()
	for _, id := range [...]int{blockNFS2Server, blockNFS3Server, blockNFS4Server} {
		r.blocks[id].Zero()
	}
	for line := range procfs.Lines(b) {
		key, line := procfs.Field(line)
		switch string(key) {
		case "rc":
			columns(line, out, nfsSvrHits, nfsSvrMisses, nfsSvrNoCache, nfsSvrFHCached, nfsSvrFHValid,
				nfsSvrFHFixup, nfsSvrFHLookup, nfsSvrFHStale, nfsSvrFHConcurrent)
		case "fh":
			columns(line, out, nfsSvrFHStale, nfsSvrFHLookup, nfsSvrFHAnon, nfsSvrFHNoDir, nfsSvrFHNoFile)
		case "io":
			columns(line, out, nfsSvrRead, nfsSvrWrite)
		case "th":
			columns(line, out, nfsSvrThreads, nfsSvrThreadsFull)
		case "ra":
			var v [12]uint64 // size, ten counts of hits by depth, misses
			for i := range v {
				v[i], line, _ = procfs.Uint(line)
			}
			ahead := r.blocks[blockNFSAhead]
			ahead.Set(0, nfsAheadSize, v[0])
			ahead.Set(0, nfsAheadMisses, v[11])
			for _, hits := range v[1:11] {
				ahead.Row(0)[nfsAheadHits].Bits += hits
			}
		case "net":
			columns(line, out, nfsSvrNet, nfsSvrNetUDP, nfsSvrNetTCP, nfsSvrNetConn)
		case "rpc":
			columns(line, out, nfsSvrRPC, nfsSvrRPCErr, nfsSvrBadFmt, nfsSvrBadAuth, nfsSvrBadClient)
		case "proc2":
			counters(line, r.blocks[blockNFS2Server], out, nfsSvrCalls2)
		case "proc3":
			counters(line, r.blocks[blockNFS3Server], out, nfsSvrCalls3)
		case "proc4ops":
			counters(line, r.blocks[blockNFS4Server], out, nfsSvrCalls4)
		}
	}
}

// parsePools reads the numbers of threads in each pool of the server, and pool_stats: a line
// of pool, packets, transports enqueued, threads woken and timed out for each.
func (r *nfsReader) parsePools(threads, stats []byte) {
	out := r.blocks[blockNFSPools]
	out.Zero()
	for {
		n, rest, ok := procfs.Uint(threads)
		if !ok {
			break
		}
		threads = rest
		out.Row(0)[nfsThreads].Bits += n
	}
	for line := range procfs.Lines(stats) {
		ok := true
		var v [5]uint64
		for i := range v {
			if v[i], line, ok = procfs.Uint(line); !ok {
				break
			}
		}
		if !ok {
			continue // the heading
		}
		out.Row(0)[nfsPools].Bits++
		for i, col := range [...]int{nfsArrived, nfsEnqueued, nfsWoken, nfsTimedOut} {
			out.Row(0)[col].Bits += v[i+1]
		}
	}
}

// nfsMetrics are the metrics of the NFS client and server.
var nfsMetrics = []column.Metric{
	{Name: "rpc.client.rpccnt", Cluster: 7, Item: 20, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliRPC, Help: "RPC calls of the NFS client"},
	{Name: "rpc.client.rpcretrans", Cluster: 7, Item: 21, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliRetrans, Help: "RPC calls sent again of the NFS client"},
	{Name: "rpc.client.rpcauthrefresh", Cluster: 7, Item: 22, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliAuthRefresh, Help: "Times that credentials were renewed of the NFS client"},
	{Name: "rpc.client.netcnt", Cluster: 7, Item: 24, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliNet, Help: "Packets of the NFS client"},
	{Name: "rpc.client.netudpcnt", Cluster: 7, Item: 25, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliNetUDP, Help: "UDP packets of the NFS client"},
	{Name: "rpc.client.nettcpcnt", Cluster: 7, Item: 26, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliNetTCP, Help: "TCP packets of the NFS client"},
	{Name: "rpc.client.nettcpconn", Cluster: 7, Item: 27, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliNetConn, Help: "TCP connections made of the NFS client"},
	{Name: "rpc.server.rpccnt", Cluster: 7, Item: 30, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrRPC, Help: "RPC calls of the NFS server"},
	{Name: "rpc.server.rpcerr", Cluster: 7, Item: 31, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrRPCErr, Help: "RPC calls refused, for whatever reason of the NFS server"},
	{Name: "rpc.server.rpcbadfmt", Cluster: 7, Item: 32, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrBadFmt, Help: "RPC calls refused since they were malformed of the NFS server"},
	{Name: "rpc.server.rpcbadauth", Cluster: 7, Item: 33, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrBadAuth, Help: "RPC calls refused for their credentials of the NFS server"},
	{Name: "rpc.server.rpcbadclnt", Cluster: 7, Item: 34, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrBadClient, Help: "RPC calls refused since the client was unknown of the NFS server"},
	{Name: "rpc.server.rchits", Cluster: 7, Item: 35, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrHits, Help: "Hits in the reply cache of the NFS server"},
	{Name: "rpc.server.rcmisses", Cluster: 7, Item: 36, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrMisses, Help: "Misses in the reply cache of the NFS server"},
	{Name: "rpc.server.rcnocache", Cluster: 7, Item: 37, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrNoCache, Help: "Calls that the reply cache is not for of the NFS server"},
	{Name: "rpc.server.fh_cached", Cluster: 7, Item: 38, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHCached, Help: "File handles found in the cache of the NFS server"},
	{Name: "rpc.server.fh_valid", Cluster: 7, Item: 39, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHValid, Help: "File handles found valid of the NFS server"},
	{Name: "rpc.server.fh_fixup", Cluster: 7, Item: 40, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHFixup, Help: "File handles that needed their path found of the NFS server"},
	{Name: "rpc.server.fh_lookup", Cluster: 7, Item: 41, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHLookup, Help: "File handles that needed a lookup of the NFS server"},
	{Name: "rpc.server.fh_stale", Cluster: 7, Item: 42, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHStale, Help: "File handles that were stale of the NFS server"},
	{Name: "rpc.server.fh_concurrent", Cluster: 7, Item: 43, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHConcurrent, Help: "File handles found by two at once of the NFS server"},
	{Name: "rpc.server.netcnt", Cluster: 7, Item: 44, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrNet, Help: "Packets of the NFS server"},
	{Name: "rpc.server.netudpcnt", Cluster: 7, Item: 45, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrNetUDP, Help: "UDP packets of the NFS server"},
	{Name: "rpc.server.nettcpcnt", Cluster: 7, Item: 46, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrNetTCP, Help: "TCP packets of the NFS server"},
	{Name: "rpc.server.nettcpconn", Cluster: 7, Item: 47, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrNetConn, Help: "TCP connections made of the NFS server"},
	{Name: "rpc.server.fh_anon", Cluster: 7, Item: 51, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHAnon, Help: "File handles that got an entry without a name of the NFS server"},
	{Name: "rpc.server.fh_nocache_dir", Cluster: 7, Item: 52, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHNoDir, Help: "File handles of directories not in the cache of the NFS server"},
	{Name: "rpc.server.fh_nocache_nondir", Cluster: 7, Item: 53, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrFHNoFile, Help: "File handles of files not in the cache of the NFS server"},
	{Name: "rpc.server.io_read", Cluster: 7, Item: 54, Type: pcp.TypeU32, Sem: counter, Units: byteUnit, From: blockNFSServer, Col: nfsSvrRead, Help: "Bytes read by clients of the NFS server"},
	{Name: "rpc.server.io_write", Cluster: 7, Item: 55, Type: pcp.TypeU32, Sem: counter, Units: byteUnit, From: blockNFSServer, Col: nfsSvrWrite, Help: "Bytes written by clients of the NFS server"},
	{Name: "rpc.server.th_cnt", Cluster: 7, Item: 56, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockNFSServer, Col: nfsSvrThreads, Help: "Threads of the NFS server"},
	{Name: "rpc.server.th_fullcnt", Cluster: 7, Item: 57, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrThreadsFull, Help: "Times that all threads were busy of the NFS server"},
	{Name: "rpc.server.ra_size", Cluster: 7, Item: 68, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSAhead, Col: nfsAheadSize, Help: "Size of the read-ahead cache of the NFS server"},
	{Name: "rpc.server.ra_hits", Cluster: 7, Item: 69, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSAhead, Col: nfsAheadHits, Help: "Hits in the read-ahead cache of the NFS server"},
	{Name: "rpc.server.ra_misses", Cluster: 7, Item: 70, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSAhead, Col: nfsAheadMisses, Help: "Misses in the read-ahead cache of the NFS server"},
	{Name: "nfs.client.calls", Cluster: 7, Item: 1, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliCalls2, Help: "NFS version 2 calls that the client sent"},
	{Name: "nfs.client.reqs", Cluster: 7, Item: 4, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFS2Client, Help: "NFS version 2 calls that the client sent, by operation"},
	{Name: "nfs.server.calls", Cluster: 7, Item: 50, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrCalls2, Help: "NFS version 2 calls that the server got"},
	{Name: "nfs.server.reqs", Cluster: 7, Item: 12, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFS2Server, Help: "NFS version 2 calls that the server got, by operation"},
	{Name: "nfs.server.threads.total", Cluster: 7, Item: 71, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockNFSPools, Col: nfsThreads, Help: "Threads of the NFS server"},
	{Name: "nfs.server.threads.pools", Cluster: 7, Item: 72, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockNFSPools, Col: nfsPools, Help: "Pools of threads of the NFS server"},
	{Name: "nfs.server.threads.requests", Cluster: 7, Item: 73, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNFSPools, Col: nfsArrived, Help: "Packets that arrived for the NFS server"},
	{Name: "nfs.server.threads.enqueued", Cluster: 7, Item: 74, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNFSPools, Col: nfsEnqueued, Help: "Times that a connection waited for a thread of the NFS server"},
	{Name: "nfs.server.threads.processed", Cluster: 7, Item: 75, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNFSPools, Col: nfsWoken, Help: "Times that a thread of the NFS server was woken"},
	{Name: "nfs.server.threads.timedout", Cluster: 7, Item: 76, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNFSPools, Col: nfsTimedOut, Help: "Times that a thread of the NFS server had nothing to do for long"},
	{Name: "nfs3.client.calls", Cluster: 7, Item: 60, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliCalls3, Help: "NFS version 3 calls that the client sent"},
	{Name: "nfs3.client.reqs", Cluster: 7, Item: 61, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFS3Client, Help: "NFS version 3 calls that the client sent, by operation"},
	{Name: "nfs3.server.calls", Cluster: 7, Item: 62, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrCalls3, Help: "NFS version 3 calls that the server got"},
	{Name: "nfs3.server.reqs", Cluster: 7, Item: 63, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFS3Server, Help: "NFS version 3 calls that the server got, by operation"},
	{Name: "nfs4.client.calls", Cluster: 7, Item: 64, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSClient, Col: nfsCliCalls4, Help: "NFS version 4 calls that the client sent"},
	{Name: "nfs4.client.reqs", Cluster: 7, Item: 65, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFS4Client, Help: "NFS version 4 calls that the client sent, by operation"},
	{Name: "nfs4.server.calls", Cluster: 7, Item: 66, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFSServer, Col: nfsSvrCalls4, Help: "NFS version 4 calls that the server got"},
	{Name: "nfs4.server.reqs", Cluster: 7, Item: 67, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockNFS4Server, Help: "NFS version 4 calls that the server got, by operation"},
}
