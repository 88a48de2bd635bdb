// Package access is for servers that restrict their clients like a collector: rules for hosts, users and groups as in
// the [access] section of a pmcd.conf, and accounts with which clients authenticate.
//
//	rules := access.Default()
//	ad, err := rules.Admit(conn.RemoteAddr(), false)
//	if err != nil {
//		return err // not at all
//	}
//	defer rules.Leave(ad)
//	canStore := ad.Deny&access.OpStore == 0
//
// [Rules.Admit] judges a client by its host. Once the client's user is known, by
// an [Authenticator] or from the kernel for a Unix socket, [Rules.AdmitUser]
// applies the rules for users and groups.
package access
