package nfsclient

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Units of the tables.
var (
	count    = pcp.Units{DimCount: 1}
	byteUnit = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	msec     = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	second   = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
)

// operations are the operations of all versions of NFS, in the order of their PMIDs; do not
// change it.
var operations = [...]string{
	// Those of several versions.
	"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write", "create", "symlink", "remove", "rename",
	"link", "readdir", "fsinfo", "pathconf", "commit",
	// Version 3.
	"fsstat", "mkdir", "mknod", "readdirplus", "rmdir",
	// Version 4.
	"close", "create_session", "delegreturn", "destroy_session", "exchange_id", "fs_locations", "getacl", "getdeviceinfo",
	"get_lease_time", "layoutcommit", "layoutget", "layoutreturn", "lock", "lockt", "locku", "lookup_root", "open",
	"open_confirm", "open_downgrade", "open_noattr", "reclaim_complete", "release_lockowner", "renew", "secinfo",
	"sequence", "server_caps", "setacl", "setclientid", "setclientid_confirm", "statfs",
	// Version 4.1.
	"bind_conn_to_session", "destroy_clientid", "free_stateid", "getdevicelist", "secinfo_no_name", "test_stateid",
	// Version 4.2.
	"seek", "allocate", "deallocate", "fsid_present", "layoutstats", "clone", "copy", "offload_cancel", "lookupp", "layouterror",
}

// opColumns are the counts of each operation, in the order of the file and of the
// PMIDs. OP in the help is replaced by the operation.
var opColumns = [...]struct {
	name  string
	units pcp.Units
	help  string
}{
	{"ops", count, "Requests for OP"},
	{"ntrans", count, "Transmissions of OP, of which a request can take several"},
	{"timeouts", count, "Major timeouts of OP"},
	{"bytes_sent", byteUnit, "Bytes sent for OP, headers included"},
	{"bytes_recv", byteUnit, "Bytes received for OP, headers included"},
	{"queue", msec, "Time that requests for OP waited to be sent"},
	{"rtt", msec, "Time from the sending of OP to the answer"},
	{"execute", msec, "Time from the start of OP to its end"},
	{"errors", count, "Requests for OP that ended with an error"},
}

// opCluster is the cluster of the metrics of operations.
const opCluster = 8

// metrics returns all metrics of the agent.
func metrics() []column.Metric {
	list := append(make([]column.Metric, 0, len(mountMetrics)+len(operations)*len(opColumns)), mountMetrics[:]...)
	item := 1
	for i, op := range operations {
		for j, c := range opColumns {
			list = append(list, column.Metric{
				Name: "nfsclient.ops." + op + "." + c.name, Cluster: opCluster, Item: item, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: c.units,
				From: blockOps, Col: i*len(opColumns) + j, Help: strings.Replace(c.help, "OP", strings.ToUpper(op), 1),
			})
			item++
		}
	}
	return list
}

