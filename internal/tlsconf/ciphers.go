package tlsconf

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// A suite is a cipher suite of crypto/tls for TLS 1.2, with the words that
// ciphers(1) selects it by.
type suite struct {
	id    uint16
	name  string // OpenSSL's
	words string
}

var suites = []suite{
	{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE ECDSA AES AES128 AESGCM TLSv1.2"},
	{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE aRSA AES AES128 AESGCM TLSv1.2"},
	{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE ECDSA AES AES256 AESGCM TLSv1.2"},
	{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE aRSA AES AES256 AESGCM TLSv1.2"},
	{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE ECDSA CHACHA20 TLSv1.2"},
	{tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE aRSA CHACHA20 TLSv1.2"},
	{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, "ECDHE-ECDSA-AES128-SHA256", "ECDHE ECDSA AES AES128 SHA256 TLSv1.2"},
	{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, "ECDHE-RSA-AES128-SHA256", "ECDHE aRSA AES AES128 SHA256 TLSv1.2"},
	{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, "ECDHE-ECDSA-AES128-SHA", "ECDHE ECDSA AES AES128 SHA1 TLSv1.0"},
	{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, "ECDHE-RSA-AES128-SHA", "ECDHE aRSA AES AES128 SHA1 TLSv1.0"},
	{tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, "ECDHE-ECDSA-AES256-SHA", "ECDHE ECDSA AES AES256 SHA1 TLSv1.0"},
	{tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, "ECDHE-RSA-AES256-SHA", "ECDHE aRSA AES AES256 SHA1 TLSv1.0"},
	{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, "AES128-GCM-SHA256", "kRSA aRSA AES AES128 AESGCM TLSv1.2"},
	{tls.TLS_RSA_WITH_AES_256_GCM_SHA384, "AES256-GCM-SHA384", "kRSA aRSA AES AES256 AESGCM TLSv1.2"},
	{tls.TLS_RSA_WITH_AES_128_CBC_SHA256, "AES128-SHA256", "kRSA aRSA AES AES128 SHA256 TLSv1.2"},
	{tls.TLS_RSA_WITH_AES_128_CBC_SHA, "AES128-SHA", "kRSA aRSA AES AES128 SHA1 SSLv3"},
	{tls.TLS_RSA_WITH_AES_256_CBC_SHA, "AES256-SHA", "kRSA aRSA AES AES256 SHA1 SSLv3"},
}

// everySuite and noSuite are words that select all, or none, of suites.
const (
	everySuite = "ALL DEFAULT HIGH"
	noSuite    = `MEDIUM LOW EXP EXPORT EXPORT40 EXPORT56 NULL eNULL aNULL COMPLEMENTOFALL COMPLEMENTOFDEFAULT
		DH ADH AECDH DHE EDH kDHE kEDH kDH kDHr kDHd kECDH kECDHr kECDHe aDH aECDH ECDH aDSS PSK kPSK aPSK kRSAPSK kECDHEPSK kDHEPSK SRP kSRP aSRP
		RC2 RC4 DES 3DES IDEA SEED CAMELLIA CAMELLIA128 CAMELLIA256 ARIA ARIA128 ARIA256 ARIAGCM AESCCM AESCCM8
		MD5 SHA384 KRB5 GOST kGOST aGOST aGOST01 GOST89 GOST89MAC GOST94`
)

// otherWords are further names of words in suites.
func otherWords() map[string]string {
	return map[string]string{
		"RSA": "kRSA", "kECDHE": "ECDHE", "EECDH": "ECDHE", "kEECDH": "ECDHE", "aECDSA": "ECDSA",
		"SHA": "SHA1", "TLSv1": "TLSv1.0",
	}
}

// matching returns the suites that one word, or several with a + between,
// selects; known is false if it is not known what the word means.
func matching(word string) (ids []uint16, known bool) {
	for _, s := range suites {
		ids = append(ids, s.id)
	}
	for part := range strings.SplitSeq(word, "+") {
		if w, ok := otherWords()[part]; ok {
			part = w
		}
		if slices.Contains(strings.Fields(everySuite), part) {
			continue
		}
		var some []uint16
		found := slices.Contains(strings.Fields(noSuite), part)
		for _, s := range suites {
			if s.name == part || slices.Contains(strings.Fields(s.words), part) {
				found = true
				some = append(some, s.id)
			}
		}
		if !found {
			return nil, false
		}
		ids = slices.DeleteFunc(ids, func(id uint16) bool { return !slices.Contains(some, id) })
	}
	return ids, true
}

// parseCiphers returns the suites of TLS 1.2 that a list in the language of
// ciphers(1) selects. Their order has no meaning: crypto/tls has its own.
// Unknown words select nothing, as with OpenSSL; but a suite to remove must
// be known, and so must a level of security.
func parseCiphers(list string) ([]uint16, error) {
	var ids []uint16
	var never []uint16
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ':' || r == ',' || r == ';' || r == ' ' }) {
		op := byte(0)
		if strings.IndexByte("!-+@", word[0]) >= 0 {
			op, word = word[0], word[1:]
		}
		if op == '@' {
			if word != "STRENGTH" {
				return nil, fmt.Errorf("@%s is not supported", word)
			}
			continue // an order
		}
		some, known := matching(word)
		if !known && op != 0 && op != '+' {
			return nil, fmt.Errorf("%c%s is not supported: it is not known what to leave out", op, word)
		}
		is := func(id uint16) bool { return slices.Contains(some, id) }
		switch op {
		case 0:
			for _, id := range some {
				if !slices.Contains(ids, id) && !slices.Contains(never, id) {
					ids = append(ids, id)
				}
			}
		case '!':
			never = append(never, some...)
			ids = slices.DeleteFunc(ids, is)
		case '-':
			ids = slices.DeleteFunc(ids, is)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("none of the cipher suites is supported")
	}
	return ids, nil
}

// suites13 are the suites of TLS 1.3 that crypto/tls always offers.
var suites13 = []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}

// checkSuites13 checks whether a list of suites of TLS 1.3 can be honoured:
// crypto/tls cannot disable any of its own.
func checkSuites13(list string) error {
	given := strings.Split(list, ":")
	for _, s := range suites13 {
		if !slices.Contains(given, s) {
			return fmt.Errorf("leaving out %s is not supported: the cipher suites of TLS 1.3 are always %s", s, strings.Join(suites13, ":"))
		}
	}
	return nil
}
