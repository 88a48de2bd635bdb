package wire

import "strings"

// PDUVersion is the only version of the protocol in use (PDU_VERSION2).
const PDUVersion = 2

// Features are the features that the two sides of a connection agree on
// (PDU_FLAG_*). A server offers its features in [Info]; a client answers in its
// version credential with those that it wants.
type Features uint16

// Features. The numbers are part of the protocol.
const (
	FeatureSecure    Features = 1 << 0  // PDU_FLAG_SECURE: TLS
	FeatureCompress  Features = 1 << 1  // PDU_FLAG_COMPRESS
	FeatureAuth      Features = 1 << 2  // PDU_FLAG_AUTH: SASL
	FeatureCredsReqd Features = 1 << 3  // PDU_FLAG_CREDS_REQD: only authenticated clients are served
	FeatureSecureAck Features = 1 << 4  // PDU_FLAG_SECURE_ACK: the server confirms before TLS starts
	FeatureNoNSSInit Features = 1 << 5  // PDU_FLAG_NO_NSS_INIT
	FeatureContainer Features = 1 << 6  // PDU_FLAG_CONTAINER: the container attribute
	FeatureCertReqd  Features = 1 << 7  // PDU_FLAG_CERT_REQD: only clients with a certificate are served
	FeatureBadLabel  Features = 1 << 8  // PDU_FLAG_BAD_LABEL: labels in a broken encoding, never offered again
	FeatureLabels    Features = 1 << 9  // PDU_FLAG_LABELS: LabelReq
	FeatureHighRes   Features = 1 << 10 // PDU_FLAG_HIGHRES: Fetch and Result with nanoseconds
	FeatureDescs     Features = 1 << 11 // PDU_FLAG_DESCS: DescIDs
)

// String lists the features, such as SECURE|LABELS.
func (f Features) String() string {
	names := [...]string{
		"SECURE", "COMPRESS", "AUTH", "CREDS_REQD", "SECURE_ACK", "NO_NSS_INIT", "CONTAINER",
		"CERT_REQD", "BAD_LABEL", "LABELS", "HIGHRES", "DESCS", "1<<12", "1<<13", "1<<14", "1<<15",
	}
	var set []string
	for i, name := range names {
		if f>>i&1 != 0 {
			set = append(set, name)
		}
	}
	if set == nil {
		return "none"
	}
	return strings.Join(set, "|")
}

// An Info describes a server (__pmPDUInfo). It is the second word of the extended
// [Error] with which a server greets.
type Info struct {
	Version  uint8 // PDUVersion; 7 bits
	Licensed uint8 // 1; formerly for licences
	Features Features
}

// Pack returns the encoded word of i.
func (i Info) Pack() uint32 {
	return uint32(i.Version)&0x7f<<24 | uint32(i.Licensed)<<16 | uint32(i.Features)
}

// UnpackInfo is the inverse of Pack.
func UnpackInfo(w uint32) Info {
	return Info{Version: uint8(w >> 24 & 0x7f), Licensed: uint8(w >> 16), Features: Features(w)}
}

// credVersion is the type of the version credential (CVERSION), the only one
// in use.
const credVersion = 1

// VersionCred returns the credential by which a client or an agent states its
// version and selects features (__pmVersionCred).
func VersionCred(version uint8, f Features) Cred {
	return Cred{Type: credVersion, A: version, B: uint8(f >> 8), C: uint8(f)}
}

// Version decodes a version credential; ok is false if c is of another type.
func (c Cred) Version() (version uint8, f Features, ok bool) {
	return c.A, Features(c.B)<<8 | Features(c.C), c.Type == credVersion
}