// mountMetrics are the metrics of a mount except those of its operations.
var mountMetrics = [...]column.Metric{
	{Name: "nfsclient.export", Cluster: 0, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "export", Help: "Mounted file system, as SERVER:PATH"},
	{Name: "nfsclient.mountpoint", Cluster: 0, Item: 2, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "mountpoint", Help: "Where it is mounted"},
	{Name: "nfsclient.options.string", Cluster: 1, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.string", Help: "All mount options, as the kernel lists them"},
	{Name: "nfsclient.options.readmode", Cluster: 1, Item: 2, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.readmode", Help: "rw, or ro if it is mounted for reading only"},
	{Name: "nfsclient.options.sync", Cluster: 1, Item: 3, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.sync", Help: "Whether writes wait for the server (sync): 1, else 0"},
	{Name: "nfsclient.options.atime", Cluster: 1, Item: 4, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.atime", Help: "Whether times of access are kept: 0 for noatime, else 1"},
	{Name: "nfsclient.options.diratime", Cluster: 1, Item: 5, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.diratime", Help: "The same for directories: 0 for nodiratime, else 1"},
	{Name: "nfsclient.options.vers", Cluster: 1, Item: 6, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.vers", Help: "Version of NFS, such as 3 or 4.2"},
	{Name: "nfsclient.options.rsize", Cluster: 1, Item: 7, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.rsize", Help: "Most bytes of a READ request"},
	{Name: "nfsclient.options.wsize", Cluster: 1, Item: 8, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.wsize", Help: "Most bytes of a WRITE request"},
	{Name: "nfsclient.options.bsize", Cluster: 1, Item: 9, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.bsize", Help: "Block size, 0 if none was given"},
	{Name: "nfsclient.options.namlen", Cluster: 1, Item: 10, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.namlen", Help: "Longest file name of the server"},
	{Name: "nfsclient.options.acregmin", Cluster: 1, Item: 11, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.acregmin", Help: "Least seconds that attributes of files are cached"},
	{Name: "nfsclient.options.acregmax", Cluster: 1, Item: 12, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.acregmax", Help: "Most seconds that attributes of files are cached"},
	{Name: "nfsclient.options.acdirmin", Cluster: 1, Item: 13, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.acdirmin", Help: "Least seconds that attributes of directories are cached"},
	{Name: "nfsclient.options.acdirmax", Cluster: 1, Item: 14, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.acdirmax", Help: "Most seconds that attributes of directories are cached"},
	{Name: "nfsclient.options.recovery", Cluster: 1, Item: 15, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.recovery", Help: "What follows a major timeout: hard tries again, soft fails"},
	{Name: "nfsclient.options.posix", Cluster: 1, Item: 16, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.posix", Help: "Whether the mount has option posix: 1, else 0"},
	{Name: "nfsclient.options.cto", Cluster: 1, Item: 17, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.cto", Help: "Whether data are checked when a file is opened: 0 for nocto"},
	{Name: "nfsclient.options.ac", Cluster: 1, Item: 18, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.ac", Help: "Whether attributes are cached: 0 for noac, else 1"},
	{Name: "nfsclient.options.lock", Cluster: 1, Item: 19, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.lock", Help: "Whether locks go to the server: 0 for nolock, else 1"},
	{Name: "nfsclient.options.acl", Cluster: 1, Item: 20, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.acl", Help: "Whether access control lists are used: 0 for noacl, else 1"},
	{Name: "nfsclient.options.rdirplus", Cluster: 1, Item: 21, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.rdirplus", Help: "Whether READDIRPLUS is used: 0 for nordirplus, else 1"},
	{Name: "nfsclient.options.sharecache", Cluster: 1, Item: 22, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.sharecache", Help: "Whether mounts of a server share caches: 0 for nosharecache"},
	{Name: "nfsclient.options.resvport", Cluster: 1, Item: 23, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.resvport", Help: "Whether the source port is a privileged one: 0 for noresvport"},
	{Name: "nfsclient.options.proto", Cluster: 1, Item: 24, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.proto", Help: "Transport protocol: tcp, udp or rdma"},
	{Name: "nfsclient.options.port", Cluster: 1, Item: 25, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.port", Help: "Port of the server, 0 if none was given"},
	{Name: "nfsclient.options.timeo", Cluster: 1, Item: 26, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.timeo", Help: "Time before a request is repeated, in tenths of a second"},
	{Name: "nfsclient.options.retrans", Cluster: 1, Item: 27, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.retrans", Help: "Repetitions before a major timeout"},
	{Name: "nfsclient.options.sec", Cluster: 1, Item: 28, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.sec", Help: "Security flavor, such as sys or krb5p"},
	{Name: "nfsclient.options.mountaddr", Cluster: 1, Item: 29, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.mountaddr", Help: "Address of the mount daemon (NFS 2 and 3)"},
	{Name: "nfsclient.options.mountvers", Cluster: 1, Item: 30, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.mountvers", Help: "Version of the mount protocol (NFS 2 and 3)"},
	{Name: "nfsclient.options.mountport", Cluster: 1, Item: 31, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.mountport", Help: "Port of the mount daemon (NFS 2 and 3)"},
	{Name: "nfsclient.options.mountproto", Cluster: 1, Item: 32, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.mountproto", Help: "Transport protocol of the mount daemon (NFS 2 and 3)"},
	{Name: "nfsclient.options.clientaddr", Cluster: 1, Item: 33, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.clientaddr", Help: "Address of this host that the server calls back (NFS 4)"},
	{Name: "nfsclient.options.fsc", Cluster: 1, Item: 34, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.fsc", Help: "Whether data are cached on a local disk: 1 for fsc, else 0"},
	{Name: "nfsclient.options.migration", Cluster: 1, Item: 35, Type: pcp.TypeU32, Sem: pcp.SemInstant, Key: "options.migration", Help: "Whether the mount follows a server that moves: 1, else 0"},
	{Name: "nfsclient.options.lookupcache", Cluster: 1, Item: 36, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.lookupcache", Help: "Which look-ups are cached: none or pos; empty for all"},
	{Name: "nfsclient.options.local_lock", Cluster: 1, Item: 37, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "options.local_lock", Help: "Which locks are kept by this host: none, all, flock or posix"},
	{Name: "nfsclient.age", Cluster: 2, Item: 1, Type: pcp.TypeU64, Sem: pcp.SemInstant, Units: second, Key: "age", Help: "Time since it was mounted"},
	{Name: "nfsclient.capabilities", Cluster: 3, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "capabilities", Help: "What the server can do, as the kernel shows it"},
	{Name: "nfsclient.nfsv4", Cluster: 3, Item: 2, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "nfsv4", Help: "Attributes that an NFS 4 server supports, as bit masks"},
	{Name: "nfsclient.security", Cluster: 4, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "security", Help: "Security flavor and pseudoflavor, as numbers"},
	{Name: "nfsclient.events.inoderevalidate", Cluster: 5, Item: 1, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.inoderevalidate", Help: "Inodes whose attributes were checked"},
	{Name: "nfsclient.events.dentryrevalidate", Cluster: 5, Item: 2, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.dentryrevalidate", Help: "Directory entries that were checked"},
	{Name: "nfsclient.events.datainvalidate", Cluster: 5, Item: 3, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.datainvalidate", Help: "Times that cached data of an inode were dropped"},
	{Name: "nfsclient.events.attrinvalidate", Cluster: 5, Item: 4, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.attrinvalidate", Help: "Times that cached attributes of an inode were dropped"},
	{Name: "nfsclient.events.vfsopen", Cluster: 5, Item: 5, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsopen", Help: "Files and directories opened"},
	{Name: "nfsclient.events.vfslookup", Cluster: 5, Item: 6, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfslookup", Help: "Names looked up in directories"},
	{Name: "nfsclient.events.vfsaccess", Cluster: 5, Item: 7, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsaccess", Help: "Permissions checked"},
	{Name: "nfsclient.events.vfsupdatepage", Cluster: 5, Item: 8, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsupdatepage", Help: "Pages changed in the cache"},
	{Name: "nfsclient.events.vfsreadpage", Cluster: 5, Item: 9, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsreadpage", Help: "Calls to read one page"},
	{Name: "nfsclient.events.vfsreadpages", Cluster: 5, Item: 10, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsreadpages", Help: "Calls to read several pages"},
	{Name: "nfsclient.events.vfswritepage", Cluster: 5, Item: 11, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfswritepage", Help: "Calls to write one page"},
	{Name: "nfsclient.events.vfswritepages", Cluster: 5, Item: 12, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfswritepages", Help: "Calls to write several pages"},
	{Name: "nfsclient.events.vfsgetdents", Cluster: 5, Item: 13, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsgetdents", Help: "Calls to list a directory"},
	{Name: "nfsclient.events.vfssetattr", Cluster: 5, Item: 14, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfssetattr", Help: "Calls to change attributes"},
	{Name: "nfsclient.events.vfsflush", Cluster: 5, Item: 15, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsflush", Help: "Calls to flush a file, as close does"},
	{Name: "nfsclient.events.vfsfsync", Cluster: 5, Item: 16, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsfsync", Help: "Calls of fsync, for files and directories"},
	{Name: "nfsclient.events.vfslock", Cluster: 5, Item: 17, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfslock", Help: "Locks set or given up"},
	{Name: "nfsclient.events.vfsrelease", Cluster: 5, Item: 18, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.vfsrelease", Help: "Files closed for the last time"},
	{Name: "nfsclient.events.congestionwait", Cluster: 5, Item: 19, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.congestionwait", Help: "Waits for a congested server; kernels no longer count them"},
	{Name: "nfsclient.events.setattrtrunc", Cluster: 5, Item: 20, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.setattrtrunc", Help: "Files cut to another length"},
	{Name: "nfsclient.events.extendwrite", Cluster: 5, Item: 21, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.extendwrite", Help: "Writes behind the end of a file"},
	{Name: "nfsclient.events.sillyrename", Cluster: 5, Item: 22, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.sillyrename", Help: "Open files renamed instead of removed"},
	{Name: "nfsclient.events.shortread", Cluster: 5, Item: 23, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.shortread", Help: "READ requests answered with less than was asked for"},
	{Name: "nfsclient.events.shortwrite", Cluster: 5, Item: 24, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.shortwrite", Help: "WRITE requests of which the server took only a part"},
	{Name: "nfsclient.events.delay", Cluster: 5, Item: 25, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.delay", Help: "Requests that the server asked to repeat later"},
	{Name: "nfsclient.events.pnfsread", Cluster: 5, Item: 26, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.pnfsread", Help: "Reads by parallel NFS"},
	{Name: "nfsclient.events.pnfswrite", Cluster: 5, Item: 27, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "events.pnfswrite", Help: "Writes by parallel NFS"},
	{Name: "nfsclient.bytes.read.normal", Cluster: 6, Item: 1, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, Key: "bytes.read.normal", Help: "Bytes that programs read"},
	{Name: "nfsclient.bytes.write.normal", Cluster: 6, Item: 2, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, Key: "bytes.write.normal", Help: "Bytes that programs wrote"},
	{Name: "nfsclient.bytes.read.direct", Cluster: 6, Item: 3, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, Key: "bytes.read.direct", Help: "Bytes that programs read with O_DIRECT"},
	{Name: "nfsclient.bytes.write.direct", Cluster: 6, Item: 4, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, Key: "bytes.write.direct", Help: "Bytes that programs wrote with O_DIRECT"},
	{Name: "nfsclient.bytes.read.server", Cluster: 6, Item: 5, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, Key: "bytes.read.server", Help: "Bytes read from the server"},
	{Name: "nfsclient.bytes.write.server", Cluster: 6, Item: 6, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, Key: "bytes.write.server", Help: "Bytes written to the server"},
	{Name: "nfsclient.pages.read", Cluster: 6, Item: 7, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "pages.read", Help: "Pages read from the server"},
	{Name: "nfsclient.pages.write", Cluster: 6, Item: 8, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "pages.write", Help: "Pages written to the server"},
	{Name: "nfsclient.xprt.srcport", Cluster: 7, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Key: "xprt.srcport", Help: "Source port of this host"},
	{Name: "nfsclient.xprt.bind_count", Cluster: 7, Item: 2, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "xprt.bind_count", Help: "Calls to find the port of the server"},
	{Name: "nfsclient.xprt.connect_count", Cluster: 7, Item: 3, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "xprt.connect_count", Help: "Connections made, the first and later ones"},
	{Name: "nfsclient.xprt.connect_time", Cluster: 7, Item: 4, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "xprt.connect_time", Help: "Time spent connecting, in ticks of the kernel"},
	{Name: "nfsclient.xprt.idle_time", Cluster: 7, Item: 5, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: second, Key: "xprt.idle_time", Help: "Time since the transport was last used"},
	{Name: "nfsclient.xprt.sends", Cluster: 7, Item: 6, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "xprt.sends", Help: "Requests sent"},
	{Name: "nfsclient.xprt.recvs", Cluster: 7, Item: 7, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "xprt.recvs", Help: "Answers received"},
	{Name: "nfsclient.xprt.bad_xids", Cluster: 7, Item: 8, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, Key: "xprt.bad_xids", Help: "Answers to no request that is known"},
	{Name: "nfsclient.xprt.req_u", Cluster: 7, Item: 9, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.req_u", Help: "Sum, over requests sent, of those without an answer yet"},
	{Name: "nfsclient.xprt.backlog_u", Cluster: 7, Item: 10, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.backlog_u", Help: "Sum, over requests sent, of those waiting for a slot"},
	{Name: "nfsclient.xprt.read_chunks", Cluster: 7, Item: 11, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.read_chunks", Help: "Read chunks sent (RDMA)"},
	{Name: "nfsclient.xprt.write_chunks", Cluster: 7, Item: 12, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.write_chunks", Help: "Write chunks sent (RDMA)"},
	{Name: "nfsclient.xprt.reply_chunks", Cluster: 7, Item: 13, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.reply_chunks", Help: "Reply chunks sent (RDMA)"},
	{Name: "nfsclient.xprt.total_rdma_req", Cluster: 7, Item: 14, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.total_rdma_req", Help: "Bytes of requests moved by RDMA"},
	{Name: "nfsclient.xprt.total_rdma_rep", Cluster: 7, Item: 15, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.total_rdma_rep", Help: "Bytes of answers moved by RDMA"},
	{Name: "nfsclient.xprt.pullup", Cluster: 7, Item: 16, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.pullup", Help: "Bytes copied to make requests contiguous (RDMA)"},
	{Name: "nfsclient.xprt.fixup", Cluster: 7, Item: 17, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.fixup", Help: "Bytes copied out of answers (RDMA)"},
	{Name: "nfsclient.xprt.hardway", Cluster: 7, Item: 18, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.hardway", Help: "Buffers that had to be made larger (RDMA)"},
	{Name: "nfsclient.xprt.failed_marshal", Cluster: 7, Item: 19, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.failed_marshal", Help: "Requests that could not be encoded (RDMA)"},
	{Name: "nfsclient.xprt.bad_reply", Cluster: 7, Item: 20, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.bad_reply", Help: "Answers that could not be decoded (RDMA)"},
	{Name: "nfsclient.xprt.max_slots", Cluster: 7, Item: 21, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.max_slots", Help: "Most slots for requests that were ever in use"},
	{Name: "nfsclient.xprt.sending_u", Cluster: 7, Item: 22, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.sending_u", Help: "Sum, over requests sent, of those waiting to be sent"},
	{Name: "nfsclient.xprt.pending_u", Cluster: 7, Item: 23, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.pending_u", Help: "Sum, over requests sent, of those waiting for an answer"},
	{Name: "nfsclient.xprt.nomsg_call", Cluster: 7, Item: 24, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.nomsg_call", Help: "Requests sent without inline data (RDMA)"},
	{Name: "nfsclient.xprt.mrs_recycled", Cluster: 7, Item: 25, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.mrs_recycled", Help: "Memory regions reset (RDMA)"},
	{Name: "nfsclient.xprt.mrs_orphaned", Cluster: 7, Item: 26, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.mrs_orphaned", Help: "Memory regions lost (RDMA)"},
	{Name: "nfsclient.xprt.mrs_allocated", Cluster: 7, Item: 27, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.mrs_allocated", Help: "Memory regions allocated (RDMA)"},
	{Name: "nfsclient.xprt.local_inv_needed", Cluster: 7, Item: 28, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.local_inv_needed", Help: "Memory regions that this host had to invalidate (RDMA)"},
	{Name: "nfsclient.xprt.empty_sendctxq", Cluster: 7, Item: 29, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.empty_sendctxq", Help: "Waits for a send context (RDMA)"},
	{Name: "nfsclient.xprt.reply_waits", Cluster: 7, Item: 30, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, Key: "xprt.reply_waits", Help: "Answers that waited for the end of their request (RDMA)"},
}
