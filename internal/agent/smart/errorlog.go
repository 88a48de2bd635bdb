package smart

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// The log of errors of an NVMe disk, newest first.
const (
	errorLog       = 0x01
	errorEntrySize = 64
	// maxErrors is the number of entries that are read, as smartctl does. A disk may have fewer.
	maxErrors = 16
)

// errorCommand asks for entries of the log of errors.
func errorCommand(entries int) nvmeCommand {
	return nvmeCommand{opcode: nvmeGetLog, namespace: allNamespaces, word10: errorLog | uint32(entries*errorEntrySize/4-1)<<16}
}

// Columns of the block of errors: items of their metrics.
const (
	errorCount = iota
	errorQueue
	errorCommandID
	errorStatus
	errorType
	errorCode
	errorLocation
	errorBlock
	errorNamespace
	numError
)

// readErrors reads the logs of errors of the NVMe disks.
func (r *reader) readErrors() error {
	for _, v := range [...]*view{&r.byName, &r.byWWID} {
		v.totals.Clear()
		v.errors.Clear()
		v.entries.Begin()
	}
	for row, inst := range r.byName.list.Insts() {
		disk := r.byName.list.Names()[row]
		log := r.errorsOfNVMe(disk)
		if log == nil {
			continue
		}
		addErrors(log, inst, disk, &r.byName)
		for row, inst := range r.byWWID.list.Insts() {
			if wwid := r.byWWID.list.Names()[row]; r.devices[wwid] == disk {
				addErrors(log, inst, wwid, &r.byWWID)
			}
		}
	}
	return nil
}

// errorsOfNVMe returns the log of errors of a disk, nil if it does not answer.
func (r *reader) errorsOfNVMe(disk string) (log []byte) {
	r.ask(disk, func(d nvmeDisk) error {
		var controller [identifySize]byte
		if _, err := d.admin(nvmeCommand{opcode: nvmeIdentify, word10: identifyController}, controller[:]); err != nil {
			return fmt.Errorf("identify: %w", err)
		}
		buf := make([]byte, errorEntrySize*min(maxErrors, int(controller[262])+1))
		_, err := d.admin(errorCommand(len(buf)/errorEntrySize), buf)
		if _, ok := errors.AsType[nvmeStatus](err); ok {
			return nil // it has no log
		}
		if err != nil {
			return fmt.Errorf("log of errors: %w", err)
		}
		log = buf
		return nil
	})
	return log
}

// addErrors adds the entries of the log of a disk, which is called name, and their number.
func addErrors(log []byte, disk int32, name string, v *view) {
	n := 0
	for ; len(log) >= errorEntrySize; log = log[errorEntrySize:] {
		le := binary.LittleEndian
		if le.Uint64(log) == 0 {
			continue // it is not in use
		}
		inst, kept := v.entries.ID(fmt.Appendf(nil, "%s::entry_%d", name, n))
		n++
		if !v.entries.First(inst) {
			continue
		}
		out := v.errors
		row := out.AddNamed(inst, kept)
		status := le.Uint16(log[12:])
		for col, value := range map[int]uint64{
			errorCount:     le.Uint64(log),
			errorQueue:     uint64(le.Uint16(log[8:])),
			errorCommandID: uint64(le.Uint16(log[10:])),
			errorStatus:    uint64(status),
			errorLocation:  uint64(le.Uint16(log[14:])),
			errorBlock:     le.Uint64(log[16:]),
			errorNamespace: uint64(le.Uint32(log[24:])),
		} {
			out.Set(row, col, value)
		}
		out.SetText(row, errorType, statusType(status))
		out.SetText(row, errorCode, statusCode(status))
	}
	v.totals.Set(v.totals.Add(disk), 0, uint64(n))
}

// A status is a phase bit, 8 bits of code and 3 bits of type.
func codeOfStatus(status uint16) uint16 { return status >> 1 & 0x7ff }

// statusType returns the name of the type of a status.
func statusType(status uint16) string {
	switch codeOfStatus(status) >> 8 {
	case 0:
		return "Generic Command Status"
	case 1:
		return "Command Specific Status"
	case 2:
		return "Media and Data Integrity Error"
	case 3:
		return "Path Related Status"
	case 7:
		return "Vendor Specific Status"
	}
	return "Unknown Status"
}

