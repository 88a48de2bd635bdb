package pmda

// SetProcessIdentity makes the process run as the user called username, for
// programs that start agents (pmSetProcessIdentity(3)). If username is empty, a
// process of root becomes PCP's user, whose name getenv returns, and others stay
// as they are. A Daemon does this by itself.
func SetProcessIdentity(username string, getenv func(string) string) error {
	return dropPrivileges(username, getenv)
}
