package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
)

// A Type is the type word of a PDU (PDU_*).
type Type uint32

// PDU types. The numbers are part of the protocol.
const (
	TypeError         Type = 0x7000 // PDU_ERROR
	TypeResult        Type = 0x7001 // PDU_RESULT
	TypeProfile       Type = 0x7002 // PDU_PROFILE
	TypeFetch         Type = 0x7003 // PDU_FETCH
	TypeDescReq       Type = 0x7004 // PDU_DESC_REQ
	TypeDesc          Type = 0x7005 // PDU_DESC
	TypeInstanceReq   Type = 0x7006 // PDU_INSTANCE_REQ
	TypeInstance      Type = 0x7007 // PDU_INSTANCE
	TypeTextReq       Type = 0x7008 // PDU_TEXT_REQ
	TypeText          Type = 0x7009 // PDU_TEXT
	TypeControlReq    Type = 0x700a // PDU_CONTROL_REQ, retired
	TypeCreds         Type = 0x700c // PDU_CREDS
	TypePMNSIDs       Type = 0x700d // PDU_PMNS_IDS
	TypePMNSNames     Type = 0x700e // PDU_PMNS_NAMES
	TypePMNSChild     Type = 0x700f // PDU_PMNS_CHILD
	TypePMNSTraverse  Type = 0x7010 // PDU_PMNS_TRAVERSE
	TypeAttr          Type = 0x7011 // PDU_ATTR, also PDU_AUTH
	TypeLabelReq      Type = 0x7012 // PDU_LABEL_REQ
	TypeLabel         Type = 0x7013 // PDU_LABEL
	TypeHighResFetch  Type = 0x7014 // PDU_HIGHRES_FETCH
	TypeHighResResult Type = 0x7015 // PDU_HIGHRES_RESULT
	TypeDescIDs       Type = 0x7016 // PDU_DESC_IDS
	TypeDescs         Type = 0x7017 // PDU_DESCS

	TypeLogControl  Type = 0x8000 // PDU_LOG_CONTROL
	TypeLogStatusV2 Type = 0x8001 // PDU_LOG_STATUS_V2
	TypeLogRequest  Type = 0x8002 // PDU_LOG_REQUEST
	TypeLogStatus   Type = 0x8003 // PDU_LOG_STATUS
)

// Sizes and limits.
const (
	HeaderSize = 12 // bytes (sizeof __pmPDUHdr)
	// MaxInbound is the longest PDU in bytes that pmcd accepts from a client
	// by default (PDU_CHUNK times 64; option -L).
	MaxInbound = 65536
	// MaxPDU is the longest PDU in bytes accepted from an agent or a collector.
	MaxPDU = 1 << 26
)

// FromAnon is the from word of a sender without an identity (FROM_ANON).
const FromAnon int32 = 0

// A Header is the first three words of a PDU.
type Header struct {
	Len  uint32 // of the whole PDU in bytes
	Type Type
	From int32
}

// A PDU is the body of one protocol data unit.
type PDU interface {
	// Type returns the type word.
	Type() Type
	// appendBody appends the encoding of the body, everything after the header.
	// Values that cannot be encoded are cut or refused when the PDU is built, not
	// here.
	appendBody(b []byte) []byte
	// DecodeBody fills the PDU from a body. Strings are copied; values of
	// variable length in a Result point into body.
	DecodeBody(body []byte) error
}