// statusCode returns the name that the specification gives a status. The names are those of the C agent.
func statusCode(status uint16) string {
	switch codeOfStatus(status) {
	case 0x000:
		return "Successful Completion"
	case 0x001:
		return "Invalid Command Opcode"
	case 0x002:
		return "Invalid Field in Command"
	case 0x003:
		return "Command ID Conflict"
	case 0x004:
		return "Data Transfer Error"
	case 0x005:
		return "Commands Aborted due to Power Loss Notification"
	case 0x006:
		return "Internal Error"
	case 0x007:
		return "Command Abort Requested"
	case 0x008:
		return "Command Aborted due to SQ Deletion"
	case 0x009:
		return "Command Aborted due to Failed Fused Command"
	case 0x00a:
		return "Command Aborted due to Missing Fused Command"
	case 0x00b:
		return "Invalid Namespace or Format"
	case 0x00c:
		return "Command Sequence Error"
	case 0x00d:
		return "Invalid SGL Segment Descriptor"
	case 0x00e:
		return "Invalid Number of SGL Descriptors"
	case 0x00f:
		return "Data SGL Length Invalid"
	case 0x010:
		return "Metadata SGL Length Invalid"
	case 0x011:
		return "SGL Descriptor Type Invalid"
	case 0x012:
		return "Invalid Use of Controller Memory Buffer"
	case 0x013:
		return "PRP Offset Invalid"
	case 0x014:
		return "Atomic Write Unit Exceeded"
	case 0x015:
		return "Operation Denied"
	case 0x016:
		return "SGL Offset Invalid"
	case 0x018:
		return "Host Identifier Inconsistent Format"
	case 0x019:
		return "Keep Alive Timer Expired"
	case 0x01a:
		return "Keep Alive Timeout Invalid"
	case 0x01b:
		return "Command Aborted due to Preempt and Abort"
	case 0x01c:
		return "Sanitize Failed"
	case 0x01d:
		return "Sanitize In Progress"
	case 0x01e:
		return "SGL Data Block Granularity Invalid"
	case 0x01f:
		return "Command Not Supported for Queue in CMB"
	case 0x020:
		return "Namespace is Write Protected"
	case 0x021:
		return "Command Interrupted"
	case 0x022:
		return "Transient Transport Error"
	case 0x023:
		return "Command Prohibited by Command and Feature Lockdown"
	case 0x024:
		return "Admin Command Media Not Ready"
	case 0x080:
		return "LBA Out of Range"
	case 0x081:
		return "Capacity Exceeded"
	case 0x082:
		return "Namespace Not Ready"
	case 0x083:
		return "Reservation Conflict"
	case 0x084:
		return "Format In Progress"
	case 0x085:
		return "Invalid Value Size"
	case 0x086:
		return "Invalid Key Size"
	case 0x087:
		return "KV Key Does Not Exist"
	case 0x088:
		return "Unrecovered Error"
	case 0x089:
		return "Key Exists"
	case 0x100:
		return "Completion Queue Invalid"
	case 0x101:
		return "Invalid Queue Identifier"
	case 0x102:
		return "Invalid Queue Size"
	case 0x103:
		return "Abort Command Limit Exceeded"
	case 0x104:
		return "Abort Command Is Missing"
	case 0x105:
		return "Asynchronous Event Request Limit Exceeded"
	case 0x106:
		return "Invalid Firmware Slot"
	case 0x107:
		return "Invalid Firmware Image"
	case 0x108:
		return "Invalid Interrupt Vector"
	case 0x109:
		return "Invalid Log Page"
	case 0x10a:
		return "Invalid Format"
	case 0x10b:
		return "Firmware Activation Requires Conventional Reset"
	case 0x10c:
		return "Invalid Queue Deletion"
	case 0x10d:
		return "Feature Identifier Not Saveable"
	case 0x10e:
		return "Feature Not Changeable"
	case 0x10f:
		return "Feature Not Namespace Specific"
	case 0x110:
		return "Firmware Activation Requires NVM Subsystem Reset"
	case 0x111:
		return "Firmware Activation Requires Controller Level Reset"
	case 0x112:
		return "Firmware Activation Requires Maximum Time Violation"
	case 0x113:
		return "Firmware Activation Prohibited"
	case 0x114:
		return "Overlapping Range"
	case 0x115:
		return "Namespace Insufficient Capacity"
	case 0x116:
		return "Namespace Identifier Unavailable"
	case 0x118:
		return "Namespace Already Attached"
	case 0x119:
		return "Namespace Is Private"
	case 0x11a:
		return "Namespace Not Attached"
	case 0x11b:
		return "Thin Provisioning Not Supported"
	case 0x11c:
		return "Controller List Invalid"
	case 0x11d:
		return "Device Self-test In Progress"
	case 0x11e:
		return "Boot Partition Write Prohibited"
	case 0x11f:
		return "Invalid Controller Identifier"
	case 0x120:
		return "Invalid Secondary Controller State"
	case 0x121:
		return "Invalid Number of Controller Resources"
	case 0x122:
		return "Invalid Resource Identifier"
	case 0x123:
		return "Sanitize Prohibited While Persistent Memory Region is Enabled"
	case 0x124:
		return "ANA Group Identifier Invalid"
	case 0x125:
		return "ANA Attach Failed"
	case 0x126:
		return "Insufficient Capacity"
	case 0x127:
		return "Namespace Attachment Limit Exceeded"
	case 0x128:
		return "Prohibition of Command Execution Not Supported"
	case 0x129:
		return "I/O Command Set Not Supported"
	case 0x12a:
		return "I/O Command Set Not Enabled"
	case 0x12b:
		return "I/O Command Set Combination Rejected"
	case 0x12c:
		return "Invalid I/O Command Set"
	case 0x12d:
		return "Identifier Unavailable"
	case 0x180:
		return "Conflicting Attributes"
	case 0x181:
		return "Invalid Protection Information"
	case 0x182:
		return "Attempted Write to Read Only Range"
	case 0x183:
		return "Command Size Limit Exceeded"
	case 0x1b8:
		return "Zoned Boundary Error"
	case 0x1b9:
		return "Zone Is Full"
	case 0x1ba:
		return "Zone Is Read Only"
	case 0x1bb:
		return "Zone Is Offline"
	case 0x1bc:
		return "Zone Invalid Write"
	case 0x1bd:
		return "Too Many Active Zones"
	case 0x1be:
		return "Too Many Open Zones"
	case 0x1bf:
		return "Invalid Zone State Transition"
	case 0x280:
		return "Write Fault"
	case 0x281:
		return "Unrecovered Read Error"
	case 0x282:
		return "End-to-end Guard Check Error"
	case 0x283:
		return "End-to-end Application Tag Check Error"
	case 0x284:
		return "End-to-end Reference Tag Check Error"
	case 0x285:
		return "Compare Failure"
	case 0x286:
		return "Access Denied"
	case 0x287:
		return "Deallocated or Unwritten Logical Block"
	case 0x288:
		return "End-to-end Storage Tag Check Error"
	case 0x300:
		return "Internal Path Error"
	case 0x301:
		return "Asymmetric Access Persistent Loss"
	case 0x302:
		return "Asymmetric Access Inaccessible"
	case 0x303:
		return "Asymmetric Access Transition"
	case 0x360:
		return "Controller Pathing Error"
	case 0x370:
		return "Host Pathing Error"
	case 0x371:
		return "Command Aborted by Host"
	}
	return "Unknown Code"
}

