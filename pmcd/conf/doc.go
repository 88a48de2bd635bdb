// Package conf reads pmcd.conf, the configuration of a collector: which agents it
// has and how they are reached, and who may use it.
//
//	file, err := conf.ReadFile("/etc/pcp/pmcd/pmcd.conf")
//	if file == nil {
//		return err
//	}
//	s, err := pmcd.New(pmcd.Config{Agents: pmcd.AgentSpecs(file.Agents), Access: file.Access})
//
// Mistakes are told in the words of pmcd(1). A line of an agent that is wrong is
// left out and the others count; access rules that are wrong make the whole file
// bad, as it would let in clients that it should not.
package conf
