package linux

import (
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp/internal/procfs"
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
// the kernel's counters, which gives them their instances.
var nfsOps = [...]struct {
	client, server blockID // blockConst for none
	first          int32   // instance of the first
	names          []string
}{
	{blockNFS2Client, blockNFS2Server, 0, []string{
		"null", "getattr", "setattr", "root", "lookup", "readlink", "read", "wrcache", "write", "create",
		"remove", "rename", "link", "symlink", "mkdir", "rmdir", "readdir", "statfs",
	}},
	{blockNFS3Client, blockNFS3Server, 0, []string{
		"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write", "create", "mkdir",
		"symlink", "mknod", "remove", "rmdir", "rename", "link", "readdir", "readdir+", "statfs",
		"fsinfo", "pathconf", "commit",
	}},
	{blockNFS4Client, blockConst, 0, []string{
		"null", "read", "write", "commit", "open", "open_conf", "open_noat", "open_dgrd", "close",
		"setattr", "fsinfo", "renew", "setclntid", "confirm", "lock", "lockt", "locku", "access",
		"getattr", "lookup", "lookup_root", "remove", "rename", "link", "symlink", "create", "pathconf",
		"statfs", "readlink", "readdir", "server_caps", "delegreturn", "getacl", "setacl", "fs_locations",
		"rel_lkowner", "secinfo", "fsid_present", "exchange_id", "create_ses", "destroy_ses", "sequence",
		"get_lease_t", "reclaim_comp", "layoutget", "getdevinfo", "layoutcommit", "secinfononam",
		"test_stateid", "free_stateid", "getdevlist", "bind_ses", "destroy_clntid", "seek", "allocate",
		"deallocate",
	}},
	{blockConst, blockNFS4Server, 1, []string{
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
	client, server, threads, pools *procfs.File
}

func readNFS(a *Agent) error {
	for _, ops := range nfsOps {
		for _, id := range [...]blockID{ops.client, ops.server} {
			if id == blockConst {
				continue
			}
			out := &a.blocks[id]
			if out.rows() == 0 {
				for i, name := range ops.names {
					out.addNamed(ops.first+int32(i), name)
				}
			}
			clear(out.cells)
		}
	}
	for _, id := range [...]blockID{blockNFSClient, blockNFSServer, blockNFSPools} {
		a.blocks[id].clear()
	}
	a.blocks[blockNFSAhead].zero() // also without a server, as the real agent has it
	var failed error
	for _, f := range [...]struct {
		file  *procfs.File
		parse func(b []byte)
	}{{a.nfs.client, a.parseNFS}, {a.nfs.server, a.parseNFSD}} {
		b, err := f.file.Read()
		switch {
		case err == nil:
			f.parse(b)
		case !errors.Is(err, fs.ErrNotExist):
			failed = err
		}
	}
	threads, err := a.nfs.threads.Read()
	if err != nil {
		return failed // no server
	}
	stats, err := a.nfs.pools.Read()
	if err != nil {
		stats = nil
	}
	a.parsePools(threads, stats)
	return failed
}

// columns stores the numbers of a line in columns from first on.
func columns(line []byte, out *block, cols ...int) {
	for _, col := range cols {
		v, rest, ok := procfs.Uint(line)
		if !ok {
			return
		}
		line = rest
		out.set(0, col, v)
	}
}

// counters stores the numbers after the count in "proc3 22 0 5 ..." in the rows
// of out, and their sum in total. Rows for which there is no number have 0.
func counters(line []byte, out, total *block, col int) {
	_, line, _ = procfs.Uint(line)
	sum := uint64(0)
	for row := range out.rows() {
		v, rest, ok := procfs.Uint(line)
		if ok {
			line = rest
		}
		out.set(row, 0, v)
		sum += uint64(uint32(v))
	}
	total.set(0, col, sum)
}

// parseNFS reads /proc/net/rpc/nfs.
func (a *Agent) parseNFS(b []byte) {
	out := &a.blocks[blockNFSClient]
	out.zero()
	for _, id := range [...]blockID{blockNFS2Client, blockNFS3Client, blockNFS4Client} {
		a.blocks[id].zero()
	}
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		key, line := procfs.Field(line)
		switch string(key) {
		case "net":
			columns(line, out, nfsCliNet, nfsCliNetUDP, nfsCliNetTCP, nfsCliNetConn)
		case "rpc":
			columns(line, out, nfsCliRPC, nfsCliRetrans, nfsCliAuthRefresh)
		case "proc2":
			counters(line, &a.blocks[blockNFS2Client], out, nfsCliCalls2)
		case "proc3":
			counters(line, &a.blocks[blockNFS3Client], out, nfsCliCalls3)
		case "proc4":
			counters(line, &a.blocks[blockNFS4Client], out, nfsCliCalls4)
		}
	}
}

// parseNFSD reads /proc/net/rpc/nfsd.
func (a *Agent) parseNFSD(b []byte) {
	out := &a.blocks[blockNFSServer]
	out.zero()
	for _, id := range [...]blockID{blockNFS2Server, blockNFS3Server, blockNFS4Server} {
		a.blocks[id].zero()
	}
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
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
			ahead := &a.blocks[blockNFSAhead]
			ahead.set(0, nfsAheadSize, v[0])
			ahead.set(0, nfsAheadMisses, v[11])
			for _, hits := range v[1:11] {
				ahead.cells[nfsAheadHits].bits += hits
			}
		case "net":
			columns(line, out, nfsSvrNet, nfsSvrNetUDP, nfsSvrNetTCP, nfsSvrNetConn)
		case "rpc":
			columns(line, out, nfsSvrRPC, nfsSvrRPCErr, nfsSvrBadFmt, nfsSvrBadAuth, nfsSvrBadClient)
		case "proc2":
			counters(line, &a.blocks[blockNFS2Server], out, nfsSvrCalls2)
		case "proc3":
			counters(line, &a.blocks[blockNFS3Server], out, nfsSvrCalls3)
		case "proc4ops":
			counters(line, &a.blocks[blockNFS4Server], out, nfsSvrCalls4)
		}
	}
}

// parsePools reads the numbers of threads in each pool of the server, and pool_stats: a line
// of pool, packets, transports enqueued, threads woken and timed out for each.
func (a *Agent) parsePools(threads, stats []byte) {
	out := &a.blocks[blockNFSPools]
	out.zero()
	for {
		n, rest, ok := procfs.Uint(threads)
		if !ok {
			break
		}
		threads = rest
		out.cells[nfsThreads].bits += n
	}
	for {
		line, rest, ok := procfs.Line(stats)
		if !ok {
			return
		}
		stats = rest
		var v [5]uint64
		for i := range v {
			if v[i], line, ok = procfs.Uint(line); !ok {
				break
			}
		}
		if !ok {
			continue // the heading
		}
		out.cells[nfsPools].bits++
		for i, col := range [...]int{nfsArrived, nfsEnqueued, nfsWoken, nfsTimedOut} {
			out.cells[col].bits += v[i+1]
		}
	}
}