// Append appends the whole PDU p, header first.
func Append(b []byte, from int32, p PDU) []byte {
	start := len(b)
	b = AppendHeader(b, Header{Type: p.Type(), From: from})
	b = p.appendBody(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

// AppendHeader appends a header, for programs that pass on a body unchanged.
func AppendHeader(b []byte, h Header) []byte {
	b = put32(b, h.Len)
	b = put32(b, uint32(h.Type))
	return put32(b, uint32(h.From))
}

// Decode decodes the body of the PDU with header h into a new PDU. Where memory
// or the type matters, use DecodeBody of an existing PDU.
func Decode(h Header, body []byte) (PDU, error) {
	p := newPDU(h.Type)
	if p == nil {
		return nil, fmt.Errorf("decode PDU of type %#x: unknown: %w", uint32(h.Type), pcp.ErrIPC)
	}
	if err := p.DecodeBody(body); err != nil {
		return nil, fmt.Errorf("decode %v PDU: %w", h.Type, err)
	}
	return p, nil
}

// ParseHeader reads the header at the start of b; ok is false if b is too short
// for one. It makes no other checks.
func ParseHeader(b []byte) (h Header, ok bool) {
	if len(b) < HeaderSize {
		return Header{}, false
	}
	return Header{
		Len:  binary.BigEndian.Uint32(b),
		Type: Type(binary.BigEndian.Uint32(b[4:])),
		From: int32(binary.BigEndian.Uint32(b[8:])),
	}, true
}

// Error reports a status, or as the first PDU of a server its capabilities.
type Error struct {
	Code     pcp.Error // negative: an error; 0: success; positive: state bits
	Extended bool      // Info follows
	Info     uint32    // the pduinfo word: version, licensed, features
}

// Profile selects instances for later fetches.
type Profile struct {
	Context int32 // the client's context, slot in the agent
	Profile pcp.Profile
}

// Fetch asks for values. HighRes selects the form with nanoseconds.
type Fetch struct {
	HighRes bool
	Context int32
	PMIDs   []pcp.PMID
}

// Result answers a fetch, or carries a store to the server.
type Result struct {
	HighRes bool
	pcp.Result
}

// DescReq asks for a descriptor.
type DescReq struct{ PMID pcp.PMID }

// Desc answers DescReq.
type Desc struct{ Desc pcp.Desc }

// DescIDs asks for many descriptors at once.
type DescIDs struct{ PMIDs []pcp.PMID }

// Descs answers DescIDs: one Desc for each, whose PMID is PMIDNull where there is none.
type Descs struct{ Descs []pcp.Desc }

// InstanceReq asks for one instance by number (Inst, Name ""), one by name
// (InNull, Name), or all (InNull, "").
type InstanceReq struct {
	InDom pcp.InDom
	Inst  int32
	Name  string
}

// Instance answers InstanceReq.
type Instance struct {
	InDom     pcp.InDom
	Instances []pcp.Instance
}

// TextReq asks for help text of a PMID or an InDom.
type TextReq struct {
	Ident uint32
	Kind  pcp.TextKind
}

// Text answers TextReq.
type Text struct {
	Ident uint32
	Text  string
}

// Creds is the second step of a handshake.
type Creds struct{ Creds []Cred }

// A Cred is one credential word (__pmCred), most significant byte first.
type Cred struct {
	Type    uint8 // credVersion
	A, B, C uint8 // in a version credential the version and, of 16 bits, the features
}

// PMNSIDs carries PMIDs: a request for their names, or the answer to names.
type PMNSIDs struct {
	Status pcp.Error // of the whole request: number of names found, or an error
	PMIDs  []pcp.PMID
}

// PMNSNames carries names: a request for their PMIDs, or an answer with, if
// Status is not nil, a status each.
type PMNSNames struct {
	Names  []string
	Status []int32
}

// NonLeafStatus is the status of a child that has children
// (PMNS_NONLEAF_STATUS); that of a leaf is 0.
const NonLeafStatus = 1

// PMNSChild asks for the children of a node.
type PMNSChild struct {
	Name       string
	WithStatus bool // subtype 1: distinguish leaf from non-leaf
}

// PMNSTraverse asks for the names of all leaves below a node.
type PMNSTraverse struct{ Name string }

// Attr passes an attribute of a client connection to an agent, or
// authentication steps between client and server.
type Attr struct {
	Attr  AttrKey
	Value []byte
}

// An AttrKey names a connection attribute (PCP_ATTR_*).
type AttrKey int32

// Connection attributes. The numbers are part of the protocol.
const (
	AttrProtocol   AttrKey = 1  // PCP_ATTR_PROTOCOL: pcp or pcps
	AttrSecure     AttrKey = 2  // PCP_ATTR_SECURE: relaxed or enforced
	AttrCompress   AttrKey = 3  // PCP_ATTR_COMPRESS: no value
	AttrUserAuth   AttrKey = 4  // PCP_ATTR_USERAUTH: no value; ask for authentication
	AttrUserName   AttrKey = 5  // PCP_ATTR_USERNAME: the name that the client claims
	AttrAuthName   AttrKey = 6  // PCP_ATTR_AUTHNAME: on whose behalf
	AttrPassword   AttrKey = 7  // PCP_ATTR_PASSWORD: a secret; keep it out of logs
	AttrMethod     AttrKey = 8  // PCP_ATTR_METHOD: a SASL mechanism
	AttrRealm      AttrKey = 9  // PCP_ATTR_REALM: in which the user name holds
	AttrUnixSocket AttrKey = 10 // PCP_ATTR_UNIXSOCK: the path of a Unix domain socket
	AttrUserID     AttrKey = 11 // PCP_ATTR_USERID: decimal; from the kernel on a Unix domain socket
	AttrGroupID    AttrKey = 12 // PCP_ATTR_GROUPID: decimal, likewise
	AttrLocal      AttrKey = 13 // PCP_ATTR_LOCAL: a Unix domain socket, else localhost
	AttrProcessID  AttrKey = 14 // PCP_ATTR_PROCESSID: decimal, likewise
	AttrContainer  AttrKey = 15 // PCP_ATTR_CONTAINER: the name of a container
	AttrExclusive  AttrKey = 16 // PCP_ATTR_EXCLUSIVE: retired
)

// String names k as the C tools do (__pmAttrKeyStr).
func (k AttrKey) String() string {
	names := [...]string{
		"", "protocol", "secure", "compress", "userauth", "username", "authname", "password", "method", "realm",
		"unixsock", "userid", "groupid", "local", "processid", "container", "exclusive",
	}
	if k < 1 || int(k) >= len(names) {
		return fmt.Sprintf("attribute %d", int32(k))
	}
	return names[k]
}

// LabelReq asks for the labels of one level.
type LabelReq struct {
	Ident uint32 // PMID, InDom, or domain, depending on Kind
	Kind  pcp.LabelFlags
}

// Labels answers LabelReq.
type Labels struct {
	Ident uint32
	Kind  pcp.LabelFlags
	Sets  []pcp.LabelSet
}
