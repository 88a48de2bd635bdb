// Package conf is for programs that read or change pmcd.conf, the configuration of a collector: its agents, how they
// are reached, and the access rules.
//
//	file, err := conf.ReadFile("/etc/pcp/pmcd/pmcd.conf")
//	if file == nil {
//		return err
//	}
//	s, err := pmcd.New(pmcd.Config{Agents: pmcd.AgentSpecs(file.Agents), Access: file.Access})
//
// Mistakes are reported in the words of pmcd(1). A wrong line of an agent is
// left out and the others count; wrong access rules make the whole file bad, as
// it would admit clients that it should not.
package conf