// errorMetrics returns the metrics of the log of errors. They are newer than PCP 6.0.3.
func errorMetrics() []column.Metric {
	const u64, str, instant = pcp.TypeU64, pcp.TypeString, pcp.SemInstant
	table := []column.Metric{{
		Name: "smart.nvme_error_log.total", Cluster: 264, Item: 0, Type: u64, Sem: instant, From: blockTotals, Col: 0,
		Help: "Entries in the log of errors (NVMe)", Long: "The number of entries that smart.nvme_error_log shows, 16 at most. Disks drop\nold entries; number_of_error_information_log_entries counts all.",
	}}
	for item, m := range [numError]struct {
		name       string
		typ        pcp.Type
		help, long string
	}{
		errorCount:     {"error_count", u64, "Number of the error (NVMe)", "The disk numbers its errors from 1 on; the newest has the highest number."},
		errorQueue:     {"sqid", u64, "Submission queue of the command that failed (NVMe)", "It is 65535 for an error of no command."},
		errorCommandID: {"cmdid", u64, "Identifier of the command that failed (NVMe)", "The host chose it. It is 65535 for an error of no command."},
		errorStatus:    {"status_field", u64, "Status of the command that failed (NVMe)", "The bits are those of the completion of the command, with its phase as bit 0."},
		errorType:      {"status_type", str, "Type of the status (NVMe)", "Such as Generic Command Status, or Media and Data Integrity Error."},
		errorCode:      {"status_code", str, "Name of the status (NVMe)", "Such as Invalid Field in Command, as the NVM Express specification names it."},
		errorLocation:  {"param_error_loc", u64, "Place of the wrong parameter in the command (NVMe)", "Bits 0 to 7 are the byte, 8 to 10 the bit. It is 65535 if no parameter is\nwrong."},
		errorBlock:     {"lba", u64, "First block that failed (NVMe)", "It is meaningful for errors of reading and writing."},
		errorNamespace: {"nsid", u64, "Namespace of the command that failed (NVMe)", "It is 4294967295 for a command to all namespaces."},
	} {
		table = append(table, column.Metric{
			Name: "smart.nvme_error_log." + m.name, Cluster: 263, Item: item, Type: m.typ, Sem: instant, From: blockErrors, Col: item, Help: m.help, Long: m.long,
		})
	}
	return table
}

// byWWIDMetrics returns the metrics of table, except smart.health, for disks by their WWID. They are newer than PCP 6.0.3.
func byWWIDMetrics(table []column.Metric) (more []column.Metric) {
	const clusters = 1000 // more than those of disks by name
	for _, m := range table {
		name, ok := strings.CutPrefix(m.Name, "smart.")
		if !ok || name == "health" {
			continue
		}
		m.Name, m.Cluster, m.From = "smart.wwid."+name, m.Cluster+clusters, m.From+blocksOfView
		more = append(more, m)
	}
	return more
}
