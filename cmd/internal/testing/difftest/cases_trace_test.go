package difftest

// traceRuns compare the traces of -D about connections and contexts, where our library
// makes the same requests as the C library does.
var traceRuns = []run{
	{cmd: "pminfo -Dpdu -b1 -f -h {host} sample.long.one", noise: "trace words"},
	{cmd: "pminfo -Dpdu -h {host} sample.long", noise: "trace words"},
	{cmd: "pminfo -Dpdu -m -h {host} sample.bin sample.nosuch", noise: "trace words"},
	{cmd: "pminfo -Dpdu,fetch -f -b1 -h {unix} sample.string.hullo sample.double.one sample.aggregate.null", noise: "trace words"},
	{cmd: "pminfo -Dpdu -f -b1 -h {host} sample.bad.unknown sample.bin", noise: "trace words"},
	{cmd: "pminfo -Dcontext,fetch,profile,indom -f -h {host} sample.long.one sample.bin", noise: "trace calls"},
	{cmd: "pminfo -Dcontext -h {unix} sample.bin", noise: "trace calls"},
	{cmd: "pminfo -Dpmns -h {host} sample.long", noise: "trace calls"},
	{cmd: "pminfo -Dpmns -m -h {host} sample.long.one sample.bin sample.nosuch", noise: "trace calls"},
	{cmd: "pminfo -Dpmns -n {pmns} -m -h {host} sample.long.one", noise: "trace calls"},
	{cmd: "pminfo -Dpmns -n {badns} -m -h {host} a", noise: "trace calls"},
	{cmd: "pminfo -Dpmapi -f -b1 -h {host} sample.long.one sample.bin", noise: "trace calls"},
	{cmd: "pmprobe -Dcontext,fetch,profile -v -h {unix} sample.bin", noise: "trace calls"},
	{cmd: "pmprobe -Dpmapi -h {host} sample.long.ten", noise: "trace calls"},
	{cmd: "pmval -Dfetch,profile,indom -h {host} -s 2 -t 0.1 -i bin-100,bin-200 sample.bin", noise: "trace calls"},
	{cmd: "pmstore -Dpdu,fetch -h {host} sample.write_me 3", prep: "pmstore -h {host} sample.write_me 2", noise: "trace words"},
	{cmd: "pmstore -Dpmapi,context -h {host} sample.write_me 3", prep: "pmstore -h {host} sample.write_me 2", noise: "trace calls"},
	{cmd: "pmstore -Dpdu -i bin-500 -h {host} sample.bin 500", prep: "pmstore -i bin-500 -h {host} sample.bin 500", noise: "trace words"},
	{cmd: "pminfo -h {host} sample.bin", env: []string{"PCP_DEBUG=context,pdu"}, noise: "trace words calls"},
}
