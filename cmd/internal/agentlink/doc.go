// Package agentlink is the collector's end of a connection to one agent, for
// tools that ask an agent without a collector between.
//
//	c, err := agentlink.Start(exec.Command("/path/to/pmdaclock"))
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	h, body, err := c.Receive(3 * time.Second)
//
// What is asked, and in which order, is the tool's business.
package agentlink
