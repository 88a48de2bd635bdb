// Package access decides which clients a collector lets in, and what they may do:
// rules for hosts, users and groups as the [access] section of a pmcd.conf has
// them, and accounts by which clients prove who they are.
//
//	rules := access.Default()
//	ad, err := rules.Admit(conn.RemoteAddr(), false)
//	if err != nil {
//		return err // not at all
//	}
//	defer rules.Leave(ad)
//	canStore := ad.Deny&access.OpStore == 0
//
// [Rules.Admit] judges a client by its host. Once it is known who the client is,
// by an [Authenticator] or because the kernel says so of a Unix socket,
// [Rules.AdmitUser] applies the rules for users and groups.
package access
