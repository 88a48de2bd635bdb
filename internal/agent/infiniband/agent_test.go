package infiniband

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

// files are those of an adapter with one port, and of one for Ethernet.
func files() map[string]string {
	const a, p = "infiniband/mlx4_0/", "infiniband/mlx4_0/ports/1/"
	return map[string]string{
		a + "node_type": "1: CA\n", a + "hca_type": "MT4099\n", a + "fw_ver": "2.42.5000\n", a + "hw_rev": "1\n", a + "node_guid": "0002:c903:0012:3456\n",
		a + "sys_image_guid": "0002:c903:0012:3459\n", a + "board_id": "MT_1090120019\n", a + "device/vendor": "0x15b3\n", a + "node_desc": "host mlx4_0\n",
		p + "state": "4: ACTIVE\n", p + "phys_state": "5: LinkUp\n", p + "rate": "56 Gb/sec (4X FDR)\n", p + "lid": "0x1a\n", p + "sm_lid": "0x1\n", p + "lid_mask_count": "0\n",
		p + "cap_mask": "0x0259486a\n", p + "link_layer": "InfiniBand\n", p + "gids/0": "fe80:0000:0000:0000:0002:c903:0012:3457\n", p + "gid_attrs/ndevs/0": "ib0\n",
		p + "counters/port_rcv_data": "1000\n", p + "counters/port_xmit_data": "500\n", p + "counters/port_rcv_packets": "30\n", p + "counters/port_xmit_packets": "12\n",
		p + "counters/port_xmit_discards": "2\n", p + "counters/port_rcv_switch_relay_errors": "3\n", p + "counters/VL15_dropped": "7\n", p + "counters/symbol_error": "x\n",
		p + "cm_rx_msgs/req": "11\n", p + "hw_counters/rq_num_lle": "13\n", "infiniband_cm/mlx4_0/1/cm_tx_msgs/rtu": "17\n",
		"infiniband/rxe0/node_type": "4: RNIC\n", "infiniband/rxe0/ports/1/state": "1: DOWN\n", "infiniband/rxe0/ports/1/rate": "2.5 Gb/sec (1X SDR)\n", "infiniband/rxe0/ports/1/phys_state": "99: x\n",
	}
}

func TestAgent(t *testing.T) {
	a, err := New(Config{Dir: filepath.Join(agenttest.Tree(t, files()), "infiniband")})
	if err != nil {
		t.Fatal(err)
	}
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
	v := agenttest.Read(t, a)
	for name, want := range map[string]string{
		"hca.type": `map[mlx4_0:"CA" rxe0:"iWARP RNIC"]`, "hca.transport": `map[mlx4_0:"Infinband" rxe0:"iWARP"]`, "hca.numports": "map[mlx4_0:1 rxe0:1]", "hca.board_id": `map[mlx4_0:"MT_1090120019" rxe0:"NA"]`,
		"hca.vendor_id": `map[mlx4_0:"0x15b3"]`, "hca.ca_type": `map[mlx4_0:"MT4099"]`,
		"port.guid": `map[mlx4_0:1:"0002:c903:0012:3457"]`, "port.gid_prefix": fmt.Sprintf("map[mlx4_0:1:%d]", uint64(0xfe80)<<48), "port.lid": "map[mlx4_0:1:26]",
		"port.state": `map[mlx4_0:1:"Active" rxe0:1:"Down"]`, "port.phystate": `map[mlx4_0:1:"Link Up" rxe0:1:"Unknown"]`, "port.rate": "map[mlx4_0:1:56 rxe0:1:2]",
		"port.linkspeed": `map[mlx4_0:1:"14.0 Gbps" rxe0:1:"2.5 Gbps"]`, "port.linkwidth": "map[mlx4_0:1:4 rxe0:1:1]", "port.netdev_name": `map[mlx4_0:1:"ib0"]`,
		"port.capabilities": `map[mlx4_0:1:"SM,Trap,AutomaticMigration,SLMapping,SystemImageGUID,CommunicatonManagement,DeviceManagement,VendorClass,CapabilityMaskNotice,ClientRegistration"]`,
		"port.in.bytes":     "map[mlx4_0:1:4000]", "port.in.data": "map[mlx4_0:1:1000]", "port.out.bytes": "map[mlx4_0:1:2000]", "port.total.bytes": "map[mlx4_0:1:6000]",
		"port.total.packets": "map[mlx4_0:1:42]", "port.total.errors.drop": "map[mlx4_0:1:5]", "port.total.errors.filter": "map[]", "port.total.errors.vl15": "map[mlx4_0:1:7]",
		"port.total.errors.symbol": "map[]", "port.cm.rx_msgs.req": "map[mlx4_0:1:11]", "port.cm.tx_msgs.rtu": "map[mlx4_0:1:17]", "port.diag.rq.lle": "map[mlx4_0:1:13]",
	} {
		if got := fmt.Sprint(v["infiniband."+name]); got != want {
			t.Errorf("infiniband.%s is %s, want %s", name, got, want)
		}
	}
	res := agenttest.Fetch(t, a, nil, agenttest.Lookup(t, a.NameSpace(), "infiniband.port.switch.in.bytes", "infiniband.hca.res.qp", "infiniband.control.hiwat")...)
	for _, set := range res.Sets {
		if set.Err != pcp.ErrNYI {
			t.Errorf("%v is %v", set.PMID, set)
		}
	}
}

// FuzzParse reads files of any bytes.
func FuzzParse(f *testing.F) {
	for _, text := range files() {
		f.Add(text)
	}
	for _, text := range []string{"1e300 Gb/sec (0X x)", "-1 Gb/sec", "NaN Gb/sec", "1 Gb/sec (999X)", strings.Repeat(":", 7) + strings.Repeat("x", 32), "4294967296: x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, ok := parseRate(text); ok && l.width > 0 && strings.Contains(l.speed(), "Inf") {
			t.Errorf("%q has the speed %s", text, l.speed())
		}
		if _, guid, ok := identifier(text); ok && len(guid) != 19 {
			t.Errorf("%q has the identifier %q", text, guid)
		}
		stateName(text, states())
		v, _ := number(text)
		capabilities(v)
	})
}
