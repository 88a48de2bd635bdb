package cifs

import (
	"fmt"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
	"github.com/go-pcp/pcp/pmda/column"
)

// statsV2 and debugV2 are the files of version 2.43 of the module, in part.
const (
	statsV2 = `Resources in use
CIFS Session: 1
Share (unique mount targets): 2
SMB Request/Response Buffer: 1 Pool size: 5
SMB Small Req/Resp Buffer: 1 Pool size: 30
Operations (MIDs): 0

0 session 3 share reconnects
Total vfs operations: 16 maximum at one time: 2

Max requests in flight: 3
1) \\server\home
SMBs: 9
Bytes read: 4096  Bytes written: 17
Open files: 1 total (local), 0 open on server
TreeConnects: 1 total 0 failed
Creates: 4 total 2 failed
Reads: 5 total 1 failed
OplockBreaks: 6 sent 0 failed
2) \\server\media	DISCONNECTED
SMBs: 2
Reads: 8 total 0 failed
`
	debugV2 = "Display Internal CIFS Data Structures for Debugging\n---------------------------------------------------\nCIFS Version 2.43\nFeatures: DFS,STATS\n" +
		"CIFSMaxBufSize: 16384\nActive VFS Requests: 1\n\nServers: \n1) ConnectionId: 0x1 Hostname: server \nClientGUID: 3F2504E0-4F89-11D3-9A0C-0305E82C3301\n" +
		"Number of credits: 8190,1,1 Dialect 0x311\nServer capabilities: 0x300067\nTCP status: 1 Instance: 2\nLocal Users To Server: 1 SecMode: 0x1 Req On Wire: 3 Net namespace: 4026531840 \n" +
		"In Send: 4 In MaxReq Wait: 5\n\n\tSessions: \n\t1) Address: 192.0.2.7 Uses: 1 Capability: 0x300067\tSession Status: 1 \n\tSecurity type: RawNTLMSSP  SessionId: 0x84\n\tUser: 0 Cred User: 1000\n\n" +
		"\tShares: \n\t0) IPC: \\\\server\\IPC$ Mounts: 1 DevInfo: 0x0 Attributes: 0x0\n\tPathComponentMax: 0 Status: 1 type: 0 Serial Number: 0x0\n\tShare Capabilities: None\tShare Flags: 0x0\n\ttid: 0x1\tMaximal Access: 0x11f01ff\n\n" +
		"\t1) \\\\server\\home Mounts: 2 DevInfo: 0x20 Attributes: 0x801007f\n\tPathComponentMax: 255 Status: 3 type: DISK Serial Number: 0x1234abcd\n\ttid: 0x5\tOptimal sector size: 0x200\tMaximal Access: 0x1f01ff\n"
	statsV1 = "CIFS Session: 1\n1) \\\\old\\share\nSMBs: 9 Oplock Breaks: 1\nReads:  2 Bytes: 300\nLocks: 0 HardLinks: 4 Symlinks: 5\nOpens: 6 Closes: 7 Deletes: 8\nPosix Opens: 1 Posix Mkdirs: 2\nRenames: 3 T2 Renames 4\nFindFirst: 5 FNext 6 FClose 7\n"
	debugV1 = "CIFS Version 1.64\n"
)

func newAgent(t testing.TB, stats, debug string) *column.Agent {
	t.Helper()
	a, err := New(Config{Dir: agenttest.Tree(t, map[string]string{"Stats": stats, "DebugData": debug})})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestFacts(t *testing.T) {
	a := newAgent(t, "", "")
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
}

func check(t *testing.T, a *column.Agent, want map[string]string) {
	t.Helper()
	v := agenttest.Read(t, a)
	for name, want := range want {
		if got := fmt.Sprint(v["cifs."+name]); got != want {
			t.Errorf("cifs.%s is %s, want %s", name, got, want)
		}
	}
}

func TestVersion2(t *testing.T) {
	check(t, newAgent(t, statsV2, debugV2), map[string]string{
		"session": "map[:1]", "shares": "map[:2]", "pool_size": "map[:5]", "small_pool_size": "map[:30]", "total_operations": "map[:0]", "total_reconnects": "map[:3]",
		"vfs_operations": "map[:16]", "vfs_operations_max": "map[:2]", "version": `map[:"2.43"]`,
		"fs.connected": `map[\\server\home:1 \\server\media:0]`, "fs.smbs": `map[\\server\home:9 \\server\media:2]`, "fs.read": `map[\\server\home:5 \\server\media:8]`,
		"fs.read_fails": `map[\\server\home:1 \\server\media:0]`, "fs.read_bytes": `map[\\server\home:4096]`, "fs.write_bytes": `map[\\server\home:17]`, "fs.creates_fails": `map[\\server\home:2]`,
		"fs.oplock_breaks": `map[\\server\home:6]`, "fs.treecons": `map[\\server\home:1]`, "ops.open": "map[]",
		"debug.max_buffer_size": "map[:16384]", "debug.active_vfs_requests": "map[:1]", "debug.servers.connection_id": `map[server:"0x1"]`, "debug.servers.number_of_credits": "map[server:8190]",
		"debug.servers.instance": "map[server:2]", "debug.servers.requests_on_wire": "map[server:3]", "debug.servers.max_request_wait": "map[server:5]", "debug.servers.send": "map[server:4]",
		"debug.sessions.id": `map[192.0.2.7::1:"0x84"]`, "debug.sessions.status": "map[192.0.2.7::1:1]", "debug.sessions.user": "map[192.0.2.7::1:0]", "debug.sessions.cred_user": "map[192.0.2.7::1:1000]",
		"debug.shares.mounts": `map[\\server\IPC$:1 \\server\home:2]`, "debug.shares.type": `map[\\server\IPC$:"0" \\server\home:"DISK"]`, "debug.shares.status": `map[\\server\IPC$:1 \\server\home:3]`,
		"debug.shares.maximal_access": `map[\\server\IPC$:"0x11f01ff" \\server\home:"0x1f01ff"]`,
	})
}

func TestVersion1(t *testing.T) {
	check(t, newAgent(t, statsV1, debugV1), map[string]string{
		"fs.smbs": `map[\\old\share:9]`, "fs.oplock_breaks": `map[\\old\share:1]`, "fs.read_bytes": `map[\\old\share:300]`, "fs.sym_links": `map[\\old\share:5]`,
		"ops.delete": `map[\\old\share:8]`, "ops.posix_mkdir": `map[\\old\share:2]`, "ops.t2_rename": `map[\\old\share:4]`, "ops.find_close": `map[\\old\share:7]`,
		"fs.read_fails": "map[]", "version": `map[:"1.64"]`,
	})
}

// FuzzFiles reads files of any bytes.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(statsV2), []byte(debugV2))
	f.Add([]byte(statsV1), []byte(debugV1))
	f.Add([]byte(`\\`+"\n\\\\\x00\n\\\\a\n\\\\a\nSMBs: 99999999999999999999"), []byte("ConnectionId: Hostname:\n) Address:\nDevInfo: \\\\\nCIFS Version 2.\nCIFS Version x"))
	f.Fuzz(func(t *testing.T, stats, debug []byte) {
		r := newReader()
		r.debug(debug)
		r.stats(stats)
		for i, b := range r.blocks {
			if b.Rows() > maxRows {
				t.Errorf("block %d has %d rows", i, b.Rows())
			}
		}
	})
}
