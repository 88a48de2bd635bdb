package pmda

// SetProcessIdentity makes the process run as the user called username, for
// programs that agents are started by (pmSetProcessIdentity(3)). Without a
// name, root becomes PCP's user, as getenv says who that is, and others stay
// who they are. A Daemon does it by itself.
func SetProcessIdentity(username string, getenv func(string) string) error {
	return dropPrivileges(username, getenv)
}
