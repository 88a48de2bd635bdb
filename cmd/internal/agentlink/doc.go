// Package agentlink is the collector's end of a connection to one agent, for tools that
// send requests to an agent without a collector between.
//
//	c, err := agentlink.Start(exec.Command("/path/to/pmdaclock"))
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	h, body, err := c.Receive(3 * time.Second)
//
// The tool decides on the requests and their order.
package agentlink
