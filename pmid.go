package pcp

import "strconv"

// A PMID identifies a metric (pmID). From the most significant bit: a flag bit,
// 9 bits of domain, 12 bits of cluster, 10 bits of item. The layout is part of
// the protocol and of the archive format; do not change.
type PMID uint32

// PMIDNull is the PMID of no metric (PM_ID_NULL).
const PMIDNull PMID = 0xffffffff

// Domain numbers with a fixed meaning.
const (
	DomainDynamic  = 511 // DYNAMIC_PMID: dynamic subtree roots and derived metrics
	MaxAgentDomain = 510 // the largest domain an agent can have
)

// Largest value of each field of a PMID.
const (
	MaxDomain  = 1<<9 - 1
	MaxCluster = 1<<12 - 1
	MaxItem    = 1<<10 - 1
)

// NewPMID packs a domain (0..511), cluster (0..4095) and item (0..1023), each
// cut to its field's width (pmID_build).
func NewPMID(domain, cluster, item int) PMID {
	return PMID(uint32(domain)&MaxDomain<<22 | uint32(cluster)&MaxCluster<<10 | uint32(item)&MaxItem)
}

// Domain returns the number of the agent that serves the metric (pmID_domain).
func (id PMID) Domain() int { return int(id >> 22 & MaxDomain) }

// Cluster returns the cluster field (pmID_cluster).
func (id PMID) Cluster() int { return int(id >> 10 & MaxCluster) }

// Item returns the item field (pmID_item).
func (id PMID) Item() int { return int(id & MaxItem) }

// IsDynamicRoot reports whether id represents a whole subtree that the agent with
// the domain id.Cluster() resolves at run time (IS_DYNAMIC_ROOT).
func (id PMID) IsDynamicRoot() bool { return id.Domain() == DomainDynamic && id.Item() == 0 }

// IsDerived reports whether id belongs to a derived metric (IS_DERIVED).
func (id PMID) IsDerived() bool {
	return id.Domain() == DomainDynamic && id.Cluster()&2048 == 0 && id.Item() != 0
}

// Logged returns the PMID that a derived metric has in an archive, where it is a
// metric like others (SET_DERIVED_LOGGED). It returns other PMIDs unchanged.
func (id PMID) Logged() PMID {
	if id.IsDerived() {
		return id | 2048<<10
	}
	return id
}

// DynamicRoot returns the PMID that marks a subtree served by domain.
func DynamicRoot(domain int) PMID { return NewPMID(DomainDynamic, domain, 0) }

// String prints id as the tools do: 60.0.20, 60.*.* for a dynamic root,
// PM_ID_NULL for PMIDNull (pmIDStr).
func (id PMID) String() string { return string(id.AppendText(nil)) }

// AppendText appends the text of String.
func (id PMID) AppendText(b []byte) []byte {
	switch {
	case id == PMIDNull:
		return append(b, "PM_ID_NULL"...)
	case id.IsDynamicRoot():
		return append(strconv.AppendInt(b, int64(id.Cluster()), 10), ".*.*"...)
	}
	b = strconv.AppendInt(b, int64(id.Domain()), 10)
	b = strconv.AppendInt(append(b, '.'), int64(id.Cluster()), 10)
	return strconv.AppendInt(append(b, '.'), int64(id.Item()), 10)
}
